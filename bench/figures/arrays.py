"""Figures of arrays that cells keep: points in a plane, distributions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from bench.cells.cell import Cell
from bench.figures.curves import draw_distribution, draw_scatter, ordered
from bench.figures.frames import chosen_by, label_of, panel_title
from bench.figures.layout import Place, add_legend, make_canvas
from bench.results.reader import Done
from bench.suites.figure import Figure

KEY_SCALE = 3  # of a scatter's points in its legend


def draw_arrays(figure: Figure, cells: Sequence[Cell], done: Done) -> Canvas | None:
    """Return a scatter or a distribution; None if no cell has the arrays."""
    own = _with_arrays(figure, cells, done)
    if not own:
        return None
    return _scatter(figure, own) if figure.draw == "scatter" else _distribution(figure, own)


def has_arrays(figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
    """Whether a cell that the figure draws has its arrays."""
    return bool(_with_arrays(figure, cells, done))


def _with_arrays(figure: Figure, cells: Sequence[Cell], done: Done) -> Done:
    wanted = {figure.y, figure.x} if figure.draw == "scatter" else {figure.y}
    within = chosen_by(figure, cells or [cell for cell, _ in done])
    return [(cell, kept) for cell, kept in done if within(cell) and wanted <= set(kept.arrays)]


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
    counts = sorted({len(found) for found in shares.values()})
    told = " to ".join(map(str, counts[:1] + counts[1:][-1:]))
    add_legend(canvas, axes, f"mean over seeds (n = {told})")
    return canvas
