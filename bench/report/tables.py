"""Tables of compared values in the paper's layout; `formats.py` writes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import floor, log10
from typing import Any

from bench.analysis.compare import Compared, gain_bases
from bench.analysis.doubts import MARK
from bench.analysis.room import room_lines
from bench.analysis.statistics import Interval
from bench.analysis.verdicts import Verdict
from bench.papers.reader import QUOTED, PublishedValue
from bench.suites.suite import Layout
from bench.text import counted, value_text

MARKS = {
    Verdict.SAME: "=",
    Verdict.SMALLER: "<",
    Verdict.LARGER: ">",
    Verdict.CANNOT_TELL: "?",
    Verdict.ONE_SEED: "1",
    Verdict.NOT_COMPARABLE: "x",
    Verdict.NOT_MEASURED: "-",
}
MEANINGS = {
    Verdict.SAME: "the interval lies within the tolerance",
    Verdict.SMALLER: "the interval lies below the tolerance",
    Verdict.LARGER: "the interval lies above the tolerance",
    Verdict.CANNOT_TELL: "the interval lies only partly within the tolerance, or the tolerance "
    "includes the value of an untrained network",
}
LEGEND = (
    "Each entry shows the measured value ± half of its 95 % interval over seeds, the published "
    "value in brackets, and a mark for the verdict. "
)
LEGEND += "Marks: " + ", ".join(
    f"{mark} {verdict}" + (f" ({MEANINGS[verdict]})" if verdict in MEANINGS else "")
    for verdict, mark in MARKS.items()
)

NAME_CHARACTERS = 60  # of a file


@dataclass(frozen=True, slots=True)
class Entry:
    """One table entry: its content and the sources of its numbers."""

    value: str  # a name, or what was measured with its spread and gain
    printed: str | None = None  # the published value
    verdict: Verdict | None = None
    number: float | None = None  # to sort and align by
    cells: tuple[str, ...] = ()  # the ids of the cells that were measured
    row: str | None = None  # the published row: paper/artifact, row 1

    @property
    def text(self) -> str:
        """The entry as one line, with the verdict's mark."""
        printed = None if self.printed is None else f"[{self.printed}]"
        mark = None if self.verdict is None else MARKS[self.verdict]
        return " ".join(part for part in (self.value, printed, mark) if part)

    @property
    def about(self) -> str:
        """Tooltip with the published row, the measured cells and the verdict."""
        cells = f"measured: {counted(len(self.cells), 'cell')} {' '.join(self.cells)}"
        published = f"published: {self.row}" if self.row else ""
        parts = [published, cells if self.cells else "", str(self.verdict or "")]
        return "; ".join(part for part in parts if part)


@dataclass(frozen=True)
class Table:
    """A table with a title, headings, rows of entries and lines below."""

    name: str  # of its files
    title: str
    heads: list[str]
    rows: list[list[Entry]]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def numeric(self) -> list[bool]:
        """Whether each column contains only numbers."""
        return numeric_columns(self.rows)


def numeric_columns(rows: Sequence[Sequence[Entry]]) -> list[bool]:
    """Return whether all non-empty entries of each column are numbers."""
    columns = [[e for e in column if e.text] for column in zip(*rows, strict=True)]
    return [bool(entries) and all(e.number is not None for e in entries) for entries in columns]


def make_tables(rows: Sequence[Compared], layouts: dict[str, Layout | None]) -> list[Table]:
    """Return one table per artifact, quantity and interpretation, in row order."""
    groups: dict[tuple[str, str, str], list[Compared]] = {}
    for row in rows:
        groups.setdefault((row.artifact, row.what, row.reading_text), []).append(row)
    several = {a for a, w, _ in groups if any(a == b and w != x for b, x, _ in groups)}
    return [
        _table(
            f"{table_rows[0].published.paper}/{artifact}"
            + (f", {what}" if artifact in several else "")
            + (f" ({reading})" if reading else ""),
            table_rows,
            layouts[artifact],
        )
        for (artifact, what, reading), table_rows in groups.items()
    ]


def _table(title: str, rows: Sequence[Compared], layout: Layout | None) -> Table:
    name = slug(title.partition("/")[2])
    names = layout.rows if layout else list(dict.fromkeys(k for row in rows for k in row.row))
    column = layout.columns if layout else None
    notes = room_lines(list(dict.fromkeys(row.room for row in rows if row.room)))
    notes += gain_note(layout.baseline if layout else None)
    shown = [*names, column] if column else names
    points = [{k: row.printed.get(k) for k in shown} for row in rows]
    bases = gain_bases(points, layout.baseline if layout else None)
    entries = [
        entry(row, None if base is None else rows[base])
        for row, base in zip(rows, bases, strict=True)
    ]
    if column is None:
        lines = [
            [*_keys(row, names), measured] for row, measured in zip(rows, entries, strict=True)
        ]
        return Table(name, title, [*names, rows[0].what], lines, notes)
    columns = list(dict.fromkeys(row.printed.get(column) for row in rows))
    grid: dict[tuple[Any, ...], dict[Any, Entry]] = {}
    heads: dict[tuple[Any, ...], list[Entry]] = {}
    for row, measured in zip(rows, entries, strict=True):
        key, at = tuple(row.printed.get(k) for k in names), row.printed.get(column)
        while at in grid.get(key, ()):  # printed twice: on a line of its own
            key = (*key, row.published.row)
        heads[key] = _keys(row, names)
        grid.setdefault(key, {})[at] = measured
    lines = [
        [*heads[key], *(line.get(c, Entry("")) for c in columns)] for key, line in grid.items()
    ]
    return Table(name, title, [*names, *(column_head(column, c) for c in columns)], lines, notes)


