"""Measured and published values as tidy pandas tables.

Each column has one type: integer, float, text or boolean. A setting that a row lacks is missing
(`pandas.NA` or NaN).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from bench.analysis.doubts import doubts_of
from bench.cells.groups import telling_settings
from bench.papers.reader import PublishedValue
from bench.results.reader import Done
from bench.text import value_text

Row = dict[str, Any]

OF_LOAD = ("suite", "scale", "cell", "experiment", "seed", "metric", "value", "doubt")
OF_HISTORIES = ("suite", "scale", "cell", "seed", "step", "epoch", "metric", "value")
OF_PUBLISHED = ("paper", "artifact", "metric", "value", "std", "unit", "source", "note")
NO_METRICS = ("step", "epoch")  # of a line of history


def measured_frame(suite: str, scale: str, done: Done) -> pd.DataFrame:
    """Return one row per finished cell and metric: OF_LOAD, then every setting.

    Args:
        suite: name of the suite, for the column `suite`.
        scale: name of the scale, for the column `scale`.
        done: the finished cells.
    """
    rows: list[Row] = []
    for cell, finished in done:
        doubts = doubts_of(cell, finished)
        head = {"suite": suite, "scale": scale, "cell": cell.id, "experiment": cell.experiment}
        rows += [
            head
            | {"seed": cell.seed, "metric": metric, "value": value, "doubt": doubts.get(metric)}
            | {k: v for k, v in cell.settings.items() if k != "seed"}
            for metric, value in finished.metrics.items()
        ]
    return frame_of(rows, OF_LOAD)


def history_frame(suite: str, scale: str, done: Done) -> pd.DataFrame:
    """Return one row per cell, record and metric: OF_HISTORIES, then distinguishing settings.

    Args:
        suite: name of the suite, for the column `suite`.
        scale: name of the scale, for the column `scale`.
        done: the finished cells.
    """
    cells = [cell for cell, _ in done]
    telling = telling_settings(cells) if cells else []
    rows: list[Row] = []
    for cell, finished in done:
        settings = cell.settings
        head = {"suite": suite, "scale": scale, "cell": cell.id, "seed": cell.seed}
        columns = {name: settings.get(name) for name in telling if name != "seed"}
        rows += [
            head | {k: record.get(k) for k in NO_METRICS} | {"metric": k, "value": v} | columns
            for record in finished.history
            for k, v in record.items()
            if k not in NO_METRICS
        ]
    return frame_of(rows, OF_HISTORIES)


def published_frame(values: Iterable[PublishedValue]) -> pd.DataFrame:
    """Return one row per published value: OF_PUBLISHED, then its settings."""
    rows = [{name: getattr(v, name) for name in OF_PUBLISHED} | v.settings for v in values]
    return frame_of(rows, OF_PUBLISHED)


def record_frame(records: Sequence[Mapping[str, Any]], flat: str = "") -> pd.DataFrame:
    """Return the records of a command's `--json` output as table rows.

    Args:
        records: records with the same keys.
        flat: key of a mapping whose entries become separate columns at the end.
    """
    rows = [{k: _entry(v) for k, v in r.items() if k != flat} | r.get(flat, {}) for r in records]
    return frame_of(rows, tuple(rows[0]) if rows else ())


def frame_of(rows: Sequence[Row], first: Sequence[str]) -> pd.DataFrame:
    """Return rows as a table with typed columns; the columns in `first` always exist."""
    names = dict.fromkeys([*first, *(name for row in rows for name in row)])
    return pd.DataFrame({name: typed([row.get(name) for row in rows]) for name in names})


def typed(values: Sequence[Any]) -> "pd.Series[Any]":
    """Return a column with one type; values of several types become text."""
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    whole = len(there) == len(values)
    if kinds and all(issubclass(kind, float | int) and kind is not bool for kind in kinds):
        if kinds == {int}:
            return pd.Series(values, dtype="int64" if whole else "Int64")
        return pd.Series(values, dtype="float64")
    if kinds == {bool}:
        return pd.Series(values, dtype="bool" if whole else "boolean")
    if len(kinds) > 1:
        values, kinds = [None if v is None else value_text(v) for v in values], {str}
    return pd.Series(values, dtype="str" if kinds == {str} else "object")


def _entry(value: Any) -> Any:
    """Return a value as one entry: lists of sentences, and mappings, as text."""
    if isinstance(value, Mapping):
        return value_text(value)
    return "; ".join(map(str, value)) if isinstance(value, list) else value
