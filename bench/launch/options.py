"""How cells are run: the executor and its options, and what of them fits together."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from bench.cells.cell import Cell
from bench.environment import slots, visible_gpus
from bench.errors import LaunchError, choices
from bench.estimate.history import finished_timings
from bench.estimate.predict import predict
from bench.launch.slurm.profile import Profile, added_executors, load_profile
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

    @property
    def submits(self) -> bool:
        """Whether jobs are submitted that compute the cells: to Slurm, or by another's executor."""
        return self.executor not in ("local", "inline")

    def check(self) -> None:
        """Raise a LaunchError if two of the settings have no meaning together."""
        if self.executor not in EXECUTORS and self.executor not in (added := added_executors()):
            allowed = choices(self.executor, [*EXECUTORS, *added])
            raise LaunchError(f"--executor {self.executor}: unknown. {allowed}")
        if self.profile is not None and not self.submits:
            raise LaunchError("--profile belongs to --executor slurm")
        if self.ranks is not None and self.executor != "slurm":
            raise LaunchError("--ranks belongs to --executor slurm")
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
        if self.submits:
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
            raise LaunchError(fault)


FILLED = 0.9  # of a GPU's memory, by workers that share it


def misfits(cells: Sequence[Cell], store: Store, profile: Profile) -> dict[str, str]:
    """Return why cells do not fit into the jobs of a profile, by their ids.

    A job of several ranks computes only cells whose batch divides among them. A worker's memory is
    its share of the profile's `mem_gb`; what a cell takes is known from finished cells like it.
    """
    if profile.ranks > 1:
        faults = {cell.id: ranks_fault(cell, profile.ranks) for cell in cells}
        return {name: fault for name, fault in faults.items() if fault is not None}
    if profile.mem_gb is None or not cells:
        return {}
    has_gb = profile.mem_gb / profile.workers
    places = ["0" if profile.gpus_per_node else None]
    estimates = predict(cells, store.states(cells), store, places, leave=()).estimates
    return {
        e.cell.id: f"{e.cell.kind} takes about {e.peak_memory_gb:.3g} GB, and a worker of "
        f"these jobs has {has_gb:.3g} GB: raise mem_gb or lower --pack"
        for e in estimates
        if e.peak_memory_gb is not None and e.peak_memory_gb > has_gb
    }


def ranks_fault(cell: Cell, ranks: int) -> str | None:
    """Return why a cell cannot be computed by so many ranks; None: it can."""
    if cell.batch_over_ranks is None:
        return f"{cell.experiment} runs on one rank, found {ranks}: leave out torchrun or --ranks"
    if cell.batch_over_ranks % ranks:
        return f"batch_size {cell.batch_over_ranks} does not divide among {ranks} ranks"
    return None


def automatic_pack(cells: Sequence[Cell], store: Store) -> int:
    """Return how many workers may share a GPU, by what finished cells took of one.

    So many that their memory fills FILLED of it, and that it would be busy all the time; of several
    experiments the least.

    Raises:
        LaunchError: no finished cell of an experiment says.
    """
    least: list[int] = []
    for experiment in sorted({cell.experiment for cell in cells}):
        shares = [
            (timing.device_total_gb / timing.device_peak_gb, timing.device_busy)
            for timing in finished_timings(experiment, store)
            if timing.device_peak_gb and timing.device_total_gb
        ]
        if not shares:
            raise LaunchError(
                f"--pack auto: no finished cell of {experiment} says how much of a GPU it needs; "
                "run some with --pack 1 first, or give a number"
            )
        for fits, busy in shares:
            by_time = 1.0 if busy is None else 1 / max(busy, 0.01)
            least.append(int(min(FILLED * fits, by_time)))
    return max(1, min(least, default=1))
