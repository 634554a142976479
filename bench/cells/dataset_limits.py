"""What a cell asks of its data set that the data set does not have, as far as its size is known."""

from collections.abc import Iterable

from bench.cells.cell import Cell


def too_much(cell: Cell) -> str | None:
    """Return the first setting that is above what the data set allows, in one line; None: none is.

    Data sets of unknown size, such as folders of images, are passed over.
    """
    return next((reason for _, reason in _demands(cell)), None)


def impossible(cells: Iterable[Cell]) -> dict[str, int]:
    """Return why cells cannot be computed with their data sets, in one line, and how many each."""
    counts: dict[str, int] = {}
    for cell in cells:
        why = next((reason for fails, reason in _demands(cell) if fails), None)
        if why is not None:
            counts[why] = counts.get(why, 0) + 1
    return counts


def _demands(cell: Cell) -> Iterable[tuple[bool, str]]:
    """Yield whether the cell fails by a setting that asks too much, and which one that is."""
    for d in cell.asked_of_data():
        if d.value > d.most:
            yield d.fails, f"{d.setting} {d.value}: {d.limit}"
