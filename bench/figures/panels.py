"""A suite's figure: panels of measured and printed values, saved as SVG, PNG and PDF."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.analysis.room import Rooms
from bench.cells.cell import Cell
from bench.figures.arrays import draw_arrays, has_arrays
from bench.figures.crowd import named_lines
from bench.figures.curves import (
    MOST_BANDS,
    UNKNOWN,
    draw_history,
    draw_lines,
    draw_points,
    draw_printed,
    line_label,
    ordered,
)
from bench.figures.frames import (
    compares,
    has_points,
    line_column,
    measured,
    panel_column,
    panel_title,
)
from bench.figures.layout import (
    PUBLISHED,
    Place,
    add_legend,
    few_ticks,
    limit_percent,
    make_canvas,
    place_ticks,
    widen,
)
from bench.figures.printed import printed
from bench.figures.room import draw_room
from bench.figures.seeds import LEAST_SEEDS
from bench.figures.style import look
from bench.figures.words import make_plain
from bench.papers.reader import Paper
from bench.results.reader import Done
from bench.suites.figure import Figure, Quantity
from bench.suites.suite import Suite

METADATA: dict[str, dict[str, Any]] = {  # without dates and versions
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@dataclass(frozen=True)
class Panel:
    """What one panel shows."""

    place: Place
    value: Any  # of the settings that tell panels apart
    quantity: Quantity
    rows: pd.DataFrame  # measured
    points: pd.DataFrame  # printed


def draw_figure(
    figure: Figure,
    suite: Suite,
    cells: Sequence[Cell],
    done: Done,
    paper: Paper,
    *,
    rooms: Rooms | None = None,
    published: bool = True,
) -> Canvas | None:
    """Return the figure, or None if none of the results it needs is there.

    Lines have gaps where cells are missing that would measure something.

    Args:
        figure: what is drawn.
        suite: the suite, with the stand-ins of the scale.
        cells: all of the scale.
        done: the finished ones.
        paper: the suite's.
        rooms: of the scale: an accuracy has its floor and ceiling drawn.
        published: whether the cells follow the published protocol: printed values of their data
            set are then drawn among the measured ones, others in a panel of their own.
    """
    with look():
        if not figure.has_axes:
            return draw_arrays(figure, cells, done)
        frames = [measured(figure, quantity, cells, done, rooms) for quantity in figure.quantities]
        if not _is_drawn(frames[0], figure):
            return None
        panels = _panels(figure, frames, printed(figure, suite, paper), published)
        return _curves(figure, frames, panels)


def can_be_drawn(figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
    """Whether the results hold what the figure needs.

    A history of one line, where its cells have several to compare, shows nothing of the comparison.

    Args:
        figure: what the suite asks for.
        cells: all cells of the selection.
        done: the finished ones.
    """
    if not figure.has_axes:
        return has_arrays(figure, cells, done)
    return compares(figure, cells, done) and has_points(figure, cells, done)


def save(canvas: Canvas, stem: Path, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Write the figure, the same bytes for the same figure; return the files.

    Args:
        canvas: the figure.
        stem: path without ending.
        formats: endings: svg, png, pdf.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    with look():
        make_plain(canvas)
        canvas.draw_without_rendering()  # places everything once, not once a file
        canvas.set_layout_engine("none")
        files = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]  # names may have dots
        for kind, file in zip(formats, files, strict=True):
            canvas.savefig(file, metadata=METADATA[kind])
    return files


def _is_drawn(frame: pd.DataFrame, quantity: Quantity) -> bool:
    return not frame.empty and bool(frame[quantity.y].notna().any())


def _panels(
    figure: Figure, frames: Sequence[pd.DataFrame], points: pd.DataFrame, published: bool
) -> list[Panel]:
    """Return the panels: of each value of a setting or of each quantity, then the printed ones."""
    nothing = points[:0]
    panels = [
        Panel(Place(panel_title(figure, value), q.y_label, q.y_label), value, q, rows, nothing)
        for q, frame in zip([figure, *figure.beside], frames, strict=False)
        for value, rows in _split(figure, frame)
        if _is_drawn(rows, q)
    ]
    if points.empty:
        return panels
    placed = [replace(p, points=_beside(figure, p, points, published)) for p in panels]
    if any(len(panel.points) for panel in placed):
        return placed
    for value, rows in _split(figure, points):
        datasets = "" if "dataset" in figure.panel_names else " and ".join(ordered(rows["dataset"]))
        head = f"{PUBLISHED} ({datasets})" if datasets else PUBLISHED
        title = f"{head}\n{panel_title(figure, value)}".strip()
        place = Place(title, figure.y_label, title)
        panels.append(Panel(place, value, figure, frames[0][:0], rows))
    return panels


def _beside(figure: Figure, panel: Panel, points: pd.DataFrame, published: bool) -> pd.DataFrame:
    """Return the printed values that stand among the measured ones of a panel."""
    column, datasets = panel_column(figure), set(panel.rows["dataset"])  # None: of a toy
    alike = points["dataset"].isna() | (points["dataset"].isin(datasets) & published)
    alike |= datasets == {None}
    if column is not None:
        alike &= points[column] == panel.value
    return points[alike if panel.quantity is figure else alike & False]


def _split(figure: Figure, frame: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    """Return the rows of each panel with its value, in order."""
    column = panel_column(figure)
    if column is None or frame.empty:
        return [(None, frame)]
    return [(value, frame[frame[column] == value]) for value in ordered(frame[column])]


def _curves(figure: Figure, frames: Sequence[pd.DataFrame], panels: Sequence[Panel]) -> Canvas:
    """Draw every panel; `frames` are those of the figure's quantities."""
    places = [panel.place for panel in panels]
    canvas, axes = make_canvas(places, figure.x_label, one_x=figure.draw == "points")
    line, names = line_column(figure), _names(figure, panels)
    for panel, ax in zip(panels, axes, strict=True):
        _draw(figure, panel, ax, names)
    for panel, ax in zip(panels, axes, strict=True):
        if figure.log_y:
            ax.set_yscale("log")
        if panel.rows.empty:
            widen(ax, axes[0])
        if panel.quantity.y.endswith("top1"):
            limit_percent(ax)
    if figure.twin:
        axes = [*axes, _draw_twin(figure, figure.twin, frames[-1], axes[0], names)]
    order = [line_label(line, name) for name in names or [""]]
    told = named_lines(order)
    few = f"\n{len(told)} of {len(order)} lines are named" if len(told) < len(order) else ""
    add_legend(canvas, axes, _interval(figure, frames) + few, order=order)
    return canvas


