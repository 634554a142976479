"""Finished cells as the table that a figure draws: which cells, lines and panels."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench.analysis.doubts import MARK
from bench.analysis.room import Room, Rooms
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.figures.marks import ROOM_COLUMNS
from bench.results.fitness import Failed, failed_text
from bench.results.reader import Done
from bench.suites.figure import DrawnCells, Figure, Quantity, Series
from bench.text import counted, value_text

SERIES = "series"  # the column that tells apart lines which no setting tells apart
FAILED = "failed"  # the column that says why a cell failed
CROSS = "\N{MULTIPLICATION SIGN}"  # where it would be
QUANTITY = "quantity"  # the column that tells apart the two of a figure with a twin axis
NONE = "-"  # a setting that has no meaning for a cell
Row = dict[str, Any]


def chosen_by(choice: DrawnCells, cells: Sequence[Cell]) -> Callable[[Cell], bool]:
    """Return what says whether a cell is one that a figure draws.

    Args:
        choice: what the figure says.
        cells: all cells of the scale, done or not: the largest value of a setting is theirs.
    """

    def fits(cell: Cell) -> bool:
        return all(is_allowed(allowed, _of(cell, k)) for k, allowed in choice.where.items())

    fitting = [cell for cell in cells if fits(cell)] if choice.largest else []
    largest = {name: _largest(_of(cell, name) for cell in fitting) for name in choice.largest}
    return lambda cell: fits(cell) and all(_of(cell, k) == v for k, v in largest.items())


def is_allowed(allowed: Any, value: Any) -> bool:
    """Whether a value is the one allowed, or one of them."""
    return value in allowed if isinstance(allowed, list) else bool(value == allowed)


def _largest(values: Iterable[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)


def _of(cell: Cell, setting: str) -> Any:
    return getattr(cell, setting, None)


def line_column(figure: Figure) -> str | None:
    """Return the name of the column that tells lines apart."""
    if figure.twin:
        return QUANTITY
    return SERIES if figure.series else (", ".join(figure.line_names) or None)


def panel_column(figure: Figure) -> str | None:
    """Return the name of the column that tells panels apart."""
    return ", ".join(figure.panel_names) or None


def panel_title(figure: Figure, value: Any) -> str:
    """Return the title of the panel of a value; empty without panels."""
    if len(figure.panel_names) == 1:
        return f"{figure.panel_names[0]} = {value_text(value)}"
    return str(value) if figure.panel_names else ""


def label_of(names: Sequence[str], values: Row) -> Any:
    """Return what names a line or a panel: a setting's value, or several with the numbers' names.

    Settings that have no meaning are left out where there are several.
    """
    if len(names) == 1:
        value = values.get(names[0])
        return NONE if value is None or value != value else value
    there = [(name, values.get(name)) for name in names if values.get(name) is not None]
    parts = [v if isinstance(v, str) else f"{name} = {value_text(v)}" for name, v in there]
    return ", ".join(parts) or NONE


def measured(
    figure: Figure,
    quantity: Quantity,
    cells: Sequence[Cell],
    done: Done,
    rooms: Rooms | None = None,
    failed: Failed = (),
) -> pd.DataFrame:
    """Return a row per cell, or per record of its history, that has the quantity.

    Columns: x and y of the figure by their names, what tells lines and panels apart, `reference`,
    the quantity's `ribbon`, `seed`, `dataset`, and for points `point`, equal for cells that differ
    in the seed alone; ROOM_COLUMNS. Lines have a row without y for each planned cell that is not
    done, with the reason in FAILED if it failed.

    Args:
        figure: what is drawn.
        quantity: its own, or one beside.
        cells: all cells of the scale.
        done: the finished ones.
        rooms: of the scale; None: it has none.
        failed: the cells that failed.
    """
    cells = cells or [cell for cell, _ in done]
    known, reasons = {cell.id for cell, _ in done}, {cell.id: reason for cell, reason in failed}
    rows: list[Row] = []
    for line in _lines(figure, cells):
        line_rows = list(_measured_rows(figure, quantity, line, done, rooms or Rooms()))
        planned = (cell for cell in cells if quantity.y in cell.metrics and line.has(cell))
        missing = [cell for cell in planned if cell.id not in known]
        if figure.kind.x == "setting" and (line_rows or any(c.id in reasons for c in missing)):
            line_rows += [
                _row(figure, quantity, line, cell, {}) | {FAILED: reasons.get(cell.id)}
                for cell in missing
            ]
        rows += [row for row in line_rows if row[figure.x] is not None]
    return pd.DataFrame(rows)


def has_points(figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
    """Return whether `measured` holds a number; reads no more results than it takes to know.

    Args:
        figure: what is drawn.
        cells: all cells of the scale.
        done: the finished ones.
    """
    cells = cells or [cell for cell, _ in done]
    return any(
        row[figure.x] is not None and row[figure.y] == row[figure.y]  # no nan
        for line in _lines(figure, cells)
        for row in _measured_rows(figure, figure, line, done, Rooms())
    )


def notes_on(figure: Figure, cells: Sequence[Cell], done: Done, failed: Failed) -> list[str]:
    """Return why cells of a figure are not shown, or not to be believed, in a line each.

    Args:
        figure: what is drawn.
        cells: all cells of the scale.
        done: the finished ones.
        failed: those that failed.
    """
    within = chosen_by(figure, cells or [cell for cell, _ in done])
    reasons = Counter(reason for cell, reason in failed if within(cell))
    drawn = [(cell, kept.unfit) for cell, kept in done if within(cell)]
    partly = {cell.but_seed for cell, _ in failed}
    lines = []
    if reasons:
        of = reasons.total() + len(drawn)
        survivors = any(cell.but_seed in partly for cell, _ in drawn)
        means = "; a mean there is over the rest" if survivors else ""
        mark = f"{CROSS} " if figure.kind.x == "setting" else ""
        lines = [f"{mark}cells failed: {failed_text(reasons, of)}{means}"]
    others = Counter(why for cell, why in drawn if why and cell.but_seed not in partly)
    return lines + [f"{MARK} {why}, in {counted(n, 'cell')}" for why, n in others.items()]


def compares(figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
    """Return whether finished cells of a history have two lines in a panel, if any cells have."""
    if figure.kind.x != "record" or not figure.by:
        return True
    within = chosen_by(figure, cells)

    def most(found: Iterable[Cell]) -> int:
        lines = {
            tuple(tuple(_of(cell, k) for k in names) for names in names_of)
            for cell in found
            if within(cell)
        }
        return max(Counter(panel for panel, _ in lines).values(), default=0)

    names_of = figure.panel_names, figure.line_names
    return most(cells) < 2 or most(cell for cell, _ in done) > 1


@dataclass(frozen=True)
class _Line:
    """One series of a figure, or all of it."""

    x: str
    label: str | None
    has: Callable[[Cell], bool]


def _lines(figure: Figure, cells: Sequence[Cell]) -> list[_Line]:
    within = chosen_by(figure, cells)
    if not figure.series:
        return [_Line(figure.x, None, within)]
    chosen = [cell for cell in cells if within(cell)]
    ids = {cell.id for cell in chosen}

    def both(series: Series) -> Callable[[Cell], bool]:
        picks = chosen_by(series, chosen)
        return lambda cell: cell.id in ids and picks(cell)

    return [_Line(s.x or figure.x, s.label, both(s)) for s in figure.series]


def _measured_rows(
    figure: Figure, quantity: Quantity, line: _Line, done: Done, rooms: Rooms
) -> Iterator[Row]:
    """Yield the rows of a line that have the quantity."""
    watched = figure.kind.x == "record"
    for cell, kept in done:
        if line.has(cell):
            room = room_of_row(quantity.y, cell, rooms, watched=watched)
            for record in kept.history if watched else [kept.metrics]:
                row = _row(figure, quantity, line, cell, record) | room
                if row[quantity.y] is not None:
                    yield row


def room_of_row(metric: str, cell: Cell, rooms: Rooms, *, watched: bool) -> dict[str, Any]:
    """Return the columns of a cell's row that `draw_room` reads; none if there is no room.

    Args:
        metric: what is drawn.
        cell: whose row it is.
        rooms: of the scale.
        watched: whether the metric is of the history, whose kNN may have another protocol.
    """
    if watched and not (isinstance(cell, Pretrain) and cell.is_watched_as_evaluated):
        return {}
    room: Room | None = rooms.of_cell(metric, cell)
    return (
        {}
        if room is None
        else dict(zip(ROOM_COLUMNS, (room.floor, room.floor_is, room.ceiling), strict=True))
    )


def _row(figure: Figure, quantity: Quantity, line: _Line, cell: Cell, record: Row) -> Row:
    """Return one row; a metric never hides a setting."""

    def value(name: str) -> Any:
        is_setting = name in type(cell).model_fields or name in cell.parameters
        return _of(cell, name) if is_setting else record.get(name)

    row: Row = {figure.x: value(line.x), quantity.y: value(quantity.y), "seed": cell.seed}
    row["dataset"] = _of(cell, "dataset")
    row |= {name: value(name) for name in (quantity.ribbon, figure.reference) if name}
    if (column := line_column(figure)) is not None:
        values = {name: value(name) for name in figure.line_names}
        name = quantity.y_label if figure.twin else line.label
        row[column] = name or label_of(figure.line_names, values)
    if (column := panel_column(figure)) is not None:
        values = {name: value(name) for name in figure.panel_names}
        row[column] = label_of(figure.panel_names, values)
    if figure.kind.x == "metric":
        row["point"] = json.dumps(cell.settings | {"seed": 0})
    return row
