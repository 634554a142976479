"""In what the cells of a scale depart from what the paper states."""

from collections.abc import Sequence

from bench.analysis.compare import Compared, compare
from bench.cells.cell import Cell
from bench.papers.reader import Paper
from bench.suites.protocol import departures, stated_settings
from bench.suites.suite import Suite


def departures_of_scale(
    suite: Suite, cells: Sequence[Cell], paper: Paper, compared: Sequence[Compared] | None = None
) -> list[str]:
    """Return each departure once: of the cells that printed values are compared with.

    Of an artifact without such a cell, a figure for instance, those of the cell with the fewest.
    Where any artifact is as published, those on data that no cell has are left out at this scale,
    not departed from.

    Args:
        suite: the suite.
        cells: those of the scale.
        paper: the suite's.
        compared: what `compare` says of them, where it is known already.
    """
    rows = compare(suite, cells, [], paper) if compared is None else compared
    found = {text for row in rows for text in row.departures}
    with_cells = {row.artifact for row in rows if row.has_cells}
    nearest = [
        min((departures(cell, stated) for cell in cells), key=len)
        for name in suite.reproduces
        if cells and name not in with_cells
        for stated in [stated_settings(suite, paper, paper.artifact(name))]
    ]
    as_published = any(row.has_cells and row.comparable for row in rows) or [] in nearest
    for own in nearest:
        if not (as_published and any(departure.name == "dataset" for departure in own)):
            found |= {departure.text for departure in own}
    return sorted(found)
