"""Figures of more lines or places than a reader tells apart: some are named, the others unnamed."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from bench.figures.style import Style

MOST_LINES = 40  # of a figure that are told apart: with more of them some are named
NAMED_LINES = 10  # of these


Item = TypeVar("Item")


def evenly(items: Sequence[Item], few: int) -> list[Item]:
    """Return so many of the items from the first to the last, as evenly spaced as can be."""
    return [items[i] for i in np.linspace(0, len(items) - 1, few).round().astype(int)]


def named_lines(names: Sequence[Item]) -> list[Item]:
    """Return the lines that are drawn with marker, interval and name: all, unless they are many."""
    return list(names) if len(names) <= MOST_LINES else evenly(names, NAMED_LINES)


def named_places(count: int, most: int) -> list[int]:
    """Return which places along an axis have their names there: all, unless they are too many."""
    return list(range(count)) if count <= most else evenly(range(count), most // 2)


def draw_unnamed(
    frame: pd.DataFrame, ax: Axes, *, x: str, y: str, by: str, looks: Mapping[Any, Style]
) -> None:
    """Draw the means over seeds as thin lines behind those with a name, all of them at once.

    Args:
        frame: the rows of these lines alone.
        ax: where to draw.
        x: column of the horizontal axis.
        y: column of the metric.
        by: column that tells the lines apart.
        looks: their styles, by name.
    """
    means = frame[frame[y].notna()].groupby([by, x])[y].mean().reset_index()
    lines = {name: line[[x, y]].to_numpy() for name, line in means.groupby(by)}
    if lines:
        colours = [looks[name].colour for name in lines]
        ax.add_collection(
            LineCollection([*lines.values()], colors=colours, linewidths=0.6, zorder=1.5)
        )
        ax.autoscale_view()
