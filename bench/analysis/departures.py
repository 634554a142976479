"""In what the cells of a scale depart from what the paper states."""

from collections.abc import Sequence

from bench.analysis.compare import Compared, compare
from bench.cells.cell import Cell
from bench.papers.reader import Paper, Statement
from bench.suites.agreement import agrees
from bench.suites.facts import facts
from bench.suites.protocol import differences, stated_of, stated_settings
from bench.suites.suite import Suite


def departures_of_scale(
    suite: Suite, cells: Sequence[Cell], paper: Paper, compared: Sequence[Compared] | None = None
) -> list[str]:
    """Return each departure once: of the cells that printed values are compared with.

    Of an artifact without such a cell, a figure for instance, those of the cell with the fewest.
    An artifact on data that no cell has is left out where cells have the data of another.

    Args:
        suite: the suite.
        cells: those of the scale.
        paper: the suite's.
        compared: what `compare` says of them, where it is known already.
    """
    rows = compare(suite, cells, [], paper) if compared is None else compared
    texts = {text for row in rows for text in row.departures}
    with_cells = {row.artifact for row in rows if row.has_cells}
    stated = {
        name: stated_settings(suite, paper, paper.artifact(name)) for name in suite.reproduces
    }
    has_data = {name: _has_data(cells, statements) for name, statements in stated.items()}
    left_out = {
        name for name, has in has_data.items() if has is False and True in has_data.values()
    }
    for name in stated.keys() - with_cells - left_out if cells else ():
        fewest = min((differences(cell, stated[name]) for cell in cells), key=len)
        texts |= set(fewest)
    return sorted(texts)


def _has_data(cells: Sequence[Cell], statements: Sequence[Statement]) -> bool | None:
    """Return whether any cell has the data set that is stated of it; None: none is stated."""
    known = [facts(cell) for cell in cells]
    stated = [stated_of(settings, statements).get("dataset") for settings in known]
    pairs = [
        (settings.get("dataset"), name)
        for settings, name in zip(known, stated, strict=True)
        if name
    ]
    return any(agrees(mine, name) for mine, name in pairs) if pairs else None
