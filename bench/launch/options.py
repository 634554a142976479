"""Options of a run: the executor and its settings, with checks."""

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
    """Options of a run that do not affect results."""

    executor: str = "local"
    jobs: int | None = None
    retry_failed: bool = False
    limit_hours: float | None = None
    profile: str | None = None
    pack: str | None = None  # a number or auto
    ranks: int | None = None

    @property
    def submits(self) -> bool:
        """Whether jobs are submitted, to Slurm or another submitit executor."""
        return self.executor not in ("local", "inline")

    def check(self) -> None:
        """Raise a LaunchError if an option is invalid or two exclude each other."""
        if self.executor not in EXECUTORS and self.executor not in (added := added_executors()):
            allowed = choices(self.executor, [*EXECUTORS, *added])
            raise LaunchError(f"--executor {self.executor}: there is no such executor. {allowed}")
        if self.jobs is not None and (type(self.jobs) is not int or self.jobs < 1):
            raise LaunchError(f"--jobs {self.jobs!r}: expected a whole number of at least 1")
        if self.profile is not None and not self.submits:
            raise LaunchError("--profile can be used only with --executor slurm")
        if self.ranks is not None and self.executor != "slurm":
            raise LaunchError("--ranks can be used only with --executor slurm")
        if self.jobs is not None and self.executor == "inline":
            raise LaunchError(
                "--jobs cannot be used with --executor inline, which runs in a single process"
            )
        if self.pack is not None:
            if self.pack != "auto" and not (self.pack.isdecimal() and int(self.pack) > 0):
                raise LaunchError(
                    f"--pack {self.pack}: expected a number of workers, or the word auto"
                )
            if self.executor == "inline":
                raise LaunchError(
                    "--pack cannot be used with --executor inline, which runs in a single process"
                )
            if self.executor == "local" and not visible_gpus():
                raise LaunchError(
                    "--pack sets the number of workers per GPU, but this machine has no GPU; "
                    "use --jobs instead"
                )

    def workers(self, jobs: int | None) -> list[str | None]:
        """Return the workers assumed by predictions: GPU or None for each."""
        if self.submits:
            return ["0" if load_profile(self.profile).gpus_per_node else None]
        return [None] if self.executor == "inline" else slots(jobs)

    def local_jobs(self, cells: Sequence[Cell], store: Store) -> int | None:
        """Return the number of workers; None: one per GPU or core; 0: only this process."""
        if self.executor == "inline":
            return 0
        if self.executor != "local" or self.pack is None:
            return self.jobs
        pack = automatic_pack(cells, store) if self.pack == "auto" else int(self.pack)
        return min(self.jobs or 10**9, pack * len(visible_gpus()))

    def slurm_profile(self, cells: Sequence[Cell], store: Store) -> Profile:
        """Return the profile with command-line changes, and with `auto` resolved.

        Raises:
            LaunchError: the profile does not exist or contradicts the options.
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
    """Raise a LaunchError unless this many ranks can compute each cell."""
    for cell in cells:
        if fault := ranks_fault(cell, world_size):
            raise LaunchError(fault)


FILLED = 0.9  # of a GPU's memory, by workers that share it


def misfits(cells: Sequence[Cell], store: Store, profile: Profile) -> dict[str, str]:
    """Return the reason, by id, for each cell that does not fit into the profile's jobs.

    A job with several ranks needs cells whose batch size is divisible by their number. A worker has
    an equal share of the profile's `mem_gb`. The memory of a cell is estimated from similar
    finished cells.
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
        e.cell.id: f"{e.cell.kind} needs about {e.peak_memory_gb:.3g} GB of memory, but each "
        f"worker of these jobs has only {has_gb:.3g} GB: raise mem_gb or lower "
        "--pack"
        for e in estimates
        if e.peak_memory_gb is not None and e.peak_memory_gb > has_gb
    }


def ranks_fault(cell: Cell, ranks: int) -> str | None:
    """Return why this many ranks cannot compute a cell; None if they can."""
    if cell.batch_over_ranks is None:
        return (
            f"{cell.experiment} can run only on one rank, but {ranks} ranks were "
            "started: leave out torchrun or --ranks"
        )
    if cell.batch_over_ranks % ranks:
        return f"batch_size {cell.batch_over_ranks} cannot be divided evenly among {ranks} ranks"
    return None


def automatic_pack(cells: Sequence[Cell], store: Store) -> int:
    """Return how many workers can share a GPU, from the usage of finished cells.

    Their memory may fill the share FILLED, and the GPU should be busy all the time. For several
    experiments, the smallest number is returned.

    Raises:
        LaunchError: an experiment has no finished cell with GPU usage.
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
                f"--pack auto: no finished cell of {experiment} shows how much of a GPU a "
                "cell needs; run some cells with --pack 1 first, or give a number"
            )
        for fits, busy in shares:
            by_time = 1.0 if busy is None else 1 / max(busy, 0.01)
            least.append(int(min(FILLED * fits, by_time)))
    return max(1, min(least, default=1))
