"""Tables of what was measured, at any scale."""

from collections.abc import Sequence
from typing import Any

from bench.analysis.frame import Done
from bench.analysis.statistics import t_interval
from bench.config.suite import MeasuredTable
from bench.report.tables import Entry, Table, told


def measured_table(asked: MeasuredTable, done: Done) -> Table | None:
    """Return means over seeds with half their 95 % t-intervals; None without any result."""
    values: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for cell, finished in done:
        known = cell.settings
        fits = all(known.get(name) == value for name, value in asked.where.items())
        if fits and asked.metric in finished.metrics:
            line = values.setdefault(tuple(known.get(name) for name in asked.rows), {})
            column = known.get(asked.columns) if asked.columns else asked.metric
            line.setdefault(column, []).append(finished.metrics[asked.metric])
    columns = sorted({c for line in values.values() for c in line}, key=_order)
    heads = [f"{asked.columns} = {told(c)}" if asked.columns else str(c) for c in columns]
    rows = [
        [
            *(Entry(told(value)) for value in key),
            *(Entry(_spread(line[c], asked.decimals) if c in line else "") for c in columns),
        ]
        for key, line in sorted(values.items(), key=lambda item: [_order(v) for v in item[0]])
    ]
    counts = {len(v) for line in values.values() for v in line.values()}
    seeds = " to ".join(str(n) for n in sorted({min(counts), max(counts)})) if counts else ""
    title = f"{asked.title} (mean ± 95 % interval, n = {seeds})"
    return Table(title, [*asked.rows, *heads], rows) if rows else None


def _order(value: Any) -> tuple[int, Any]:
    """Order null first, then numbers, then words."""
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, int | float) else (2, str(value))


def _spread(values: Sequence[float], decimals: int) -> str:
    interval = t_interval(values)
    told = f"{interval.mean:.{decimals}f}"
    if interval.low is None or interval.high is None:
        return told
    return f"{told} ± {(interval.high - interval.low) / 2:.{decimals}f}"
