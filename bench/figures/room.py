"""The floor and the ceiling of an accuracy, as thin lines behind what was measured."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.room import Room, Rooms
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.figures.style import GREY

ROOM_COLUMNS = ("floor", "floor is", "ceiling")
CEILING_IS = "trained with labels"
DOTTED, DASH_DOTTED = (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5))


def room_of_row(metric: str, cell: Cell, rooms: Rooms, *, watched: bool) -> dict[str, Any]:
    """Return the columns of a cell's row that `draw_room` reads; none where there is no room.

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


def draw_room(frame: pd.DataFrame, ax: Axes, x: str | None) -> Axes:
    """Draw the floor dotted and the ceiling dash-dotted, in grey.

    Where they differ they follow x, if that alone moves them; else they are the room that all cells
    have: from the highest floor to the lowest ceiling.

    Args:
        frame: a row a cell, with the columns x and, where there is room, ROOM_COLUMNS.
        ax: where to draw.
        x: the setting along the axis; None: a metric is.
    """
    if "floor" not in frame:
        return ax
    known = frame[frame["floor"].notna()]
    if known.empty:
        return ax
    highest = known.sort_values("floor").iloc[-1]
    for column, name, chosen, dash in (
        ("floor", highest["floor is"], highest["floor"], DOTTED),
        ("ceiling", CEILING_IS, known["ceiling"].min(), DASH_DOTTED),
    ):
        style: dict[str, Any] = {"color": GREY, "ls": dash, "lw": 0.8, "zorder": 1}
        several = known[column].nunique() > 1
        if several and x is not None and known.groupby(x)[column].nunique().max() == 1:
            along = known.groupby(x)[column].first()
            ax.plot(along.index, along, label=f"{column}: {name}", **style)
        else:
            of = {"floor": "highest ", "ceiling": "lowest "}[column] if several else ""
            ax.axhline(chosen, label=f"{of}{column}: {name}", **style)
    return ax
