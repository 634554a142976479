"""What metrics, arrays and provenance may be called in files that may come from elsewhere.

Names become heads of columns and words on a terminal, so they are words.
"""

import re
from functools import lru_cache
from typing import Any, TypeGuard

from bench.files.regular import is_number

MOST_NAMES = 300  # of a history or a provenance

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)


@lru_cache(maxsize=10_000)
def is_name(text: str) -> bool:
    """Whether a text is letters, digits, `_`, `.` and `-`, at most 100 of them."""
    return _NAME.fullmatch(text) is not None


def is_history_record(value: Any) -> TypeGuard[dict[str, float]]:
    """Whether a value of `parse_json` is a line of a history: numbers by name, one is `step`."""
    return (
        isinstance(value, dict)
        and "step" in value
        and all(map(is_number, value.values()))
        and all(map(is_name, value))
    )
