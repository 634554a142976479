"""How a row of exported tables is written: so that pandas reads it, and so that it reads back.

A row in memory holds JSON texts under `id`, the settings' names, `metric.<name>` and
`origin.<name>`. Earlier versions of this code wrote that. Now text stands as it is, the cell's id
is called `cell`, metrics have their own names, and `metrics` says which columns they are.
"""

import json
import re
from collections.abc import Iterable
from functools import lru_cache

Row = dict[str, str]

METRIC, PROVENANCE = "metric.", "origin."  # what the names of such columns begin with
CELL, METRICS = "cell", "metrics"  # columns that only the present form has

_QUICK = re.compile(r'-?[0-9.]+([eE][+-]?[0-9]+)?|true|false|null|".*"')  # likely JSON, or not
_FORMULA = "=+-@"  # a spreadsheet would compute what begins so


def plain_row(row: Row) -> Row:
    """Return a row as it is written: a metric named as a setting keeps its prefix."""
    written, metrics = {CELL: row["id"]}, []
    for name, text in row.items():
        plain = name.removeprefix(METRIC)
        if name == "id":
            continue
        if plain != name and plain not in row:
            metrics.append(plain)
            name = plain
        written[name] = _plain(text)
    if metrics:
        written[METRICS] = " ".join(metrics)
    return _ordered(written)


def row_of(written: Row) -> Row:
    """Return the row that was written, in the present form or the former one."""
    if CELL not in written:
        return written
    metrics = set(written.get(METRICS, "").split())
    row = {"id": written[CELL]}
    for name, text in written.items():
        if name not in (CELL, METRICS, "id"):
            row[f"{METRIC}{name}" if name in metrics else name] = _json(text)
    return row


def header_of(names: Iterable[str]) -> list[str]:
    """Return the names of a history's columns as they are in memory."""
    return ["id" if name == CELL else name for name in names]


def _ordered(written: Row) -> Row:
    """Return the row with what says where it comes from last."""
    return dict(sorted(written.items(), key=lambda item: item[0].startswith(PROVENANCE)))


def _plain(text: str) -> str:
    """Return a JSON text; a string without its quotes where that cannot be misread."""
    if not text.startswith('"'):
        return text
    value: str = json.loads(text)
    bare = value.isprintable() and not _is_json(value) and value[:1] not in _FORMULA
    return value if bare else text


@lru_cache(maxsize=2**16)  # tables hold millions of entries, few of them different
def _json(text: str) -> str:
    """Return the JSON text of an entry, empty if it is."""
    return text if not text or _is_json(text) else json.dumps(text)


def _is_json(text: str) -> bool:
    if not _QUICK.fullmatch(text) and text[:1] not in ("[", "{", "N", "I", "-", " ", "\t"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
