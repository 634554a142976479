"""Elements of curves: means with intervals, single seeds, unlabelled lines and baselines."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from bench.analysis.statistics import half_width
from bench.figures.style import GREY, Style

MOST_LINES = 40  # that a reader can tell apart; of more lines some are named
NAMED_LINES = 10  # of these
LEAST_SEEDS = 3  # of an interval; fewer are drawn one by one
SEED_ALPHA = 0.55
PERCENT = (0.0, 100.0)  # the range of an accuracy, and of its interval
TIE = 0.02  # of the values' span: lines nearer than that hide each other
WIDTHS = (1.2, 3.2)  # of lines that hide each other, the uppermost first
ROOM_COLUMNS = ("floor", "floor is", "ceiling")
DOTTED, DASH_DOTTED = (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5))
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
Item = TypeVar("Item")


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values: numbers, then text, in which numbers count as such.

    `K = 8` is before `K = 256`.
    """
    return sorted(set(values), key=_order)


def _order(value: Any) -> tuple[bool, Any]:
    if not isinstance(value, str):
        return False, value
    parts = _NUMBER.split(value)  # text and numbers in turn
    return True, [float(part) if i % 2 else part for i, part in enumerate(parts)]


def evenly(items: Sequence[Item], few: int) -> list[Item]:
    """Return this many items from the first to the last, as evenly spaced as possible."""
    return [items[i] for i in np.linspace(0, len(items) - 1, few).round().astype(int)]


def named_lines(names: Sequence[Item]) -> list[Item]:
    """Return the lines with a marker, interval and label: all, unless there are too many."""
    return list(names) if len(names) <= MOST_LINES else evenly(names, NAMED_LINES)


def summarise(frame: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Return mean, low, high and n over the rows of each x.

    For one value, low = high = mean. Without values, all are NaN.

    Args:
        frame: one row per seed and x.
        x: column to group by.
        y: column of the values.
    """
    values = frame.groupby(x, sort=True)[y]
    n, mean, std = values.count(), values.mean(), values.std()
    half = half_width(std / n**0.5, n - 1).where(n > 1, 0.0)
    summary = pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half, "n": n})
    return summary.reset_index()


def interval_drawn(line: pd.DataFrame, y: str) -> pd.DataFrame:
    """Return a `summarise` with drawable intervals: none below LEAST_SEEDS seeds.

    Intervals of accuracies end at 0 and 100 %.
    """
    few = line["n"] < LEAST_SEEDS
    low, high = (line[end].where(~few, line["mean"]) for end in ("low", "high"))
    if y.endswith("top1"):
        low, high = low.clip(*PERCENT), high.clip(*PERCENT)
    return line.assign(low=low, high=high)


def bars(line: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Return the distances from the mean to the ends of a `summarise` interval."""
    return np.array([line["mean"] - line["low"], line["high"] - line["mean"]])


def draw_seeds(
    rows: pd.DataFrame, ax: Axes, *, x: str, y: str, style: Style, group: str | None = None
) -> None:
    """Draw two seeds as single points, because two seeds give no useful interval.

    Args:
        rows: one row per cell.
        ax: axes to draw on.
        x: column of the horizontal axis.
        y: column of the vertical axis.
        style: style of the points.
        group: column that is equal for cells that differ only in the seed; None means `x`.
    """
    counts = rows.groupby(group or x)[y].transform("count")
    few = rows[(counts > 1) & (counts < LEAST_SEEDS)]
    if len(few):
        ax.plot(
            few[x], few[y], ls="", marker=style.marker, ms=2.5, color=style.colour, mew=0,
            alpha=SEED_ALPHA, zorder=3,
        )  # fmt: skip


def widths_apart(means: Sequence["pd.Series[float]"]) -> list[float]:
    """Return the width of each line; a line hidden behind another is wider.

    Args:
        means: means of each line by x, in the order of drawing.
    """
    span = max((s.max() for s in means), default=0.0) - min((s.min() for s in means), default=0.0)
    thin, wide = WIDTHS
    above = [
        sum(_hides(other, mean, TIE * span) for other in means[i + 1 :])
        for i, mean in enumerate(means)
    ]
    most = max([*above, 1])
    return [thin + (wide - thin) * n / most for n in above]


def _hides(upper: "pd.Series[float]", lower: "pd.Series[float]", near: float) -> bool:
    """Return whether two lines coincide at half or more of the points that they share."""
    distance = (upper - lower).abs().dropna()
    return bool(len(distance)) and 2 * int((distance <= near).sum()) >= len(distance)


def draw_unnamed(
    frame: pd.DataFrame, ax: Axes, *, x: str, y: str, by: str, looks: Mapping[Any, Style]
) -> None:
    """Draw the means over seeds of unlabelled lines, thin and behind the labelled ones.

    Args:
        frame: the rows of these lines.
        ax: axes to draw on.
        x: column of the horizontal axis.
        y: column of the metric.
        by: column that distinguishes the lines.
        looks: styles of the lines, by name.
    """
    means = frame[frame[y].notna()].groupby([by, x])[y].mean().reset_index()
    lines = {name: line[[x, y]].to_numpy() for name, line in means.groupby(by)}
    if lines:
        colours = [looks[name].colour for name in lines]
        ax.add_collection(
            LineCollection([*lines.values()], colors=colours, linewidths=0.6, zorder=1.5)
        )
        ax.autoscale_view()


def draw_room(frame: pd.DataFrame, ax: Axes, x: str | None) -> Axes:
    """Draw the trivial baseline dotted and the supervised accuracy dash-dotted, in grey.

    They follow x if only x changes them. Otherwise, the highest trivial baseline and the lowest
    supervised accuracy of all cells are drawn.

    Args:
        frame: one row per cell, with the column x and, if there is headroom, ROOM_COLUMNS.
        ax: axes to draw on.
        x: the setting on the horizontal axis; None if a metric is on it.
    """
    if "floor" not in frame:
        return ax
    known = frame[frame["floor"].notna()]
    if known.empty:
        return ax
    highest = known.sort_values("floor").iloc[-1]
    for column, name, chosen, dash in (
        ("floor", f"trivial baseline ({highest['floor is']})", highest["floor"], DOTTED),
        ("ceiling", "supervised accuracy", known["ceiling"].min(), DASH_DOTTED),
    ):
        style: dict[str, Any] = {"color": GREY, "ls": dash, "lw": 0.8, "zorder": 1}
        several = known[column].nunique() > 1
        if several and x is not None and known.groupby(x)[column].nunique().max() == 1:
            along = known.groupby(x)[column].first()
            ax.plot(along.index, along, label=name, **style)
        else:
            of = {"floor": "highest ", "ceiling": "lowest "}[column] if several else ""
            ax.axhline(chosen, label=f"{of}{name}", **style)
    return ax
