"""A suite's figure: panels of measured and published values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.analysis.room import Rooms
from bench.cells.cell import Cell
from bench.figures import gains  # noqa: F401  # it is one of the kinds
from bench.figures.frames import (
    FAILED,
    compares,
    has_points,
    line_column,
    measured,
    notes_on,
    panel_column,
    panel_title,
    with_all_lines,
)
from bench.figures.kinds import KINDS, UNKNOWN, Curves, OfCells, line_label
from bench.figures.layout import (
    PUBLISHED,
    PanelPlace,
    add_legend,
    add_notes,
    few_ticks,
    limit_percent,
    make_canvas,
    place_ticks,
    seeds_text,
    sources_text,
    widen,
)
from bench.figures.marks import LEAST_SEEDS, draw_room, named_lines, ordered
from bench.figures.printed import SOURCE, by_others, printed
from bench.figures.style import look
from bench.papers.reader import Paper
from bench.results.fitness import Failed
from bench.results.reader import Done
from bench.suites.figure import Figure, Quantity
from bench.suites.suite import Suite


@dataclass(frozen=True)
class Panel:
    """Content of one panel."""

    place: PanelPlace
    value: Any  # of the settings that tell panels apart
    quantity: Quantity
    rows: pd.DataFrame  # measured
    points: pd.DataFrame  # printed, and other projects' numbers of the same rows

    @property
    def printed(self) -> pd.DataFrame:
        """The published points."""
        return self.points if SOURCE not in self.points else self.points[self.points[SOURCE].isna()]

    @property
    def others(self) -> pd.DataFrame:
        """The points of other projects."""
        return self.points.drop(self.printed.index)


def draw_figure(  # noqa: PLR0913  # what is drawn, from what, and what stands beside it
    figure: Figure,
    suite: Suite,
    cells: Sequence[Cell],
    done: Done,
    paper: Paper,
    *,
    rooms: Rooms | None = None,
    published: bool = True,
    failed: Failed = (),
) -> Canvas | None:
    """Return the figure, or None if none of its results exist.

    Lines have gaps at missing cells. Crosses at the bottom mark failed cells.

    Args:
        figure: definition of the figure.
        suite: the suite, with the replaced settings of the scale.
        cells: all cells of the scale.
        done: the finished ones.
        paper: the suite's paper.
        rooms: headroom of the scale. Figures of accuracies show its two ends.
        published: whether the cells follow the published protocol. If so, published values on their
            data set are drawn in the same panel, otherwise in a separate one.
        failed: the failed cells.
    """
    figure = with_all_lines(figure, cells or [cell for cell, _ in done])
    with look():
        kind = KINDS[figure.draw]
        if issubclass(kind, OfCells):
            canvas = kind.canvas(figure, cells, done)
        else:
            frames = [measured(figure, q, cells, done, rooms, failed) for q in figure.quantities]
            if not _is_drawn(frames[0], figure):
                return None
            points = pd.concat(
                [printed(figure, suite, paper), by_others(figure, suite, paper)], ignore_index=True
            )
            canvas = _curves(figure, frames, _panels(figure, frames, points, published))
        if canvas is not None:
            add_notes(canvas, notes_on(figure, cells, done, failed))
        return canvas


def can_be_drawn(figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
    """Return whether the results are sufficient for the figure.

    A history with one line is not sufficient if the planned cells have several lines to compare.

    Args:
        figure: definition of the figure.
        cells: all cells of the selection.
        done: the finished ones.
    """
    kind = KINDS[figure.draw]
    if issubclass(kind, OfCells):
        return kind.is_drawable(figure, cells, done)
    return compares(figure, cells, done) and has_points(figure, cells, done)


def _is_drawn(frame: pd.DataFrame, quantity: Quantity) -> bool:
    return not frame.empty and bool(frame[quantity.y].notna().any())


def _panels(
    figure: Figure, frames: Sequence[pd.DataFrame], points: pd.DataFrame, published: bool
) -> list[Panel]:
    """Return the panels: of each value of a setting or of each quantity, then the published
    ones."""
    nothing = points[:0]
    panels = [
        Panel(PanelPlace(panel_title(figure, value), q.y_label, q.y_label), value, q, rows, nothing)
        for q, frame in zip([figure, *figure.beside], frames, strict=False)
        for value, rows in _split(figure, frame)
        if _is_drawn(rows, q) or (FAILED in rows and rows[FAILED].notna().any())
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
        place = PanelPlace(title, figure.y_label, title)
        panels.append(Panel(place, value, figure, frames[0][:0], rows))
    return panels


def _beside(figure: Figure, panel: Panel, points: pd.DataFrame, published: bool) -> pd.DataFrame:
    """Return the published values that stand among the measured ones of a panel."""
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
    line, names = line_column(figure), _names(figure, panels)
    canvas, axes = make_canvas(places, figure.x_label, one_x=figure.kind.x == "metric")
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
    few = f"\nthe legend names {len(told)} of {len(order)} lines" if len(told) < len(order) else ""
    numbers = [(row["dataset"], row[SOURCE]) for p in panels for row in p.others.to_dict("records")]
    title = _interval(figure, frames) + few + sources_text(numbers, canvas.get_figwidth())
    add_legend(canvas, axes, title, order=order)
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
    """Draw the lines of one panel, floor and ceiling, and the ticks across."""
    drawn = _drawn(figure, panel.quantity, names, reference=figure.reference)
    if not panel.rows.empty:
        drawn.draw(panel.rows, ax)
    if not panel.printed.empty:
        drawn.draw_printed(panel.printed, ax, joined=panel.rows.empty)
    if not panel.others.empty:
        drawn.draw_others(panel.others, ax)
    draw_room(panel.rows, ax, None if figure.kind.x == "metric" else figure.x)
    tables = (table for table in (panel.rows, panel.points) if not table.empty)
    at = ordered(x for table in tables for x in table[figure.x])
    if figure.kind.x == "setting":
        place_ticks(ax, at, log=figure.log_x)
    else:
        few_ticks(ax, at if figure.kind.x == "record" else None)


def _drawn(
    figure: Figure, quantity: Quantity, names: Sequence[Any] | None, **reference: str | None
) -> Curves:
    """Return a quantity of the figure as its kind draws it."""
    kind: Any = KINDS[figure.draw]
    columns = {"x": figure.x, "y": quantity.y, "ribbon": quantity.ribbon, **reference}
    drawn: Curves = kind(by=line_column(figure), names=names, **columns)
    return drawn


def _draw_twin(
    figure: Figure, twin: Quantity, frame: pd.DataFrame, ax: Axes, names: Sequence[Any] | None
) -> Axes:
    """Draw the second quantity on an axis at the right."""
    right = _drawn(figure, twin, names).draw(frame, ax.twinx())
    right.set_ylabel(twin.y_label)
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    return right


def _interval(figure: Figure, frames: Sequence[pd.DataFrame]) -> str:
    """Return what the intervals of each quantity are, and of how many seeds."""
    told = {
        q.y_label: _interval_of(figure, q, frame)
        for q, frame in zip(figure.quantities, frames, strict=True)
        if _is_drawn(frame, q)
    }
    if len({*told.values()}) == 1:
        return next(iter(told.values()))
    return "\n".join(f"{label}: {text}" for label, text in told.items())


def _interval_of(figure: Figure, quantity: Quantity, frame: pd.DataFrame) -> str:
    column = "point" if figure.kind.x == "metric" else figure.x
    line = line_column(figure)
    there = frame[frame[quantity.y].notna()]
    keys = [key for key in (column, line, panel_column(figure)) if key]
    counts = there.groupby(keys)["seed"].nunique()
    n = seeds_text(counts)
    if quantity.ribbon:
        return f"mean ± standard deviation, means over seeds ({n})"
    if counts.max() == 1:
        return "one seed (n = 1)"
    most = _drawn(figure, quantity, None).most_intervals
    if line and there[line].nunique() > most:
        return f"means over seeds ({n})"
    if counts.max() < LEAST_SEEDS:
        return f"mean over seeds, and single seeds ({n})"
    few = f"; single seeds if fewer than {LEAST_SEEDS}" if 1 < counts.min() < LEAST_SEEDS else ""
    return f"mean and 95 % t-interval over seeds ({n}){few}"
