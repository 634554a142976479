"""Lines over a setting or over training, with intervals over seeds and published points."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.statistics import half_width
from bench.figures.crowd import draw_unnamed, named_lines
from bench.figures.seeds import (
    WIDTHS,
    draw_runs,
    draw_seeds,
    interval_drawn,
    widths_apart,
)
from bench.figures.style import GREY, Style, styles

MARKS = 8  # on a line over training, so that it is known without its colour
UNKNOWN = "?"  # the line of a printed value whose paper does not say which line it is of
BAND_ALPHA = 0.15
MOST_BANDS = 4  # more of them hide each other


def summarise(frame: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Return mean, low, high and n over the rows of each x.

    low = high = mean for one value; all are nan where no row has one.

    Args:
        frame: one row per seed and x.
        x: column to group by.
        y: column of the numbers.
    """
    values = frame.groupby(x, sort=True)[y]
    n, mean, std = values.count(), values.mean(), values.std()
    half = half_width(std / n**0.5, n - 1).where(n > 1, 0.0)
    summary = pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half, "n": n})
    return summary.reset_index()


def with_ribbon(frame: pd.DataFrame, x: str, y: str, ribbon: str | None) -> pd.DataFrame:
    """Return `summarise`, with low and high at mean ± the mean of the ribbon if there is one.

    Args:
        frame: one row per seed and x.
        x: column to group by.
        y: column of the numbers.
        ribbon: column of a standard deviation; None: the interval.
    """
    summary = summarise(frame, x, y)
    if ribbon is None:
        return summary
    half = summarise(frame, x, ribbon)["mean"]
    return summary.assign(low=summary["mean"] - half, high=summary["mean"] + half)


def draw_lines(  # noqa: PLR0913
    frame: pd.DataFrame,
    ax: Axes,
    *,
    x: str,
    y: str,
    by: str | None = None,
    names: Sequence[Any] | None = None,
    reference: str | None = None,
    ribbon: str | None = None,
) -> Axes:
    """Draw one line a value of `by`: the mean over seeds, bars for the 95 % t-interval.

    A place where nothing was measured (nan) interrupts the line.

    Args:
        frame: a row a cell, with the columns x, y, by, the reference and the ribbon.
        ax: where to draw.
        x: the setting along the axis.
        y: the metric.
        by: the setting that tells lines apart.
        names: all values of `by` in the figure, so that panels share their styles.
        reference: a column drawn dashed: grey if it is the same for all lines.
        ribbon: a column: bars are mean ± its mean over seeds, in place of the interval.
    """
    names = names or _values(frame, by)
    looks = styles(names)
    shared = reference is not None and frame.groupby(x)[reference].nunique().max() == 1
    lines = {}
    named = named_lines(names)
    for name in named:
        rows = frame[frame[by] == name] if by else frame
        line = with_ribbon(rows, x, y, ribbon)
        if line["n"].any():
            lines[name] = (rows, line if ribbon else interval_drawn(line, y))
    widths = widths_apart([line.set_index(x)["mean"] for _, line in lines.values()])
    for (name, (rows, line)), width in zip(lines.items(), widths, strict=True):
        style = looks[name]
        bars = np.array([line["mean"] - line["low"], line["high"] - line["mean"]])
        ax.errorbar(
            line[x], line["mean"], yerr=bars, color=style.colour, marker=style.marker,
            ms=width + 2.3, lw=width, elinewidth=WIDTHS[0], capsize=2, label=line_label(by, name),
            zorder=3,
        )  # fmt: skip
        if not ribbon:
            draw_seeds(rows, ax, x=x, y=y, style=style)
        if reference and not shared:
            dashed = summarise(rows, x, reference)
            ax.plot(dashed[x], dashed["mean"], color=style.colour, ls="--", lw=0.9)
    if by and len(named) < len(names):
        draw_unnamed(frame[~frame[by].isin(named)], ax, x=x, y=y, by=by, looks=looks)
    if reference and shared:
        dashed = summarise(frame, x, reference)
        ax.plot(dashed[x], dashed["mean"], color=GREY, ls="--", lw=0.9, label=reference)
    return ax


def draw_printed(
    points: pd.DataFrame,
    ax: Axes,
    *,
    x: str,
    by: str | None = None,
    names: Sequence[Any] | None = None,
    joined: bool = False,
) -> Axes:
    """Draw printed values as open markers; grey where the paper does not say of which line.

    Args:
        points: a row a printed value, with the columns x, by and value.
        ax: where to draw.
        x: the setting along the axis.
        by: the setting that tells lines apart.
        names: all values of `by` in the figure, so that panels share their styles.
        joined: with a thin line through them.
    """
    names = names or _values(points, by)
    looks = styles(names)
    if by is not None:
        looks[UNKNOWN] = Style(GREY, "o", "")
    for name, style in looks.items():
        rows = (points[points[by] == name] if by else points).sort_values(x)
        if rows.empty:
            continue
        label = "line not stated" if name == UNKNOWN else line_label(by, name)
        ax.plot(
            rows[x], rows["value"], ls="-" if joined and name != UNKNOWN else "", lw=0.7,
            marker=style.marker, ms=5 if joined else 8, mfc="none", color=style.colour, zorder=4,
            clip_on=False, label=f"{label} (published)" if by else "published",
        )  # fmt: skip
    return ax


