"""How cells are run: the executor and its options, and what of them fits together."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from bench.cells.cell import Cell
from bench.errors import LaunchError, choices
from bench.launch.devices import slots, visible_gpus
from bench.launch.slurm.packing import automatic_pack, ranks_fault
from bench.launch.slurm.profile import Profile, load_profile
from bench.results.store import Store

EXECUTORS = ("local", "inline", "slurm")


@dataclass(frozen=True)
class RunOptions:
    """How cells are run; nothing here moves a number."""

    executor: str = "local"
    jobs: int | None = None
    retry_failed: bool = False
    limit_hours: float | None = None
    profile: str | None = None
    pack: str | None = None  # a number or auto
    ranks: int | None = None

    def check(self) -> None:
        """Raise a LaunchError if two of the settings have no meaning together."""
        if self.executor not in EXECUTORS:
            allowed = choices(self.executor, list(EXECUTORS))
            raise LaunchError(f"--executor {self.executor}: unknown. {allowed}")
        if self.executor != "slurm":
            for name, value in (("profile", self.profile), ("ranks", self.ranks)):
                if value is not None:
                    raise LaunchError(f"--{name} belongs to --executor slurm")
        if self.pack is not None:
            if self.pack != "auto" and not (self.pack.isdecimal() and int(self.pack) > 0):
                raise LaunchError(f"--pack {self.pack}: expected a number of workers, or auto")
            if self.executor == "inline":
                raise LaunchError("--pack has no meaning with --executor inline: it is one process")
            if self.executor == "local" and not visible_gpus():
                raise LaunchError(
                    "--pack sets the workers per GPU, and there is no GPU here; use --jobs"
                )

    def workers(self, jobs: int | None) -> list[str | None]:
        """Return the workers that times are predicted for, each by its GPU or None."""
        if self.executor == "slurm":
            return ["0" if load_profile(self.profile).gpus_per_node else None]
        return [None] if self.executor == "inline" else slots(jobs)

    def local_jobs(self, cells: Sequence[Cell], store: Store) -> int | None:
        """Return how many workers compute, None: one per GPU or core; 0: this process does."""
        if self.executor == "inline":
            return 0
        if self.executor != "local" or self.pack is None:
            return self.jobs
        pack = automatic_pack(cells, store) if self.pack == "auto" else int(self.pack)
        return min(self.jobs or 10**9, pack * len(visible_gpus()))

    def slurm_profile(self, cells: Sequence[Cell], store: Store) -> Profile:
        """Return the profile with what the command line says, and `auto` looked up.

        Raises:
            LaunchError: there is no such profile, or it does not fit the options.
        """
        profile = load_profile(self.profile)
        pack: int | str = profile.pack if self.pack is None else self.pack
        if pack == "auto":
            on_gpu = profile.gpus_per_node > 0
            pack = automatic_pack(cells, store) if on_gpu else profile.cpus_per_task or 1
        changed = {"pack": int(pack)} | ({} if self.ranks is None else {"ranks": self.ranks})
        try:
            return Profile.model_validate(profile.model_dump() | changed)
        except ValidationError as error:
            message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            option = "--ranks" if self.ranks is not None else "--pack" if self.pack else "--profile"
            raise LaunchError(f"{option}: {message}") from None


def check_ranks(cells: Sequence[Cell], world_size: int) -> None:
    """Raise a LaunchError unless each cell can be computed by so many ranks."""
    for cell in cells:
        if fault := ranks_fault(cell, world_size):
            raise LaunchError(f"cell {cell.id}: {fault}")
