"""Which cells share a job: side by side on its workers, and one after another."""

from collections.abc import Mapping, Sequence

from bench.cells.cell import Cell
from bench.cells.stacks import Stack
from bench.errors import LaunchError
from bench.estimate.history import sampled_timings
from bench.results.store import Store

Task = list[Stack]
FILLED = 0.9  # of a GPU's or a job's memory, by workers that share it


def pack_stacks(
    stacks: Sequence[Stack], workers: int, *, fill_s: float = 0, seconds: Mapping[str, float]
) -> list[Task]:
    """Return the stacks in tasks, each for so many workers.

    Args:
        stacks: the longest first.
        workers: of a task; it gets at least one stack for each.
        fill_s: short stacks are added one after another as long as all of a task's workers are
            done within this time.
        seconds: predicted for each cell, by its id; read only if `fill_s` is above 0.
    """
    tasks: list[Task] = []
    room = 0.0
    for stack in stacks:
        cost = sum(seconds[cell.id] for cell in stack) if fill_s > 0 else 0.0
        if not tasks or (len(tasks[-1]) >= workers and (fill_s <= 0 or cost > room)):
            tasks.append([])
            room = fill_s * workers
        tasks[-1].append(stack)
        room -= cost
    return tasks


def cut_arrays(tasks: Sequence[Task], limit: int) -> list[list[Task]]:
    """Return the tasks in arrays of at most `limit`, as even as can be."""
    count = -(-len(tasks) // limit)
    size = -(-len(tasks) // max(1, count))
    return [list(tasks[i : i + size]) for i in range(0, len(tasks), max(1, size))]


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
