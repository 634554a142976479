"""Lines over a setting or over training, with intervals over seeds and published points."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.statistics import t_interval
from bench.figures.style import GREY, MARKERS, colours

MANY = 6  # lines, from which on neighbours in colour differ in style


def summarise(frame: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Return mean, low and high over the rows of each x; low = high = mean for one row."""
    rows = []
    for at, group in frame.groupby(x, sort=True):
        interval = t_interval(group[y].tolist())
        low, high = (interval.mean if v is None else v for v in (interval.low, interval.high))
        rows.append({x: at, "mean": interval.mean, "low": low, "high": high, "n": interval.n})
    return pd.DataFrame(rows, columns=[x, "mean", "low", "high", "n"])


def draw_lines(  # noqa: PLR0913
    frame: pd.DataFrame,
    ax: Axes,
    *,
    x: str,
    y: str,
    by: str | None = None,
    names: Sequence[Any] | None = None,
    published: pd.DataFrame | None = None,
    reference: str | None = None,
) -> Axes:
    """Draw one line a value of `by`: the mean over seeds, bars for the 95 % t-interval.

    Args:
        frame: a row a cell, with the columns x, y, by and the reference.
        ax: where to draw.
        x: the setting along the axis.
        y: the metric.
        by: the setting that tells lines apart.
        names: all values of `by` in the figure, so that panels share their colours.
        published: printed values with the columns x, by and value; drawn as open markers.
        reference: a column drawn dashed: grey if it is the same for all lines.
    """
    names = names or _values(frame, by)
    palette = colours(names)
    shared = reference is not None and frame.groupby(x)[reference].nunique().max() == 1
    for name in names:
        own = frame[frame[by] == name] if by else frame
        line = summarise(own, x, y)
        bars = np.array([line["mean"] - line["low"], line["high"] - line["mean"]])
        marker = MARKERS.get(str(name), "o")
        ax.errorbar(
            line[x], line["mean"], yerr=bars, color=palette[name], marker=marker, ms=3.5, lw=1.2,
            capsize=2, label=_label(by, name), zorder=3,
        )  # fmt: skip
        if reference and not shared:
            dashed = summarise(own, x, reference)
            ax.plot(dashed[x], dashed["mean"], color=palette[name], ls="--", lw=0.9)
        if published is not None:
            points = published[published[by] == name] if by else published
            ax.plot(
                points[x], points["value"], ls="", marker=marker, ms=8, mfc="none",
                mec=palette[name], label=f"{_label(by, name)} (published)" if by else "published",
                zorder=4,
            )  # fmt: skip
    if reference and shared:
        dashed = summarise(frame, x, reference)
        ax.plot(dashed[x], dashed["mean"], color=GREY, ls="--", lw=0.9, label=reference)
    return ax


def draw_history(
    frame: pd.DataFrame,
    ax: Axes,
    *,
    x: str,
    y: str,
    by: str | None = None,
    names: Sequence[Any] | None = None,
) -> Axes:
    """Draw a metric over training: one line a value of `by`, a band for the 95 % t-interval."""
    names = names or _values(frame, by)
    palette = colours(names)
    for i, name in enumerate(names):
        line = summarise(frame[frame[by] == name] if by else frame, x, y)
        style = "--" if len(names) > MANY and i % 2 else "-"
        if line.empty:  # in this panel
            continue
        marker = "o" if len(line) == 1 else None  # a line of one point shows nothing
        ax.plot(
            line[x], line["mean"], color=palette[name], lw=1.0, ls=style, marker=marker, ms=3.5,
            label=_label(by, name),
        )  # fmt: skip
        ax.fill_between(line[x], line["low"], line["high"], color=palette[name], alpha=0.15, lw=0)
    return ax


def draw_scatter(points: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], ax: Axes) -> Axes:
    """Draw 2-d points coloured by their class."""
    palette = colours(sorted(set(labels.tolist())))
    for label, colour in palette.items():
        own = points[labels == label]
        ax.plot(own[:, 0], own[:, 1], ls="", marker=".", ms=2, color=colour, label=f"class {label}")
    ax.set_aspect("equal")
    return ax


def draw_distribution(shares: dict[Any, Sequence[np.ndarray[Any, Any]]], ax: Axes) -> Axes:
    """Draw shares in equal bins of [0, 1], means over seeds, as one outline a name."""
    palette = colours(list(shares))
    for name, found in shares.items():
        mean = np.mean(found, axis=0)
        edges = np.linspace(0, 1, len(mean) + 1)
        ax.stairs(mean, edges, color=palette[name], lw=1.2, label=str(name))
    return ax


def _values(frame: pd.DataFrame, by: str | None) -> list[Any]:
    return ordered(frame[by]) if by else [""]


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values, numbers before words."""
    return sorted(set(values), key=lambda value: (isinstance(value, str), value))


def _label(by: str | None, name: Any) -> str:
    if by is None:
        return "measured"
    return str(name) if isinstance(name, str) else f"{by} = {name:g}"
