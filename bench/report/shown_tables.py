"""Which tables of measured numbers a suite has: its own, or what its checks read."""

from collections.abc import Iterator, Sequence

from bench.cells.cell import Cell
from bench.cells.groups import telling_settings
from bench.suites.suite import MeasuredTable, Suite

MOST_COLUMNS = 8


def shown_tables(suite: Suite, cells: Sequence[Cell]) -> list[MeasuredTable]:
    """Return the tables that show what a suite measured.

    A suite without tables gets one for each metric that its comparisons, checks or figures read,
    else for each metric of its cells; rows are the settings that tell the cells apart.

    Args:
        suite: as the scale shows it (`with_stand_ins`).
        cells: of the suite, baselines left out.
    """
    return suite.tables or made_tables(suite, cells)


def made_tables(suite: Suite, cells: Sequence[Cell]) -> list[MeasuredTable]:
    """Return a table for each metric that the suite reads of these cells."""
    layouts = {c.metric: c.layout.columns for c in reversed(suite.compare) if c.layout}
    of_cells = dict.fromkeys(name for cell in cells for name in type(cell).metrics)
    asked = [name for name in dict.fromkeys(_metrics_read(suite)) if name in of_cells]
    tables = []
    for metric in asked or of_cells:
        with_metric = [cell for cell in cells if metric in type(cell).metrics]
        rows = telling_settings(with_metric)
        column = layouts.get(metric) or _column(rows, with_metric)
        if column not in rows or len(rows) == 1:
            column = None
        # A single point has its seeds alone to tell its cells apart: any setting names its row.
        rows = [name for name in rows if name != column] or [next(iter(with_metric[0].settings))]
        tables.append(MeasuredTable(title=metric, metric=metric, rows=rows, columns=column))
    return tables


def _column(rows: Sequence[str], cells: Sequence[Cell]) -> str | None:
    """Return the last of the settings that has few enough values for columns."""
    few = [n for n in rows[1:] if len({c.settings.get(n) for c in cells}) <= MOST_COLUMNS]
    return few[-1] if few else None


def _metrics_read(suite: Suite) -> Iterator[str]:
    yield from (comparison.metric for comparison in suite.compare)
    yield from (check.metric for checks in suite.claims.values() for check in checks)
    yield from (figure.y for figure in suite.figures)