def draw_history(
    frame: pd.DataFrame,
    ax: Axes,
    *,
    x: str,
    y: str,
    by: str | None = None,
    names: Sequence[Any] | None = None,
    ribbon: str | None = None,
) -> Axes:
    """Draw a metric over training: one line a value of `by`.

    The band is the 95 % t-interval over seeds, none with more than MOST_BANDS lines; or, where
    `ribbon` names a metric, mean ± that one.

    Args:
        frame: one row per record, with a column `seed`.
        ax: where to draw.
        x: column of the horizontal axis.
        y: column of the metric.
        by: column that tells the lines apart; None: one line.
        names: lines in their order; None: as they come.
        ribbon: column of a standard deviation; None: the interval.
    """
    names = names or _values(frame, by)
    looks, named = styles(names), named_lines(names)
    if by and len(named) < len(names):
        draw_unnamed(frame[~frame[by].isin(named)], ax, x=x, y=y, by=by, looks=looks)
    for name in named:
        rows = frame[frame[by] == name] if by else frame
        line, style = with_ribbon(rows[rows[y].notna()], x, y, ribbon), looks[name]
        if line.empty:  # in this panel
            continue
        line = line if ribbon else interval_drawn(line, y)
        ax.plot(
            line[x], line["mean"], color=style.colour, lw=1.1, ls=style.dash, marker=style.marker,
            ms=3, markevery=max(1, len(line) // MARKS), label=line_label(by, name),
        )  # fmt: skip
        if ribbon or len(names) <= MOST_BANDS:
            ax.fill_between(
                line[x], line["low"], line["high"], color=style.colour, alpha=BAND_ALPHA, lw=0
            )
            if not ribbon:
                draw_runs(rows, ax, x=x, y=y, style=style)
    return ax


def draw_points(
    frame: pd.DataFrame,
    ax: Axes,
    *,
    x: str,
    y: str,
    by: str | None = None,
    names: Sequence[Any] | None = None,
) -> Axes:
    """Draw one metric against another: a point for the cells that differ in the seed alone.

    Bars are 95 % t-intervals over seeds; the column `point` says which rows belong together.

    Args:
        frame: one row per cell, with a column `point`.
        ax: where to draw.
        x: column of the horizontal axis.
        y: column of the vertical axis.
        by: column that tells the colours apart; None: one colour.
        names: colours in their order; None: as they come.
    """
    names = names or _values(frame, by)
    looks = styles(names)
    for name in names:
        rows = frame[frame[by] == name] if by else frame
        across, up = (interval_drawn(summarise(rows, "point", m), m) for m in (x, y))
        style = looks[name]
        if up.empty:
            continue
        bars = [np.array([s["mean"] - s["low"], s["high"] - s["mean"]]) for s in (across, up)]
        ax.errorbar(
            across["mean"], up["mean"], xerr=bars[0], yerr=bars[1], color=style.colour, ls="",
            marker=style.marker, ms=4, elinewidth=0.7, capsize=1.5, label=line_label(by, name),
        )  # fmt: skip
        draw_seeds(rows, ax, x=x, y=y, style=style, group="point")
    return ax


def draw_scatter(points: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], ax: Axes) -> Axes:
    """Draw 2-d points by their class; thousands of them, so vector files hold them as pixels.

    Args:
        points: (n, 2).
        labels: class of each point, (n,).
        ax: where to draw.
    """
    names = {f"class {label}": label for label in sorted(set(labels.tolist()))}
    for name, style in styles(list(names)).items():
        chosen = points[labels == names[name]]
        ax.plot(
            chosen[:, 0], chosen[:, 1], ls="", marker=style.marker, ms=1.5, mew=0,
            color=style.colour, label=name, rasterized=True,
        )  # fmt: skip
    ax.set_aspect("equal")
    return ax


def draw_distribution(
    shares: dict[Any, Sequence[np.ndarray[Any, Any]]], ax: Axes, by: str | None = None
) -> Axes:
    """Draw densities over equal bins of [0, 1], means over seeds, one outline a value of `by`.

    Args:
        shares: of the bins, which sum to 1, of each seed; by the value of `by`.
        ax: where to draw.
        by: the setting that tells outlines apart.
    """
    looks = styles(list(shares))
    for name, curves in shares.items():
        mean, style = np.mean(curves, axis=0), looks[name]
        edges = np.linspace(0, 1, len(mean) + 1)
        ax.stairs(
            mean * len(mean), edges, color=style.colour, lw=1.2, ls=style.dash,
            label=line_label(by, name),
        )  # fmt: skip
    return ax


def _values(frame: pd.DataFrame, by: str | None) -> list[Any]:
    return ordered(frame[by]) if by else [""]


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values, numbers before words."""
    return sorted(set(values), key=lambda value: (isinstance(value, str), value))


def line_label(by: str | None, name: Any) -> str:
    """Return what a legend says of a line."""
    if by is None:
        return "measured"
    if not isinstance(name, str):
        return f"{by} = {name:g}"
    return f"{by} = {name}" if name.startswith("_") else name  # which no legend would show
