"""Which cells share a job: side by side on its workers, and one after another."""

from collections.abc import Mapping, Sequence

from bench.launch.units import Unit

Task = list[Unit]


def pack_units(
    units: Sequence[Unit], workers: int, *, fill_s: float = 0, seconds: Mapping[str, float]
) -> list[Task]:
    """Return the units in tasks, each for so many workers.

    Args:
        units: the longest first.
        workers: of a task; it gets at least one unit for each.
        fill_s: short units are added one after another as long as all of a task's workers are
            done within this time.
        seconds: predicted for each cell, by its id; read only if `fill_s` is above 0.
    """
    tasks: list[Task] = []
    room = 0.0
    for unit in units:
        cost = sum(seconds[cell.id] for cell in unit) if fill_s > 0 else 0.0
        if not tasks or (len(tasks[-1]) >= workers and (fill_s <= 0 or cost > room)):
            tasks.append([])
            room = fill_s * workers
        tasks[-1].append(unit)
        room -= cost
    return tasks


def cut_arrays(tasks: Sequence[Task], limit: int) -> list[list[Task]]:
    """Return the tasks in arrays of at most `limit`, as even as can be."""
    count = -(-len(tasks) // limit)
    size = -(-len(tasks) // max(1, count))
    return [list(tasks[i : i + size]) for i in range(0, len(tasks), max(1, size))]
