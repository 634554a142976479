"""What `bench versus` prints."""

from collections.abc import Sequence
from typing import Any

from bench.cli.terminal import print_line, print_rows
from bench.report.effect_words import number_words, unit_of_metric
from bench.report.tables import Entry
from bench.suites.metric_words import metric_words
from bench.text import counted, value_text

Record = dict[str, Any]


def print_versus(first: str, second: str, records: Sequence[Record]) -> None:
    """Print the differences, and in how many suites each side lies above the other.

    Args:
        first: the first method or loss.
        second: the second one.
        records: the differences, first less second.
    """
    level = f"{100 * records[0]['level']:.0f} %"
    print_line(
        f"{first} - {second}, mean over the points that a suite has of both [{level} interval]"
    )
    rows = [
        [
            Entry(_place(r)),
            Entry(metric_words(r["metric"])),
            Entry(_difference_words(r)),
            Entry(str(r["n"]), number=r["n"]),
            Entry(str(r["groups"]), number=r["groups"]),
            Entry(_decision(first, second, r)),
        ]
        for r in records
    ]
    print_rows("", ["suite", "metric", "difference", "seeds", "points", "higher"], rows)
    for line in dict.fromkeys(_unequal_words(r) for r in records if r["unequal"]):
        print_line(line)
    print_line(_tally(first, second, records))


def _tally(first: str, second: str, records: Sequence[Record]) -> str:
    """Return in how many rows each side is higher, of accuracies and of other metrics.

    Rows with other settings are left out, and those whose cells another row has too.
    """
    fair = [r for r in records if not r["unequal"]]
    equal = [r for r in fair if r["within"] is None]
    kinds = {
        "Accuracies": [r["sign"] for r in equal if _is_accuracy(r["metric"])],
        "Other metrics, of which higher is not better by itself": [
            r["sign"] for r in equal if not _is_accuracy(r["metric"])
        ],
    }
    parts = [
        f"{kind}: {first} higher in {signs.count(1)}, {second} in {signs.count(-1)}, undecided in "
        f"{signs.count(0)}."
        for kind, signs in kinds.items()
        if signs
    ]
    if left_out := len(records) - len(fair):
        parts.append(f"Not counted: {counted(left_out, 'row')} with other settings.")
    if repeated := len(fair) - len(equal):
        others = ", ".join(dict.fromkeys(r["within"] for r in fair if r["within"]))
        parts.append(f"Not counted: {counted(repeated, 'row')} whose cells are all in {others}.")
    return " ".join(parts)


def _is_accuracy(metric: str) -> bool:
    return unit_of_metric(metric) == "points" or metric.startswith("ap_")


def _place(record: Record) -> str:
    return f"{record['suite']} at {record['scale']} ({record['protocol']})"


def _decision(first: str, second: str, record: Record) -> str:
    text: str = record["why"] or {1: first, -1: second, 0: "undecided"}[record["sign"]]
    return f"{text}, with other settings" if record["unequal"] else text


def _unequal_words(record: Record) -> str:
    """Return which settings make the two sides of a row unequal."""
    pairs = "; ".join(
        f"{u['setting']} {_values_text(u['first'])} / {_values_text(u['second'])}"
        for u in record["unequal"]
    )
    return f"{_place(record)}: other settings differ too: {pairs}"


def _values_text(values: Sequence[Any]) -> str:
    return ", ".join("none" if value is None else value_text(value) for value in values)


def _difference_words(record: Record) -> str:
    unit = unit_of_metric(record["metric"])
    words = number_words(record["difference"], record["low"], record["high"])
    return f"{words} {unit}".strip()
