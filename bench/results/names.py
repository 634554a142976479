"""What may be in files that may come from elsewhere, and which files are exported tables.

Names become heads of columns and words on a terminal, so they are words. Metrics are averaged and
squared, so they are far below the largest float.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeGuard

from bench.files.regular import is_number, parse_json

MOST_NAMES = 300  # of a history or a provenance
LARGEST_METRIC = 1e50  # float32 ends at 3e38; statistics take its fourth power

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)


@lru_cache(maxsize=10_000)
def is_name(text: str) -> bool:
    """Whether a text is letters, digits, `_`, `.` and `-`, at most 100 of them."""
    return _NAME.fullmatch(text) is not None


def is_metric(value: Any) -> bool:
    """Whether a value of `parse_json` is a number that statistics can be made of."""
    return is_number(value) and abs(value) <= LARGEST_METRIC


def is_metrics(value: Any) -> TypeGuard[dict[str, float]]:
    """Whether a value of `parse_json` is the metrics of a finished cell: at least one."""
    return isinstance(value, dict) and bool(value) and all(map(is_metric, value.values()))


def is_history_record(value: Any) -> TypeGuard[dict[str, float]]:
    """Whether a value of `parse_json` is a line of a history: numbers by name, one is `step`."""
    return (
        isinstance(value, dict)
        and "step" in value
        and all(map(is_metric, value.values()))
        and all(map(is_name, value))
    )


def history_record(line: bytes) -> dict[str, float] | None:
    """Return a line of a history; None if it is torn, or no record of metrics."""
    try:
        record = parse_json(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if is_history_record(record) else None


def table_files(root: Path) -> list[Path]:
    """Return every file of exported tables in a folder."""
    names = (*root.glob("*.csv"), *root.glob("*.csv.gz"), *root.glob("*.arrays.npz"))
    return sorted(path for path in names if not path.name.startswith("."))
