"""Allowed names and values in files from elsewhere, and the list of exported tables.

Names become column headings and terminal output, so they have only simple characters. Metrics are
averaged and squared, so they must be far below the largest float.
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
    """Return whether a text has at most 100 letters, digits, `_`, `.` and `-`."""
    return _NAME.fullmatch(text) is not None


def is_metric(value: Any) -> bool:
    """Return whether a value of `parse_json` is a number suitable for statistics."""
    return is_number(value) and abs(value) <= LARGEST_METRIC


def is_metrics(value: Any) -> TypeGuard[dict[str, float]]:
    """Return whether a value of `parse_json` is a non-empty mapping of metrics."""
    return isinstance(value, dict) and bool(value) and all(map(is_metric, value.values()))


def is_history_record(value: Any) -> TypeGuard[dict[str, float]]:
    """Return whether a value of `parse_json` is a history record: numbers by name and `step`."""
    return (
        isinstance(value, dict)
        and "step" in value
        and all(map(is_metric, value.values()))
        and all(map(is_name, value))
    )


def history_record(line: bytes) -> dict[str, float] | None:
    """Return the record of a history line; None if it is incomplete or invalid."""
    try:
        record = parse_json(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if is_history_record(record) else None


def table_files(root: Path) -> list[Path]:
    """Return every file of exported tables in a folder."""
    names = (*root.glob("*.csv"), *root.glob("*.csv.gz"), *root.glob("*.arrays.npz"))
    return sorted(path for path in names if not path.name.startswith("."))
