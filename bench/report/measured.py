"""Tables of what was measured, at any scale."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from bench.analysis.compare import gain_bases
from bench.analysis.contrasts import difference
from bench.analysis.doubts import MARK, doubts_of
from bench.analysis.measured import Measured
from bench.analysis.room import Room, Rooms, room_lines
from bench.analysis.statistics import Interval, t_interval
from bench.cells.cell import Cell
from bench.cells.groups import telling_settings
from bench.report.tables import (
    Entry,
    Table,
    column_head,
    gain_note,
    gain_text,
    setting_entry,
    slug,
)
from bench.results.reader import Done
from bench.suites.suite import MeasuredTable, Suite

NO_ROOM = "raw pixels, untrained network and network with labels: not computed yet"
MOST_COLUMNS = 8  # of a table that no suite lays out
LEAST_SEEDS = 3  # of an interval; of fewer the lowest and the highest are reported
Points = dict[tuple[Any, ...], list[tuple[str, float]]]
"""The id and the number of each cell, by the values of the rows' settings and the column's."""


def measured_records(
    asked: MeasuredTable, done: Done, rooms: Rooms | None = None, scale: str = ""
) -> list[dict[str, Any]]:
    """Return the entries of a table as numbers: means over n seeds with their 95 % t-intervals.

    `row` and `column` are settings with their values; `column` is empty where a table has one.
    `room` is that of the entry's cells: null where it is not known or they have several.

    Args:
        asked: what the suite asks for.
        done: the finished cells.
        rooms: floor and ceiling of accuracies; None: not known.
        scale: of the cells; it says how the spread of gains is estimated.
    """
    cells, gains = {cell.id: cell for cell, _ in done}, _gains(asked, done, scale)
    names = [*asked.rows, *([asked.columns] if asked.columns else [])]
    doubts, records = _doubts(asked, done), []
    for key, runs in _points(asked, done).items():
        settings = dict(zip(names, key, strict=False))
        column = {asked.columns: settings.pop(asked.columns)} if asked.columns else {}
        interval = t_interval([value for _, value in runs])
        numbers: dict[str, Any] = {
            "mean": interval.mean,
            "low": interval.low,
            "high": interval.high,
            "n": interval.n,
        }
        why = list(dict.fromkeys(doubts[name] for name, _ in runs if name in doubts))
        gain, ids = gains.get(key, (None, []))
        numbers["gain"] = (
            {"effect": gain.mean, "low": gain.low, "high": gain.high, "cells": ids}
            if gain
            else None
        )
        head = {"table": asked.title, "metric": asked.metric, "row": settings, "column": column}
        shown_rooms = rooms.of(asked.metric, [cells[name] for name, _ in runs]) if rooms else []
        room = shown_rooms[0].record() if len(shown_rooms) == 1 else None
        records.append(head | numbers | {"room": room, "doubts": why})
    return records


Gains = dict[tuple[Any, ...], tuple[Interval, list[str]]]
"""How far entries lie above others, and the ids of the cells of both, by the entries' keys."""


def _gains(asked: MeasuredTable, done: Done, scale: str) -> Gains:
    """Return how far entries lie above those of the table's baseline."""
    values = _points(asked, done)
    if asked.baseline is None:
        return {}
    names, keys = [*asked.rows, asked.columns or "metric"], list(values)
    points = [dict(zip(names, key, strict=True)) for key in keys]
    cells = {cell.id: cell for cell, _ in done}
    measured, gains = Measured(scale, list(cells.values()), done), Gains()
    for key, base in zip(keys, gain_bases(points, asked.baseline), strict=True):
        if base is not None:
            sides = [[cells[name] for name, _ in values[k]] for k in (key, keys[base])]
            if estimate := difference(asked.metric, [(sides[0], sides[1])], measured):
                gains[key] = estimate.interval(), [cell.id for side in sides for cell in side]
    return gains


def _points(asked: MeasuredTable, done: Done) -> Points:
    points: Points = {}
    for cell, finished in done:
        known = cell.settings
        fits = all(known.get(name) == value for name, value in asked.where.items())
        if fits and asked.metric in finished.metrics:
            column = known.get(asked.columns) if asked.columns else asked.metric
            key = (*(known.get(name) for name in asked.rows), column)
            points.setdefault(key, []).append((cell.id, finished.metrics[asked.metric]))
    return points


def _doubts(asked: MeasuredTable, done: Done) -> dict[str, str]:
    """Return why the numbers of cells mean nothing, by the cells' ids."""
    doubts = ((cell.id, doubts_of(cell, finished).get(asked.metric)) for cell, finished in done)
    return {name: why for name, why in doubts if why is not None}


