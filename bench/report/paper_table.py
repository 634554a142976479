"""A paper's table in its own layout, with measured values below published ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.compare import Compared
from bench.analysis.doubts import MARK
from bench.analysis.verdicts import Verdict
from bench.papers.reader import QUOTED, Artifact, PublishedValue
from bench.papers.vocabulary import setting_name, value_name
from bench.report.tables import MARKS, Entry, Table, mean_text, number_text
from bench.suites.metric_words import metric_title
from bench.suites.suite import Layout
from bench.text import csv_text, value_text

METRIC = "metric"  # the column or row key of several metrics
PRINTED_NAMES = ("label", "printed_method")  # how the paper prints a row's method
NAMED_BY = ("method", "loss")  # what a printed name stands for
FORMULAS = ("positive_gradient", "negative_gradient", "balance_factor", "sample_set")
DASH = "-"
MOST_UNDER = 4  # measured numbers next to a published one
RowKey = tuple[Any, ...]


@dataclass(frozen=True)
class MeasuredNumber:
    """A measured value of a published one."""

    scale: str
    words: str  # the scale's data, or that its protocol is the published one
    compared: Compared

    @property
    def text(self) -> str:
        """The mean ± interval half-width, and the interpretation of the paper."""
        interval, decimals = self.compared.measured, self.compared.published.decimals + 1
        if interval is None:
            return ""
        entry = mean_text(interval, decimals) + (f" {MARK}" if self.compared.doubts else "")
        reading = self.compared.reading_text
        return f"{entry} ({reading})" if reading else entry

    @property
    def verdict(self) -> Verdict:
        """The verdict of the comparison."""
        return self.compared.verdict


def paper_table(
    artifact: Artifact, layout: Layout | None, measured: Sequence[MeasuredNumber]
) -> Table | None:
    """Return an artifact's table; None if it has no numbers.

    Args:
        artifact: the published artifact.
        layout: layout with the column setting, if a suite defines one.
        measured: measured values of the artifact's rows. If there are published scales, reduced
            ones are omitted.
    """
    if not artifact.values:
        return None
    under = best_measured(measured)
    keys = _keys(artifact.values)
    column = _column(keys, layout)
    names = [key for key in keys if key != column and _tells_apart(key, column, artifact.values)]
    if column is None or not _has_a_place_each(artifact.values, names, column):
        names, column = keys, None
    grid: dict[RowKey, dict[Any, Entry]] = {}
    for value in _by_metric(artifact.values) if METRIC in names else artifact.values:
        key = tuple(_of(value, name) for name in names)
        head = _of(value, column) if column else None
        if head in grid.get(key, {}):  # rows that nothing tells apart
            key = (*key, value.row)
        grid.setdefault(key, {})[head] = _place(value, under.get(value.row, []))
    columns = list(dict.fromkeys(head for line in grid.values() for head in line))
    rows = [
        [
            *(_named(name, v, artifact.paper) for name, v in zip(names, key, strict=False)),
            *(line.get(head, Entry("")) for head in columns),
        ]
        for key, line in grid.items()
    ]
    heads = [*map(setting_name, names), *(_head(column, h, artifact) for h in columns)]
    scales = {m.scale: m.words for row_values in under.values() for m in row_values}
    title = f"{artifact.paper}/{artifact.id}: published" + (" and measured" * bool(scales))
    notes = [f"{scale}: {words}" for scale, words in scales.items()]
    return Table(artifact.id, title, heads, rows, notes)


def best_measured(measured: Sequence[MeasuredNumber]) -> dict[int, list[MeasuredNumber]]:
    """Return the measured values per published row, at the published protocol if there are any."""
    under: dict[int, list[MeasuredNumber]] = {}
    for entry in measured:
        under.setdefault(entry.compared.published.row, []).append(entry)
    return {row: _best(row_values) for row, row_values in under.items()}


def _by_metric(values: Sequence[PublishedValue]) -> list[PublishedValue]:
    """Return the values, those of a metric together."""
    order = list(dict.fromkeys(value.metric for value in values))
    return sorted(values, key=lambda value: order.index(value.metric))


def _best(measured: Sequence[MeasuredNumber]) -> list[MeasuredNumber]:
    """Return those of the published protocol, else all; of each reading the one of most seeds."""
    best: dict[str, MeasuredNumber] = {}
    for row in [m for m in measured if m.compared.comparable] or measured:
        reading = f"{row.compared.what}, {row.compared.reading_text}"
        if reading not in best or _seeds(row) > _seeds(best[reading]):
            best[reading] = row
    return list(best.values())[:MOST_UNDER]


def _seeds(measured: MeasuredNumber) -> int:
    return measured.compared.measured.n if measured.compared.measured else 0


def _keys(values: Sequence[PublishedValue]) -> list[str]:
    """Return what tells published rows apart; a printed name stands for the method it names."""
    keys = list(dict.fromkeys(k for value in values for k in value.row_settings))
    printed = next((name for name in PRINTED_NAMES if name in keys), None)
    if printed and (printed != "label" or all(v.row_settings.get(printed) for v in values)):
        rest = [key for key in keys if key not in (printed, *NAMED_BY)]
        first = [key for key in rest if key in ("row", "family")]
        keys = [*first, printed, *(key for key in rest if key not in first)]
    if len({value.metric for value in values}) > 1:
        keys.insert(0, METRIC)
    return keys


def _column(keys: Sequence[str], layout: Layout | None) -> str | None:
    if layout and layout.columns in keys:
        return layout.columns
    return METRIC if METRIC in keys else None


def _tells_apart(key: str, column: str | None, values: Sequence[PublishedValue]) -> bool:
    """Whether a key of the rows is more than a consequence of the column."""
    seen: dict[Any, set[str]] = {}
    for value in values:
        seen.setdefault(_of(value, column) if column else None, set()).add(str(_of(value, key)))
    return any(len(distinct) > 1 for distinct in seen.values())


def _has_a_place_each(values: Sequence[PublishedValue], names: Sequence[str], column: str) -> bool:
    places = {(*(_of(value, name) for name in names), _of(value, column)) for value in values}
    return len(places) == len(values)


def _of(value: PublishedValue, key: str) -> Any:
    setting = value.metric if key == METRIC else value.row_settings.get(key)
    if isinstance(setting, Mapping):
        return ", ".join(f"{value_name(name)} {part}" for name, part in setting.items())
    return (
        setting
        if isinstance(setting, int | float | str | None)
        else value_text(setting, joined_by=", ")
    )


def _place(value: PublishedValue, measured: Sequence[MeasuredNumber]) -> Entry:
    text = printed_text(value)
    row = f"{value.paper}/{value.artifact}, row {value.row + 1}"
    if not measured:
        return Entry(text, number=value.value, row=row)
    *others, last = measured
    mean = measured[0].compared.measured
    return Entry(
        "; ".join([*(f"{m.text} {MARKS[m.verdict]}" for m in others), last.text]),
        printed=text,
        verdict=last.verdict,
        number=mean.mean if mean else value.value,
        cells=tuple(name for m in measured for name in m.compared.cells),
        row=row,
    )


def printed_text(value: PublishedValue) -> str:
    """Return a published number with its standard deviation, and whether it is quoted."""
    text = number_text(value) + (f" ± {value.std:g}" if value.std is not None else "")
    return f"{text} {QUOTED}" if value.is_quoted else text


def _named(key: str, value: Any, paper: str) -> Entry:
    """Return the name of a row: a letter in parentheses, a method."""
    if value is None:
        return Entry(DASH if key in (*PRINTED_NAMES, *FORMULAS) else "")
    if key in ("row", "table_2_row"):
        return Entry(f"({value})")
    if isinstance(value, str):
        return Entry(metric_head(value) if key == METRIC else value_name(value, paper))
    return Entry(value_text(value), number=None if isinstance(value, bool) else float(value))


def row_words(value: PublishedValue) -> str:
    """Return the name of a published row in notes: its label, or its place, method and metric."""
    settings = value.row_settings
    if (letter := settings.get("row")) is not None:
        return f"row ({letter})"
    if (place := settings.get("table_row")) is not None:
        return f"row {place}"
    method = settings.get("method")
    named = [value_name(method, value.paper)] if isinstance(method, str) else []
    named += [metric_head(value.metric)] if value.metric else []
    return f"row {value.row + 1}" + (f" ({', '.join(named)})" if named else "")


def printed_notes(artifact: Artifact) -> list[tuple[str, str]]:
    """Return notes on contradictions, misprints and open points, with their rows."""
    notes = [(artifact.id, artifact.note), *((row_words(v), v.note) for v in artifact.values)]
    return [(source, " ".join(note.split())) for source, note in notes if note]


def _head(column: str | None, value: Any, artifact: Artifact) -> str:
    if column == METRIC or column is None:
        metric = value or next((v.metric for v in artifact.values if v.metric), None)
        return metric_head(metric) if metric else "value"
    if value is None:  # such as a drop over all values of the column
        metrics = {v.metric for v in artifact.values if v.row_settings.get(column) is None}
        if len(metrics) == 1 and (metric := metrics.pop()):
            return metric_head(metric)
    head = value_name(value, artifact.paper) if isinstance(value, str) else value_text(value)
    return f"{setting_name(column)} {head}"


def metric_head(metric: str) -> str:
    """Return a metric as a column heading: kNN top-1 (%)."""
    unit = " (%)" if metric.endswith(("_top1", "_top5")) else ""
    return metric_title(metric) + unit


def paper_csv(artifact: Artifact, measured: Sequence[MeasuredNumber]) -> str:
    """Return CSV with one line per published number and per measured value of it."""
    keys = list(dict.fromkeys(k for value in artifact.values for k in value.row_settings))
    measured_heads = ["suite_scale", "data", "reading", "measured", "low", "high", "n", "verdict"]
    printed_heads = ["published_row", *keys, METRIC, "published", "quoted_from"]
    rows: list[list[Any]] = [[*printed_heads, *measured_heads]]
    for value in artifact.values:
        settings = (value_text(value.row_settings.get(k), null="") for k in keys)
        known = [value.row + 1, *settings, value.metric, value.value, _source(value)]
        row_measured = [_numbers(m) for m in measured if m.compared.published.row == value.row]
        rows += [[*known, *numbers] for numbers in row_measured or [[""] * len(measured_heads)]]
    return csv_text(rows)


def _source(value: PublishedValue) -> str:
    if value.quoted_from is not None:
        return value.quoted_from.source
    return "not known" if value.is_quoted else ""


def _numbers(m: MeasuredNumber) -> list[Any]:
    measured = m.compared.measured
    interval = [measured.mean, measured.low, measured.high, measured.n] if measured else [None] * 4
    return [m.scale, m.words, m.compared.reading_text, *interval, str(m.verdict)]
