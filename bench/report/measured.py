"""Tables of measured values at any scale."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from bench.analysis.compare import gain_bases
from bench.analysis.contrasts import difference
from bench.analysis.doubts import MARK, doubts_of
from bench.analysis.measured import Measured
from bench.analysis.room import Room, Rooms, raw_inputs, room_lines
from bench.analysis.statistics import Interval, t_interval
from bench.cells.cell import Cell
from bench.cells.groups import settings_beside, telling_settings
from bench.report.tables import (
    Entry,
    Table,
    column_head,
    gain_note,
    gain_text,
    mean_text,
    setting_entry,
    slug,
)
from bench.results.fitness import Failed, failed_text
from bench.results.reader import Done, Finished
from bench.suites.metric_words import metric_words
from bench.suites.suite import MeasuredTable, Suite
from bench.text import value_text

NO_ROOM = "not all baselines ({}, untrained network, training with labels) are computed yet"
SOME_ROOM = "some of these baselines are not computed yet for other entries"
MOST_COLUMNS = 8  # of a table that no suite lays out
LEAST_COLUMNS = 3  # of a setting whose best value is named
LOW_MARK = "*"  # of an entry that does not lie above its trivial baseline
LEAST_SEEDS = 3  # of an interval; of fewer the lowest and the highest are reported


@dataclass(frozen=True)
class Found:
    """Measured values of one table entry."""

    cells: list[Cell]
    values: list[float]
    doubts: list[str]  # why the numbers mean nothing
    failed: Counter[str] = field(default_factory=Counter)  # how many more failed, by reason
    gain: Interval | None = None  # over the table's baseline
    gain_cells: tuple[str, ...] = ()

    @property
    def interval(self) -> Interval | None:
        """The mean over seeds with its 95 % t-interval; None if all cells failed."""
        return t_interval(self.values) if self.values else None

    @property
    def low(self) -> float:
        """The lower end that the table shows: of the interval, or the lowest of too few seeds."""
        shown = self.interval if len(self.values) >= LEAST_SEEDS else None
        return min(self.values) if shown is None or shown.low is None else shown.low

    @property
    def words(self) -> str:
        """The mean with its 95 % interval, or of too few seeds with the lowest and highest."""
        shown = self.interval if len(self.values) >= LEAST_SEEDS else None
        high = max(self.values) if shown is None or shown.high is None else shown.high
        return f"{fmean(self.values):.1f} [{self.low:.1f}, {high:.1f}]"

    def entry(self, decimals: int, *, low: bool = False) -> Entry:
        """Return the mean with its interval, gain and marks, and the number of failed cells."""
        interval, ids = self.interval, tuple(cell.id for cell in self.cells)
        failures = failed_text(self.failed, len(self.values) + self.failed.total())
        if interval is None:
            return Entry(failures, cells=ids)
        text = f"{interval.mean:.{decimals}f}"
        if len(self.values) >= LEAST_SEEDS and interval.low is not None:
            text = mean_text(interval, decimals)
        elif len(self.values) > 1:
            text += f" [{min(self.values):.{decimals}f} to {max(self.values):.{decimals}f}]"
        text += gain_text(self.gain, decimals) + (f" {MARK}" if self.doubts else "")
        text += (LOW_MARK if low else "") + (f" ({failures})" if failures else "")
        return Entry(text, number=interval.mean, cells=ids)


def _found(asked: MeasuredTable, done: Done, failed: Failed) -> dict[tuple[Any, ...], Found]:
    """Return what was measured by the values of the rows' settings and the column's."""
    metric, runs = asked.metric, dict[tuple[Any, ...], list[tuple[Cell, Finished]]]()
    for cell, finished in done:
        if metric in finished.metrics and (key := _place(asked, cell)) is not None:
            runs.setdefault(key, []).append((cell, finished))
    failures: dict[tuple[Any, ...], list[tuple[Cell, str]]] = {}
    for cell, reason in failed:
        if metric in cell.metrics and (key := _place(asked, cell)) is not None:
            failures.setdefault(key, []).append((cell, reason))
    found = {}
    for key in dict.fromkeys([*runs, *failures]):
        of, more = runs.get(key, []), failures.get(key, [])
        doubts = dict.fromkeys(why for c, f in of if (why := doubts_of(c, f).get(metric)))
        cells, values = [c for c, _ in [*of, *more]], [f.metrics[metric] for _, f in of]
        found[key] = Found(cells, values, [*doubts], Counter(reason for _, reason in more))
    return found if asked.baseline is None else _with_gains(asked, found, done)


def _place(asked: MeasuredTable, cell: Cell) -> tuple[Any, ...] | None:
    """Return the values of a cell's row and column; None where the table leaves it out."""
    known = cell.known
    if any(known.get(name) != value for name, value in asked.where.items()):
        return None
    column = known.get(asked.columns) if asked.columns else asked.metric
    return (*(known.get(name) for name in asked.rows), column)


