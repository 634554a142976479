"""Published values as points of a figure, and other projects' numbers for them."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from bench.cells import CELLS
from bench.figures.frames import Row, is_allowed, label_of, line_column, panel_column
from bench.figures.kinds import UNKNOWN
from bench.papers.reader import Paper, PublishedValue
from bench.suites.figure import Figure
from bench.suites.others import beside
from bench.suites.printed_effects import is_spoken_of
from bench.suites.suite import Comparison, Suite

DIGITS = 6  # decimals of a sum of printed numbers
SOURCE = "by others: source"  # the column that only other projects' numbers have filled


def printed(figure: Figure, suite: Suite, paper: Paper) -> pd.DataFrame:
    """Return the published values with a position in the figure; empty if there are none.

    Columns: x, the columns that distinguish lines and panels, `dataset` and `value`. A value
    published as a gain is converted to a point if a comparison of the suite names its baseline.

    Args:
        figure: definition of the figure.
        suite: the suite, with its comparisons.
        paper: the paper with the published values.
    """
    rows = [row for name in figure.artifacts for row in _rows(figure, suite, paper, name)]
    for comparison in suite.compare:
        if comparison.artifact in figure.artifacts and comparison.gain_over:
            rows += _from_gains(rows, comparison, suite, paper)
    points: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        point = _point(figure, row)
        if point is not None:
            points.setdefault(tuple(v for k, v in point.items() if k != "value"), point)
    return pd.DataFrame(_without_doubles(figure, list(points.values())))


def _rows(figure: Figure, suite: Suite, paper: Paper, artifact: str) -> list[Row]:
    """Return the published rows of an artifact, settings by their names here, with `value`."""
    metric = figure.artifact_metric or figure.y
    others = [name for name in CELLS[suite.experiment].metrics if name != metric]
    rows = [
        _row(value, suite) | {"value": value.value}
        for value in paper.artifact(artifact).values
        if value.value is not None and not _is_another(value.metric, metric, others)
    ]
    known = paper.figures.get(artifact, {}).get("known_points", [])
    setting = paper.artifact(artifact).setting
    rows += [
        _renamed(setting | point, suite)
        for point in known
        if isinstance(point, dict) and "value" in point
    ]
    return [row for row in rows if _is_asked(figure, row)]


def by_others(figure: Figure, suite: Suite, paper: Paper) -> pd.DataFrame:
    """Return other projects' numbers for the metric, at the positions of the published rows.

    If another metric is drawn instead, published values and these numbers keep the paper's metric.

    They agree with the row in method, loss, data set, metric and all stated settings. The columns
    are those of `printed` and SOURCE. Each number occurs once.

    Args:
        figure: definition of the figure.
        suite: the suite, with its comparisons.
        paper: the paper with the published values.
    """
    points: dict[tuple[str, ...], Row] = {}
    metric = figure.artifact_metric or figure.y
    for name in figure.artifacts:
        for number in beside(paper, name, [suite]):
            row = _row(number.value, suite)
            if number.metric != metric or not _is_asked(figure, row):
                continue
            for other in (counterpart.row for counterpart in number.others):
                point = _point(figure, row | {"value": other.value})
                if point is not None:
                    point |= {"dataset": other.dataset, SOURCE: other.source.id}
                    points.setdefault((other.link, *map(str, point.values())), point)
    return pd.DataFrame(list(points.values()))


def _row(value: PublishedValue, suite: Suite) -> Row:
    """Return the settings of a published row by their names here."""
    return _renamed(value.settings, suite) | _cells_of(value, suite)


def _is_asked(figure: Figure, row: Row) -> bool:
    """Whether a published row has the values that the figure asks for, or does not name them."""
    return all(is_allowed(v, row[k]) for k, v in figure.artifact_rows.items() if k in row)


def _is_another(printed: str | None, metric: str, others: list[str]) -> bool:
    """Whether a printed metric is another one of ours, or a gain or drop of any of ours."""
    if printed is None or printed == metric:
        return False
    return printed in others or printed.startswith(tuple(f"{m}_" for m in (metric, *others)))


def _from_gains(
    rows: list[Row], comparison: Comparison, suite: Suite, paper: Paper
) -> Iterator[Row]:
    """Yield the values that lie a published gain above a published value."""
    for gain in paper.artifact(comparison.artifact).values:
        if gain.value is None or not is_spoken_of(gain, comparison, ()):
            continue
        settings = _renamed(gain.row_settings, suite) | comparison.where
        base = settings | comparison.gain_over
        for row in rows:
            if all(row.get(name) == value for name, value in base.items()):
                yield row | settings | {"value": round(row["value"] + gain.value, DIGITS)}


def _cells_of(value: PublishedValue, suite: Suite) -> Row:
    """Return which cells a published row belongs to, where the suite's comparisons say it."""
    comparisons = [c for c in suite.compare if c.artifact == value.artifact and not c.gain_over]
    return next((dict(c.where) for c in comparisons if is_spoken_of(value, c, ())), {})


def _renamed(settings: Row, suite: Suite) -> Row:
    return {suite.renamed.get(name, name): value for name, value in settings.items()}


def _point(figure: Figure, row: Row) -> Row | None:
    """Return the row's place in the figure; None if x or the panel is not printed."""
    x, value = row.get(figure.x), row["value"]
    if not isinstance(x, int | float) or any(row.get(n) is None for n in figure.panel_names):
        return None
    point: Row = {figure.x: x}
    if (line := line_column(figure)) is not None:
        known = any(row.get(name) is not None for name in figure.line_names[:1])
        point[line] = label_of(figure.line_names, row) if known else UNKNOWN
    if (panel := panel_column(figure)) is not None:
        point[panel] = label_of(figure.panel_names, row)
    return point | {"dataset": row.get("dataset"), "value": value}


def _without_doubles(figure: Figure, points: list[Row]) -> list[Row]:
    """Return the points, less those of an unknown line that a known line has too."""
    line = line_column(figure)
    if line is None:
        return points

    def place(point: Row) -> tuple[Any, ...]:
        return tuple(v for k, v in point.items() if k != line)

    known = {place(point) for point in points if point[line] != UNKNOWN}
    return [point for point in points if point[line] != UNKNOWN or place(point) not in known]
