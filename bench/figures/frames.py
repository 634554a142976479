"""Tables of finished cells for figures: selection of cells, lines and panels."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench.analysis.doubts import MARK
from bench.analysis.room import Room, Rooms
from bench.cells.cell import Cell
from bench.cells.groups import settings_beside
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
    """Return a predicate that selects the cells of a figure.

    Args:
        choice: selection in the figure's definition.
        cells: all cells of the scale, finished or not; they define the largest value of a setting.
    """

    def fits(cell: Cell) -> bool:
        return all(is_allowed(allowed, _of(cell, k)) for k, allowed in choice.where.items())

    fitting = [cell for cell in cells if fits(cell)] if choice.largest else []
    largest = {name: _largest(_of(cell, name) for cell in fitting) for name in choice.largest}
    return lambda cell: fits(cell) and all(_of(cell, k) == v for k, v in largest.items())


def is_allowed(allowed: Any, value: Any) -> bool:
    """Return whether a value equals the allowed value, or is one of several."""
    return value in allowed if isinstance(allowed, list) else bool(value == allowed)


def _largest(values: Iterable[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)


def _of(cell: Cell, setting: str) -> Any:
    return getattr(cell, setting, None)


def with_all_lines(figure: Figure, cells: Sequence[Cell]) -> Figure:
    """Return the figure with lines for the settings that it does not name.

    Means are then over seeds alone. Scatters and series get panels; a twin axis becomes a panel.

    Args:
        figure: what the suite asks for.
        cells: all cells of the scale, done or not.
    """
    if figure.kind.x in ("metric", "either"):  # their points are of cells alike
        return figure
    of_lines = (_unnamed(figure, line, cells) for line in _lines(figure, cells))
    names = list(dict.fromkeys(name for names in of_lines for name in names))
    if not names:
        return figure
    if figure.series or figure.draw == "scatter":
        return figure.model_copy(update={"panels": [*figure.panel_names, *names]})
    beside = [figure.twin] if figure.twin else figure.beside
    by = [*figure.line_names, *names]
    return figure.model_copy(update={"by": by, "twin": None, "beside": beside})


def _unnamed(figure: Figure, line: "_Line", cells: Sequence[Cell]) -> list[str]:
    """Return the settings that differ among the cells of a point of a line."""
    shown = [cell for cell in cells if line.has(cell)]
    given = figure.line_names + figure.panel_names
    if figure.kind.x == "setting":
        ys = {quantity.y for quantity in figure.quantities}
        shown = [c for c in shown if _of(c, line.x) is not None and ys & {*c.metrics}]
        given = [line.x, *given]
    return settings_beside(shown, given)


def line_column(figure: Figure) -> str | None:
    """Return the name of the column that distinguishes lines."""
    if figure.twin:
        return QUANTITY
    return SERIES if figure.series else (", ".join(figure.line_names) or None)


def panel_column(figure: Figure) -> str | None:
    """Return the name of the column that distinguishes panels."""
    return ", ".join(figure.panel_names) or None


def panel_title(figure: Figure, value: Any) -> str:
    """Return the title of a panel; empty without panels."""
    if len(figure.panel_names) == 1:
        return f"{figure.panel_names[0]} = {value_text(value)}"
    return str(value) if figure.panel_names else ""


def label_of(names: Sequence[str], values: Row) -> Any:
    """Return the label of a line or panel: the value of a setting, or several with names.

    If there are several settings, those that do not apply are omitted.
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
    """Return one row per cell, or per history record, that has the quantity.

    Columns: x and y of the figure by name, the columns that distinguish lines and panels,
    `reference`, the quantity's `ribbon`, `seed`, `dataset` and ROOM_COLUMNS. For points, `point` is
    equal for cells that differ only in the seed. For lines, each unfinished cell has a row without
    y, with the reason in FAILED if it failed.

    Args:
        figure: definition of the figure.
        quantity: the figure's own quantity or an additional one.
        cells: all cells of the scale.
        done: the finished cells.
        rooms: headroom of the accuracies at the scale; None if there is none.
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
    """Return whether `measured` has a number, reading as few results as possible.

    Args:
        figure: definition of the figure.
        cells: all cells of the scale.
        done: the finished cells.
    """
    cells = cells or [cell for cell, _ in done]
    return any(
        row[figure.x] is not None and row[figure.y] == row[figure.y]  # no nan
        for line in _lines(figure, cells)
        for row in _measured_rows(figure, figure, line, done, Rooms())
    )


def notes_on(figure: Figure, cells: Sequence[Cell], done: Done, failed: Failed) -> list[str]:
    """Return one line per reason why cells of a figure are not shown or unreliable.

    Args:
        figure: definition of the figure.
        cells: all cells of the scale.
        done: the finished cells.
        failed: the failed cells.
    """
    within = chosen_by(figure, cells or [cell for cell, _ in done])
    reasons = Counter(reason for cell, reason in failed if within(cell))
    drawn = [(cell, kept.unfit) for cell, kept in done if within(cell)]
    partly = {cell.but_seed for cell, _ in failed}
    lines = []
    if reasons:
        of = reasons.total() + len(drawn)
        survivors = any(cell.but_seed in partly for cell, _ in drawn)
        means = "; means are over the remaining cells" if survivors else ""
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
    """Return the columns of a cell's row for `draw_room`; empty without headroom.

    Args:
        metric: the drawn metric.
        cell: the cell of the row.
        rooms: headroom of the accuracies at the scale.
        watched: whether the metric comes from the history, whose kNN may use another protocol.
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