def _with_gains(
    asked: MeasuredTable, found: dict[tuple[Any, ...], Found], done: Done
) -> dict[tuple[Any, ...], Found]:
    """Return what was found with how far it lies above what the table compares it with."""
    names, keys = [*asked.rows, asked.columns or "metric"], list(found)
    points = [dict(zip(names, key, strict=True)) for key in keys]
    measured, gains = Measured([cell for cell, _ in done], done), dict(found)
    for key, base in zip(keys, gain_bases(points, asked.baseline), strict=True):
        if base is not None:
            mine, theirs = found[key].cells, found[keys[base]].cells
            if estimate := difference(asked.metric, [(mine, theirs)], measured):
                ids = tuple(cell.id for cell in (*mine, *theirs))
                gains[key] = replace(found[key], gain=estimate.interval(), gain_cells=ids)
    return gains


def measured_records(
    asked: MeasuredTable,
    done: Done,
    rooms: Rooms | None = None,
    failed: Failed = (),
) -> list[dict[str, Any]]:
    """Return a table's entries as numbers: means over n seeds with 95 % t-intervals.

    `row` and `column` are settings with their values. `column` is empty if the table has a single
    column. `room` is the headroom of the entry's cells; null if it is unknown or differs between
    them.

    Args:
        asked: definition of the table in the suite.
        done: the finished cells.
        rooms: headroom of accuracies; None if unknown.
        failed: the failed cells. If all cells of an entry failed, `mean` is null and n is 0.
    """
    records = []
    for key, one in _found(asked, done, failed).items():
        interval, gain = one.interval, one.gain
        of = rooms.of(asked.metric, one.cells) if rooms else []
        records.append(
            {
                "table": asked.title,
                "metric": asked.metric,
                "row": dict(zip(asked.rows, key, strict=False)),
                "column": {asked.columns: key[-1]} if asked.columns else {},
                **{name: getattr(interval, name, None) for name in ("mean", "low", "high")},
                "n": len(one.values),
                "failed": dict(one.failed),
                "gain": gain
                and {
                    "effect": gain.mean,
                    "low": gain.low,
                    "high": gain.high,
                    "cells": [*one.gain_cells],
                },
                "room": of[0].record() if len(of) == 1 else None,
                "doubts": one.doubts,
            }
        )
    return records


def measured_table(
    asked: MeasuredTable,
    done: Done,
    rooms: Rooms | None = None,
    failed: Failed = (),
) -> Table | None:
    """Return means over seeds with 95 % t-interval half-widths; None without results.

    Args:
        asked: the metric and its layout.
        done: the finished cells.
        rooms: headroom of the scale's accuracies, printed below the table; None if there is none.
        failed: the failed cells.
    """
    found = _found(asked, done, failed)
    if not found:
        return None
    columns = sorted({key[-1] for key in found}, key=_order)
    heads = [column_head(asked.columns, c) if asked.columns else str(c) for c in columns]
    keys = sorted({key[:-1] for key in found}, key=lambda key: [_order(v) for v in key])
    low = _at_floor(asked.metric, found, rooms)
    entries = {key: one.entry(asked.decimals, low=key in low) for key, one in found.items()}
    rows = [
        [*map(setting_entry, key), *(entries.get((*key, c), Entry("")) for c in columns)]
        for key in keys
    ]
    counts = {len(one.values) for one in found.values() if one.values} or {0}
    seeds = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
    title = f"{asked.title} ({_spread_words(max(counts))}n = {seeds})"
    notes = gain_note(asked.baseline)
    notes += _notes(asked.metric, list(found.values()), rooms, len(low)) if rooms else []
    return Table(slug(asked.title), title, [*asked.rows, *heads], rows, notes)


