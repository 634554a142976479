"""Figures like those of the suites, on the user's own axes, from tables of `bench.load` and others.

Colours, markers and dashes are those of the reports: fixed by name for losses and methods, a
sequence for numbers. Each function draws on `ax` (None means the current axes), labels every line
for `ax.legend()`, and returns the axes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.frame import OF_HISTORIES, OF_LOAD
from bench.errors import BenchError, choices
from bench.figures.frames import label_of
from bench.figures.kinds import Distribution, History, Lines, Points, Scatter

__all__ = ["distribution", "history", "lines", "points", "printed", "scatter"]

By = str | Sequence[str] | None
LINE = "line"  # the column that tells lines apart where several settings do
ArraySequence = Sequence[np.ndarray[Any, Any]]


def lines(
    frame: pd.DataFrame,
    *,
    x: str,
    metric: str,
    by: By = None,
    reference: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric against a setting: means over seeds with 95 % t-intervals as bars.

    Args:
        frame: table of `bench.load`, or some of its rows.
        x: setting on the horizontal axis.
        metric: a value of the column `metric`.
        by: the setting or settings that distinguish lines.
        reference: setting that is drawn dashed.
        ax: axes to draw on.

    Raises:
        BenchError: the frame lacks the metric or setting.
    """
    frame, line = _with_lines(frame, by, x, reference)
    rows = _along(_of_metric(frame, metric), x, metric)
    return Lines(x=x, y=metric, by=line, reference=reference).draw(rows, _axes(ax))


def history(
    frame: pd.DataFrame,
    *,
    metric: str,
    x: str = "epoch",
    by: By = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric during training: means over seeds with 95 % t-intervals as bands.

    Args:
        frame: table of `bench.histories`, or some of its rows.
        metric: a value of the column `metric`.
        x: `epoch` or `step`.
        by: the setting or settings that distinguish lines.
        ax: axes to draw on.

    Raises:
        BenchError: the frame lacks the metric or setting.
    """
    frame, line = _with_lines(frame, by, x)
    rows = _along(_of_metric(frame, metric), x, metric)
    return History(x=x, y=metric, by=line).draw(rows, _axes(ax))


def points(frame: pd.DataFrame, *, x: str, y: str, by: By = None, ax: Axes | None = None) -> Axes:
    """Draw one metric against another, one point per group of cells that differ only in the seed.

    Args:
        frame: table of `bench.load`, or some of its rows.
        x: metric on the horizontal axis.
        y: metric on the vertical axis.
        by: the setting or settings that distinguish kinds of points.
        ax: axes to draw on.

    Raises:
        BenchError: the frame lacks the metric or setting.
    """
    frame, line = _with_lines(frame, by)
    settings = [name for name in frame if name not in OF_LOAD]
    across = _of_metric(frame, x).set_index("cell")["value"]
    rows = _of_metric(frame, y).rename(columns={"value": y})
    rows = rows.assign(**{x: rows["cell"].map(across)}).dropna(subset=[x])
    rows["point"] = [repr(row) for row in rows[settings].itertuples(index=False, name=None)]
    return Points(x=x, y=y, by=line).draw(rows, _axes(ax))


def printed(frame: pd.DataFrame, *, x: str, by: By = None, ax: Axes | None = None) -> Axes:
    """Draw published values as open markers.

    Args:
        frame: rows of `bench.published`.
        x: setting on the horizontal axis.
        by: the setting or settings that distinguish lines.
        ax: axes to draw on.

    Raises:
        BenchError: the frame lacks the setting.
    """
    frame, line = _with_lines(frame, by, x)
    rows = _along(frame.dropna(subset=["value"]), x, "value")
    return Lines(x=x, y="value", by=line).draw_printed(rows, _axes(ax))


def distribution(shares: Mapping[Any, ArraySequence], *, ax: Axes | None = None) -> Axes:
    """Draw histograms over equal bins of [0, 1] as densities, averaged over seeds.

    Args:
        shares: share of each bin for each seed, with sum 1, by the name of the line; for instance
            `q_b_histogram` of `bench.arrays`.
        ax: axes to draw on.
    """
    return Distribution.draw(shares, _axes(ax))


def scatter(
    at: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], *, ax: Axes | None = None
) -> Axes:
    """Draw points in a plane, coloured by class.

    Args:
        at: points, shape (n, 2); for instance `tsne` of `bench.arrays`.
        labels: class labels, shape (n,).
        ax: axes to draw on.
    """
    return Scatter.draw(at, labels, _axes(ax))


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.gca()


def _of_metric(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of a metric.

    Raises:
        BenchError: there is none.
    """
    rows = frame[frame["metric"] == metric]
    if rows.empty:
        allowed = choices(metric, [str(name) for name in dict.fromkeys(frame["metric"])])
        raise BenchError(f"the data frame has no metric '{metric}'. {allowed}")
    return rows


def _along(frame: pd.DataFrame, x: str, metric: str) -> pd.DataFrame:
    """Return the rows that have x, a number, and the metric under its name."""
    rows = frame.dropna(subset=[x]).rename(columns={"value": metric})
    try:
        return rows.astype({x: float})
    except (TypeError, ValueError) as fault:
        raise BenchError(
            f"the column '{x}' is not a number in every row, so it cannot be the x axis"
        ) from fault


def _with_lines(
    frame: pd.DataFrame, by: By, *others: str | None
) -> tuple[pd.DataFrame, str | None]:
    """Return the frame with the column that distinguishes lines, and its name.

    Args:
        frame: from which lines are drawn.
        by: the settings that distinguish them.
        others: further columns that are drawn.

    Raises:
        BenchError: the frame lacks one of these columns.
    """
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    for name in (*others, *names):
        if name is not None and name not in frame:
            allowed = choices(name, [str(n) for n in frame if n not in {*OF_LOAD, *OF_HISTORIES}])
            raise BenchError(f"the data frame has no column '{name}'. {allowed}")
    if not names:
        return frame, None
    records = frame[names].astype(object).where(frame[names].notna(), None)
    rows: list[dict[str, Any]] = records.rename(columns=str).to_dict("records")  # type: ignore[assignment]
    column = names[0] if len(names) == 1 else LINE
    return frame.assign(**{column: [label_of(names, row) for row in rows]}), column
