"""Figures of arrays that cells keep: points in a plane, distributions."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from bench.cells.cell import Cell
from bench.figures.curves import draw_distribution, draw_scatter, ordered
from bench.figures.frames import chosen_by, label_of, panel_title
from bench.figures.layout import Place, add_legend, make_canvas
from bench.results.reader import Arrays, Done
from bench.suites.figure import Figure

MOST_CLASSES = 100  # of a scatter
PLANE = 2  # axes
REAL = "biuf"  # kinds of numpy's types
KEY_SCALE = 3  # of a scatter's points in its legend


def draw_arrays(figure: Figure, cells: Sequence[Cell], done: Done) -> Canvas | None:
    """Return a scatter or a distribution; None if no cell has the arrays.

    Args:
        figure: what the suite asks for.
        cells: all cells of the selection.
        done: the finished ones.
    """
    kept = _with_arrays(figure, cells, done)
    if not kept:
        return None
    return _scatter(figure, kept) if figure.draw == "scatter" else _distribution(figure, kept)


def has_arrays(figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
    """Whether a cell that the figure draws has its arrays.

    Args:
        figure: what the suite asks for.
        cells: all cells of the selection.
        done: the finished ones.
    """
    return bool(_with_arrays(figure, cells, done))


def _with_arrays(figure: Figure, cells: Sequence[Cell], done: Done) -> Done:
    """Return the cells that the figure draws and whose arrays are of its kind and alike."""
    within = chosen_by(figure, cells or [cell for cell, _ in done])
    drawable = [(c, kept) for c, kept in done if within(c) and _can_be_drawn(kept.arrays, figure)]
    if figure.draw == "scatter" or not drawable:
        return drawable
    bins = Counter(len(kept.arrays[figure.y]) for _, kept in drawable).most_common(1)[0][0]
    return [(cell, kept) for cell, kept in drawable if len(kept.arrays[figure.y]) == bins]


def _can_be_drawn(arrays: Arrays, figure: Figure) -> bool:
    """Whether arrays, which may come from elsewhere, are points with labels, or shares in bins."""
    values = arrays.get(figure.y)
    if values is None or values.dtype.kind not in REAL or values.size == 0:
        return False
    if figure.draw == "distribution":
        return values.ndim == 1
    labels = arrays.get(figure.x)
    if labels is None or labels.dtype.kind not in REAL or values.ndim != PLANE:
        return False
    is_plane = values.shape == (*labels.shape, PLANE)  # as many numbers a point as axes
    return is_plane and len(set(labels.tolist())) <= MOST_CLASSES


def _scatter(figure: Figure, done: Done) -> Canvas:
    """Draw the arrays of the lowest seed, one panel a value of `panels`."""
    seed = min(cell.seed for cell, _ in done)
    chosen = {
        label_of(figure.panel_names, cell.settings): (cell, kept)
        for cell, kept in done
        if cell.seed == seed
    }
    values = ordered(chosen)
    titles = [panel_title(figure, value) for value in values]
    # Noise makes one panel's points reach farther than another's: each has its own axes then.
    places = [Place(title, figure.y_label, title if figure.noise else "") for title in titles]
    canvas, axes = make_canvas(places, figure.x_label, one_x=not figure.noise)
    for value, ax in zip(values, axes, strict=True):
        cell, kept = chosen[value]
        points, labels = kept.arrays[figure.y], kept.arrays[figure.x]
        if figure.noise:
            noise = np.random.default_rng(0).random(points.shape)
            points = points + cell.settings[figure.noise] * noise
        draw_scatter(points, labels, ax)
        ax.set(xticks=[], yticks=[])
    add_legend(canvas, axes, f"one seed ({seed})", scale=KEY_SCALE)
    return canvas


def _distribution(figure: Figure, done: Done) -> Canvas:
    """Draw an array of shares, one outline a value of `by`."""
    shares: dict[Any, list[Any]] = {}
    for cell, kept in done:
        name = label_of(figure.line_names, cell.settings) if figure.by else ""
        shares.setdefault(name, []).append(kept.arrays[figure.y])
    canvas, axes = make_canvas([Place("", figure.y_label, "")], figure.x_label)
    by = figure.line_names[0] if len(figure.line_names) == 1 else None
    draw_distribution({name: shares[name] for name in ordered(shares)}, axes[0], by)
    if figure.log_y:
        axes[0].set_yscale("log")
    counts = sorted({len(curves) for curves in shares.values()})
    counts_text = " to ".join(map(str, counts[:1] + counts[1:][-1:]))
    add_legend(canvas, axes, f"mean over seeds (n = {counts_text})")
    return canvas
