"""What is drawn of few seeds, and of lines that hide each other."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from bench.figures.style import Style

LEAST_SEEDS = 3  # of an interval; fewer are drawn one by one
SEED_ALPHA = 0.55
PERCENT = (0.0, 100.0)  # what an accuracy may be: its interval ends there
TIE = 0.02  # of the values' span: lines nearer than that hide each other
WIDTHS = (1.2, 3.2)  # of lines that hide each other, the uppermost first


def interval_drawn(line: pd.DataFrame, y: str) -> pd.DataFrame:
    """Return a `summarise` with the interval that is drawn: none below LEAST_SEEDS seeds.

    An accuracy's ends at 0 and 100 %.
    """
    few = line["n"] < LEAST_SEEDS
    low, high = (line[end].where(~few, line["mean"]) for end in ("low", "high"))
    if y.endswith("top1"):
        low, high = low.clip(*PERCENT), high.clip(*PERCENT)
    return line.assign(low=low, high=high)


def draw_seeds(
    rows: pd.DataFrame, ax: Axes, *, x: str, y: str, style: Style, group: str | None = None
) -> None:
    """Draw each seed as a point of its own where two of them make no interval.

    Args:
        rows: one for each cell.
        ax: where to draw.
        x: the column across.
        y: the column upwards.
        style: of the points.
        group: the column that is equal for cells that differ in the seed alone; None for `x`.
    """
    counts = rows.groupby(group or x)[y].transform("count")
    few = rows[(counts > 1) & (counts < LEAST_SEEDS)]
    if len(few):
        ax.plot(
            few[x], few[y], ls="", marker=style.marker, ms=2.5, color=style.colour, mew=0,
            alpha=SEED_ALPHA, zorder=3,
        )  # fmt: skip


def widths_apart(means: Sequence[pd.Series[float]]) -> list[float]:
    """Return the width of each line: one below another that it would hide behind is wider.

    Args:
        means: of each line in the order of drawing, by the values along x.
    """
    span = max((s.max() for s in means), default=0.0) - min((s.min() for s in means), default=0.0)
    thin, wide = WIDTHS
    above = [
        sum(_hides(other, mean, TIE * span) for other in means[i + 1 :])
        for i, mean in enumerate(means)
    ]
    most = max([*above, 1])
    return [thin + (wide - thin) * n / most for n in above]


def _hides(upper: pd.Series[float], lower: pd.Series[float], near: float) -> bool:
    """Whether a line lies on another one at half of the points that they share, or more."""
    distance = (upper - lower).abs().dropna()
    return bool(len(distance)) and 2 * int((distance <= near).sum()) >= len(distance)


def draw_runs(rows: pd.DataFrame, ax: Axes, *, x: str, y: str, style: Style) -> None:
    """Draw each of two runs as a thin line of its own: they make no interval.

    Args:
        rows: those of one line, with a column `seed`.
        ax: where to draw.
        x: column of the horizontal axis.
        y: column of the vertical axis.
        style: colour, marker and line.
    """
    if 1 < rows["seed"].nunique() < LEAST_SEEDS:
        for _, run in rows.groupby("seed"):
            ax.plot(run[x], run[y], color=style.colour, lw=0.5, alpha=SEED_ALPHA)