def column_head(setting: str, value: Any) -> str:
    """Return the column heading for a value of a setting."""
    return f"{setting} = {value_text(value, null='')}"


def gain_note(over: Any) -> list[str]:
    """Return the explanation of numbers in parentheses; empty without them."""
    return (
        []
        if over is None
        else [f"numbers in parentheses: difference from {over} ± half of the 95 % interval"]
    )


def _keys(row: Compared, names: Sequence[str]) -> list[Entry]:
    return [setting_entry(row.printed.get(name)) for name in names]


def setting_entry(value: Any) -> Entry:
    """Return the entry of a setting's value."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Entry(value_text(value, null=""), number=float(value) if number else None)


def slug(text: str, length: int = NAME_CHARACTERS) -> str:
    """Return a title as a name for files, anchors or classes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:length].strip("-")


def entry(row: Compared, base: Compared | None = None) -> Entry:
    """Return an entry: measured value, interval, gain, published value and verdict."""
    decimals, value = row.published.decimals, row.published.value
    printed = number_text(row.published)
    if base is not None and base.published.value is not None and value is not None:
        printed += f", {signed(value - base.published.value, decimals)}"
    if row.published.is_quoted:
        printed += f" {QUOTED}"
    row_name = f"{row.published.paper}/{row.artifact}, row {row.published.row + 1}"
    if row.measured is None:
        return Entry("", printed, row.verdict, value, row.cells, row_name)
    text = mean_text(row.measured, decimals + 1) + gain_text(row.gain, decimals + 1)
    text += f" {MARK}" if row.doubts else ""
    return Entry(text, printed, row.verdict, row.measured.mean, row.cells, row_name)


def number_text(value: PublishedValue) -> str:
    """Return a published number with its decimals; `?` if it is unreadable."""
    return "?" if value.value is None else number(value.value, value.decimals)


def mean_text(interval: Interval, decimals: int) -> str:
    """Return a mean ± interval half-width, if it has an interval."""
    text = number(interval.mean, decimals)
    if interval.low is None or interval.high is None:
        return text
    return f"{text} ± {number((interval.high - interval.low) / 2, decimals)}"


def gain_text(gain: Interval | None, decimals: int) -> str:
    """Return a difference from another entry ± interval half-width, in parentheses."""
    if gain is None:
        return ""
    return f" ({'+' if gain.mean >= 0 else ''}{mean_text(gain, decimals)})"


def signed(difference: float, decimals: int) -> str:
    """Return a difference with its sign."""
    return ("+" if difference >= 0 else "") + number(difference, decimals)


def number(value: float, decimals: int) -> str:
    """Return a number with its decimals, or three significant digits if that is too long."""
    if decimals <= 5:
        return f"{value:.{decimals}f}"
    if value == 0:
        return "0"
    exponent = floor(log10(abs(value)))
    return f"{value:.2e}" if exponent < -3 else f"{value:.{2 - exponent}f}"


def counts_text(verdicts: Iterable[Verdict | None]) -> str:
    """Return the counts of verdicts: `3 same, 1 cannot tell`."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])


def summary_line(rows: Sequence[Compared]) -> str:
    """Return the verdicts as text, with the differences of comparable values."""
    text = counts_text(row.verdict for row in rows)
    off = [
        abs(row.measured.mean - row.published.value)
        for row in rows
        if row.measured and row.published.value is not None and row.comparable
    ]
    if not off:
        return text
    return f"{text}; |measured - published|: mean {sum(off) / len(off):.3g}, largest {max(off):.3g}"


def tolerance_lines(rows: Sequence[Compared]) -> list[str]:
    """Return one line per tolerance used in the rows, with its size and reason."""
    names_of: dict[str, list[str]] = {}
    for row in rows:
        names_of.setdefault(row.allowed.in_words, []).append(row.what)
    return [f"{', '.join(dict.fromkeys(names))}: {t}" for t, names in names_of.items()]


def covered_lines(rows: Sequence[Compared]) -> list[str]:
    """Return how many verdicts include the sampling error of test images, and its size."""
    errors = [row.test_error for row in rows if row.test_error and row.comparable]
    if not errors:
        return []
    return [
        f"{counted(len(errors), 'verdict')} also include the standard error that the choice of "
        f"test images causes, up to {max(errors):.2g}"
    ]


def tolerance_notes(rows: Sequence[Compared]) -> list[str]:
    """Return lines on the tolerances of compared values and on their intervals."""
    return [*tolerance_lines(rows), *covered_lines(rows)]