def _names(figure: Figure, panels: Sequence[Panel]) -> list[Any] | None:
    """Return what the lines of all panels are called, in order; None without anything to say."""
    line = line_column(figure)
    if figure.twin or line is None:
        return [q.y_label for q in figure.quantities] if figure.twin else None
    if figure.series:
        return [series.label for series in figure.series]
    of_lines, points = (
        ordered(name for table in tables if not table.empty for name in table[line])
        for tables in ([p.rows for p in panels], [p.points for p in panels])
    )
    return [*of_lines, *(name for name in points if name not in of_lines and name != UNKNOWN)]


def _draw(figure: Figure, panel: Panel, ax: Axes, names: Sequence[Any] | None) -> None:
    """Draw the lines of one panel."""
    axis: dict[str, Any] = {"x": figure.x, "by": line_column(figure), "names": names}
    rows, y, ribbon = panel.rows, panel.quantity.y, panel.quantity.ribbon
    if figure.draw == "history":
        draw_history(rows, ax, y=y, ribbon=ribbon, **axis)
        draw_room(rows, ax, figure.x)
        few_ticks(ax, ordered(rows.loc[rows[y].notna(), figure.x]))
    elif figure.draw == "points":
        draw_points(rows, ax, y=y, **axis)
        draw_room(rows, ax, None)
        few_ticks(ax)
    else:
        if not rows.empty:
            draw_lines(rows, ax, y=y, reference=figure.reference, ribbon=ribbon, **axis)
        if not panel.points.empty:
            draw_printed(panel.points, ax, joined=rows.empty, **axis)
        draw_room(rows, ax, figure.x)
        at = {x for table in (rows, panel.points) if not table.empty for x in table[figure.x]}
        place_ticks(ax, ordered(at), log=figure.log_x)


def _draw_twin(
    figure: Figure, twin: Quantity, frame: pd.DataFrame, ax: Axes, names: Sequence[Any] | None
) -> Axes:
    """Draw the second quantity on an axis at the right."""
    right = ax.twinx()
    draw = draw_history if figure.draw == "history" else draw_lines
    draw(
        frame, right, x=figure.x, y=twin.y, by=line_column(figure), names=names, ribbon=twin.ribbon
    )
    right.set_ylabel(twin.y_label)
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    return right


def _interval(figure: Figure, frames: Sequence[pd.DataFrame]) -> str:
    """Return what the intervals of each quantity are, and of how many seeds."""
    quantities = [q for q, f in zip(figure.quantities, frames, strict=True) if _is_drawn(f, q)]
    drawn = [f for q, f in zip(figure.quantities, frames, strict=True) if _is_drawn(f, q)]
    notes = [_interval_of(figure, q, f) for q, f in zip(quantities, drawn, strict=True)]
    if len(set(notes)) == 1:
        return notes[0]
    return "\n".join(f"{q.y_label}: {text}" for q, text in zip(quantities, notes, strict=True))


def _interval_of(figure: Figure, quantity: Quantity, frame: pd.DataFrame) -> str:
    column = "point" if figure.draw == "points" else figure.x
    line, panel = line_column(figure), panel_column(figure)
    there = frame[frame[quantity.y].notna()]
    keys = [key for key in (column, line, panel) if key]
    counts = there.groupby(keys)["seed"].nunique()
    n = _span(counts)
    if quantity.ribbon:
        return f"mean ± standard deviation, means over seeds ({n})"
    if counts.max() == 1:
        return "one seed (n = 1)"
    if figure.draw == "history" and line and there[line].nunique() > MOST_BANDS:
        return f"means over seeds ({n})"
    if counts.max() < LEAST_SEEDS:
        return f"mean, and each seed by itself ({n})"
    few = f"; each seed by itself below {LEAST_SEEDS}" if 1 < counts.min() < LEAST_SEEDS else ""
    return f"mean and 95 % t-interval over seeds ({n}){few}"


def _span(counts: Iterable[int]) -> str:
    low, *_, high = sorted([*counts] * 2)
    return f"n = {low}" if low == high else f"n = {low} to {high}"