def best_lines(suite: Suite, done: Done) -> list[str]:
    """Return where along a numeric setting each row's accuracy is largest, one line per row.

    Only tables of accuracies, in a suite without a paper, whose columns have at least LEAST_COLUMNS
    numbers give lines. Marked numbers are left out.

    Args:
        suite: the suite with the scale's replacements (`with_stand_ins`).
        done: its finished cells, without baselines.
    """
    cells = [cell for cell, _ in done]
    rows: dict[tuple[Any, ...], list[tuple[Any, Found]]] = {}
    for asked, table in zip(suite.tables, own_tables(suite, cells), strict=True):
        if suite.paper is None and asked.columns and asked.metric.endswith("_top1"):
            for key, one in _found(table, done, ()).items():
                if one.values and not one.doubts and isinstance(key[-1], int | float):
                    named = tuple(map(value_text, key[: len(asked.rows)]))
                    rows.setdefault((asked.columns, asked.metric, *named), []).append(
                        (key[-1], one)
                    )
    lines = []
    for (column, metric, *labels), found in rows.items():
        if (count := len({at for at, _ in found})) >= LEAST_COLUMNS:
            at, best = max(found, key=lambda item: fmean(item[1].values))
            where = f"best {metric_words(metric)} at {column} {value_text(at)}"
            lines.append(f"{', '.join(labels)}: {where}, {best.words} % (best of {count} values)")
    return lines


def _at_floor(
    metric: str, found: dict[tuple[Any, ...], Found], rooms: Rooms | None
) -> set[tuple[Any, ...]]:
    """Return the keys of the entries that do not lie above their floor."""
    return {
        key
        for key, one in found.items()
        if rooms and one.values and _reaches_floor(one.low, rooms.of(metric, one.cells))
    }


def _notes(metric: str, found: Sequence[Found], rooms: Rooms, low: int) -> list[str]:
    """Return the rooms of all entries, and how many entries do not lie above their floor."""
    every = [cell for one in found for cell in one.cells]
    known = rooms.of(metric, every)
    missing = rooms.are_missing(metric, every)
    if missing and not known:
        return [NO_ROOM.format(raw_inputs(metric))]
    lines = [*room_lines(known), *([SOME_ROOM] if missing else [])]
    has_intervals = any(len(one.values) >= LEAST_SEEDS for one in found)
    what = "the lower end of the interval" if has_intervals else "the worst seed"
    note = f"{LOW_MARK} {low} of {len(found)} entries: {what} is not above the trivial baseline"
    return [*lines, *([note] if low else [])]


def _reaches_floor(low: float, rooms: Sequence[Room]) -> bool:
    return bool(rooms) and low <= max(room.floor for room in rooms)


def _spread_words(most: int) -> str:
    """Return what stands behind the means of a table with so many seeds at most."""
    if most >= LEAST_SEEDS:
        return "mean ± 95 % interval, "
    return "mean [lowest to highest], " if most > 1 else ""


def _order(value: Any) -> tuple[int, Any]:
    """Order null first, then numbers, then words."""
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, int | float) else (2, str(value))


def shown_tables(suite: Suite, cells: Sequence[Cell]) -> list[MeasuredTable]:
    """Return the tables of a suite's measured values.

    A suite without tables gets one table per metric used in its comparisons, checks or figures, or
    else per metric of its cells. Rows are the settings that distinguish the cells.

    Args:
        suite: the suite with the scale's replacements (`with_stand_ins`).
        cells: cells of the suite, without baselines.
    """
    return own_tables(suite, cells) or made_tables(suite, cells)


def own_tables(suite: Suite, cells: Sequence[Cell]) -> list[MeasuredTable]:
    """Return the tables defined in the suite, which average only over seeds.

    Rows name the settings in the file, then all others that distinguish cells of a table.

    Args:
        suite: the suite with the scale's replacements (`with_stand_ins`).
        cells: cells of the suite, without baselines.
    """
    return [_with_all_rows(table, cells) for table in suite.tables]


def _with_all_rows(table: MeasuredTable, cells: Sequence[Cell]) -> MeasuredTable:
    shown = [c for c in cells if table.metric in type(c).metrics and _place(table, c) is not None]
    named = [*table.rows, *([table.columns] if table.columns else [])]
    return table.model_copy(update={"rows": [*table.rows, *settings_beside(shown, named)]})


def made_tables(suite: Suite, cells: Sequence[Cell]) -> list[MeasuredTable]:
    """Return one table per metric that the suite uses of these cells."""
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
