"""Compared values as a table in the paper's layout, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING, Any

from bench.analysis.verdicts import Verdict
from bench.config.suite import Layout

if TYPE_CHECKING:
    from bench.analysis.compare import Compared

MARKS = {
    Verdict.REPRODUCED: "=",
    Verdict.CONSISTENT: "~",
    Verdict.DIFFERS: "!",
    Verdict.SINGLE_RUN: "1",
    Verdict.NOT_COMPARABLE: "x",
    Verdict.MISSING: "-",
}
LEGEND = (
    "measured ± half of the 95 % t-interval [published] and verdict: "
    "= reproduced, ~ consistent, ! differs, 1 single run, x not comparable, - missing"
)


@dataclass(frozen=True)
class Entry:
    """One place of a table."""

    text: str
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Table:
    """A table with a title, heads and rows of entries."""

    title: str
    heads: list[str]
    rows: list[list[Entry]]


def make_tables(rows: Sequence[Compared], layouts: dict[str, Layout | None]) -> list[Table]:
    """Return a table for each artifact, what is measured and reading, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[Compared]] = {}
    for row in rows:
        groups.setdefault((row.artifact, row.what, row.reading_text), []).append(row)
    several = {a for a, w, _ in groups if any(a == b and w != x for b, x, _ in groups)}
    return [
        _table(
            f"{own[0].published.paper}/{artifact}"
            + (f", {what}" if artifact in several else "")
            + (f" ({reading})" if reading else ""),
            own,
            layouts[artifact],
        )
        for (artifact, what, reading), own in groups.items()
    ]


def _table(title: str, rows: Sequence[Compared], layout: Layout | None) -> Table:
    if layout is None or layout.columns is None:
        names = layout.rows if layout else list(dict.fromkeys(k for row in rows for k in row.row))
        heads = [*names, rows[0].what]
        return Table(title, heads, [[*_keys(row, names), entry(row)] for row in rows])
    columns = list(dict.fromkeys(row.row.get(layout.columns) for row in rows))
    lines: dict[tuple[Any, ...], dict[Any, Compared]] = {}
    for row in rows:
        key = tuple(row.row.get(name) for name in layout.rows)
        lines.setdefault(key, {})[row.row.get(layout.columns)] = row
    heads = [*layout.rows, *(f"{layout.columns} = {told(value)}" for value in columns)]
    return Table(
        title,
        heads,
        [
            [
                *(Entry(told(value)) for value in key),
                *(entry(line[c]) if c in line else Entry("") for c in columns),
            ]
            for key, line in lines.items()
        ],
    )


def _keys(row: Compared, names: Sequence[str]) -> list[Entry]:
    return [Entry(told(row.row.get(name))) for name in names]


def told(value: Any) -> str:
    """Return a setting's value for a table's head or row."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def entry(row: Compared) -> Entry:
    """Return measured, interval, published and the verdict's mark."""
    printed = (
        "?" if row.published.value is None else number(row.published.value, row.published.decimals)
    )
    mark = MARKS[row.verdict]
    if row.measured is None:
        return Entry(f"[{printed}] {mark}", row.verdict)
    low, high, mean = row.measured.low, row.measured.high, row.measured.mean
    decimals = row.published.decimals + 1
    spread = "" if low is None or high is None else f" ± {number((high - low) / 2, decimals)}"
    return Entry(f"{number(mean, decimals)}{spread} [{printed}] {mark}", row.verdict)


def number(value: float, decimals: int) -> str:
    """Return a number with its decimals; three significant digits where that would be long."""
    if decimals <= 5:
        return f"{value:.{decimals}f}"
    if value == 0:
        return "0"
    exponent = floor(log10(abs(value)))
    return f"{value:.2e}" if exponent < -3 else f"{value:.{2 - exponent}f}"


def summary_line(rows: Sequence[Compared]) -> str:
    """Return the verdicts in words, and how far comparable values are off."""
    counts = {v: sum(row.verdict == v for row in rows) for v in Verdict}
    told = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
    off = [
        abs(row.measured.mean - row.published.value)
        for row in rows
        if row.measured and row.published.value is not None and row.comparable
    ]
    if not off:
        return told
    return f"{told}; |measured - published|: mean {sum(off) / len(off):.3g}, largest {max(off):.3g}"


def tolerance_lines(rows: Sequence[Compared]) -> list[str]:
    """Return each tolerance among the rows with its reason, and what is judged by it."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.allowed.told, []).append(row.what)
    return [f"tolerance of {', '.join(dict.fromkeys(names))}: {t}" for t, names in found.items()]


def to_markdown(table: Table) -> str:
    """Return the table as GitHub Markdown."""
    lines = [_line(table.heads), _line(["---"] * len(table.heads))]
    lines += [_line([e.text for e in row]) for row in table.rows]
    return "\n".join(lines)


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
