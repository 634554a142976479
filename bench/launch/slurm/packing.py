"""How many workers share a GPU, and which cells fit into a worker."""

from collections.abc import Sequence

from bench.cells.cell import Cell
from bench.errors import LaunchError
from bench.estimate.history import sampled_timings
from bench.estimate.predict import predict
from bench.launch.slurm.profile import Profile
from bench.results.store import Store

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
        e.cell.id: f"{e.kind} takes about {e.peak_memory_gb:.3g} GB, and a worker of these jobs "
        f"has {has_gb:.3g} GB: raise mem_gb or lower --pack"
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
            for timing in sampled_timings(experiment, store, ())
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