def measured_table(
    asked: MeasuredTable, done: Done, rooms: Rooms | None = None, scale: str = ""
) -> Table | None:
    """Return means over seeds with half their 95 % t-intervals; None without any result.

    Args:
        asked: the metric and its layout.
        done: the finished cells.
        rooms: of the scale's accuracies, printed below the table; None: it has none.
        scale: of the cells; it says how the spread of gains is estimated.
    """
    values_of = _points(asked, done)
    if not values_of:
        return None
    doubts, gains = _doubts(asked, done), _gains(asked, done, scale)
    entries = {
        key: _entry(runs, asked.decimals, gains.get(key, (None,))[0], doubts)
        for key, runs in values_of.items()
    }
    columns = sorted({key[-1] for key in values_of}, key=_order)
    heads = [column_head(asked.columns, c) if asked.columns else str(c) for c in columns]
    keys = sorted({key[:-1] for key in values_of}, key=lambda key: [_order(v) for v in key])
    rows = [
        [*map(setting_entry, key), *(entries.get((*key, c), Entry("")) for c in columns)]
        for key in keys
    ]
    counts = {len(runs) for runs in values_of.values()}
    seeds = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
    title = f"{asked.title} ({_spread_words(max(counts))}n = {seeds})"
    notes = gain_note(asked.baseline)
    notes += _notes(asked.metric, list(values_of.values()), done, rooms) if rooms else []
    return Table(slug(asked.title), title, [*asked.rows, *heads], rows, notes)


def _notes(
    metric: str, points: Sequence[Sequence[tuple[str, float]]], done: Done, rooms: Rooms
) -> list[str]:
    """Return the rooms of all points, and how many points do not lie above their floor."""
    known = {cell.id: cell for cell, _ in done}
    cells = [[known[name] for name, _ in runs] for runs in points]
    every = [cell for runs in cells for cell in runs]
    if rooms.are_missing(metric, every):
        return [NO_ROOM]
    lines = room_lines(rooms.of(metric, every))
    low = sum(map(_reaches_floor, points, (rooms.of(metric, runs) for runs in cells)))
    note = f"interval at or below the floor: {low} of {len(points)} entries"
    return [*lines, *([note] if low else [])]


def _reaches_floor(runs: Sequence[tuple[str, float]], rooms: Sequence[Room]) -> bool:
    interval = t_interval([value for _, value in runs])
    low = interval.mean if interval.low is None else interval.low
    return bool(rooms) and low <= max(room.floor for room in rooms)


def _spread_words(most: int) -> str:
    """Return what stands behind the means of a table with so many seeds at most."""
    if most >= LEAST_SEEDS:
        return "mean ± 95 % interval, "
    return "mean [lowest to highest], " if most > 1 else ""


def _spread(values: Sequence[float], width: float, decimals: int) -> str:
    """Return half the interval of a width; below LEAST_SEEDS seeds from lowest to highest."""
    if len(values) >= LEAST_SEEDS:
        return f" ± {width / 2:.{decimals}f}"
    return f" [{min(values):.{decimals}f} to {max(values):.{decimals}f}]"


def _order(value: Any) -> tuple[int, Any]:
    """Order null first, then numbers, then words."""
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, int | float) else (2, str(value))


def _entry(
    runs: Sequence[tuple[str, float]],
    decimals: int,
    gain: Interval | None,
    doubts: Collection[str],
) -> Entry:
    interval = t_interval([value for _, value in runs])
    text = f"{interval.mean:.{decimals}f}"
    if interval.low is not None and interval.high is not None:
        text += _spread([value for _, value in runs], interval.high - interval.low, decimals)
    text += gain_text(gain, decimals)
    text += f" {MARK}" if any(name in doubts for name, _ in runs) else ""
    return Entry(text, number=interval.mean, cells=tuple(name for name, _ in runs))


def shown_tables(suite: Suite, cells: Sequence[Cell]) -> list[MeasuredTable]:
    """Return the tables that show what a suite measured.

    A suite without tables gets one for each metric that its comparisons, checks or figures read,
    else for each metric of its cells; rows are the settings that tell the cells apart.

    Args:
        suite: as the scale shows it (`with_stand_ins`).
        cells: of the suite, baselines left out.
    """
    return suite.tables or made_tables(suite, cells)


def made_tables(suite: Suite, cells: Sequence[Cell]) -> list[MeasuredTable]:
    """Return a table for each metric that the suite reads of these cells."""
    layouts = {c.metric: c.layout.columns for c in reversed(suite.compare) if c.layout}
    of_cells = dict.fromkeys(name for cell in cells for name in type(cell).metrics)
    asked = [name for name in dict.fromkeys(_metrics_read(suite)) if name in of_cells]
    tables = []
    for metric in asked or of_cells:
        with_metric = [cell for cell in cells if metric in type(cell).metrics]
        rows = telling_settings(with_metric)
        column = layouts.get(metric) or _column(rows, with_metric)
        if column not in rows or len(rows) == 1:
            column = None
        # A single point has its seeds alone to tell its cells apart: any setting names its row.
        rows = [name for name in rows if name != column] or [next(iter(with_metric[0].settings))]
        tables.append(MeasuredTable(title=metric, metric=metric, rows=rows, columns=column))
    return tables


def _column(rows: Sequence[str], cells: Sequence[Cell]) -> str | None:
    """Return the last of the settings that has few enough values for columns."""
    few = [n for n in rows[1:] if len({c.settings.get(n) for c in cells}) <= MOST_COLUMNS]
    return few[-1] if few else None


def _metrics_read(suite: Suite) -> Iterator[str]:
    yield from (comparison.metric for comparison in suite.compare)
    yield from (check.metric for checks in suite.claims.values() for check in checks)
    yield from (figure.y for figure in suite.figures)
