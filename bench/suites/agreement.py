"""Agreement of a setting with the paper's statement.

A stated list allows any of its values. A mapping with `above`, `below`, `from` or `to` allows
numbers in this range. `not used` means null, and `used` means anything except null.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.errors import MOST_LISTED
from bench.text import value_text

NOT_USED, USED = "not used", "used"
BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "above": operator.gt,
    "below": operator.lt,
    "from": operator.ge,
    "to": operator.le,
}
CLOSE = 1e-9  # relative: rates that follow from others are rounded


def agrees(mine: Any, stated: Any) -> bool:
    """Return whether a setting of a cell agrees with the statement.

    Args:
        mine: value of the cell; a tuple is a single value, such as a crop's two bounds.
        stated: value stated by the paper, not null.
    """
    if isinstance(stated, Mapping):
        is_number = isinstance(mine, int | float)
        return is_number and all(BOUNDS[end](mine, limit) for end, limit in stated.items())
    if isinstance(stated, list):
        whole = isinstance(mine, tuple) and list(mine) == stated
        return whole or any(agrees(mine, value) for value in stated)
    if stated in (NOT_USED, USED):
        return bool((mine is None) == (stated == NOT_USED))
    if mine is None or isinstance(mine, bool) or isinstance(stated, bool):
        return mine is stated  # 1 is not true
    if isinstance(mine, float) and isinstance(stated, int | float):
        return math.isclose(mine, stated, rel_tol=CLOSE)
    return bool(mine == stated)


def typed(value: Any) -> tuple[bool, Any]:
    """Return a value and whether it is a boolean: 2 equals 2.0, but 1 does not equal true."""
    return isinstance(value, bool), value


def no_cell_has(value: Any, there: Sequence[Any]) -> str:
    """Return the end of an error message: no cell has this value, and the existing values."""
    texts = [value_text(v) for v in there]
    found = repr(value) if isinstance(value, str) and value in texts else value_text(value)
    more = f" and {len(texts) - MOST_LISTED} more" if len(texts) > MOST_LISTED else ""
    return f"no cell has the value {found}. There are: {', '.join(texts[:MOST_LISTED])}{more}."


def stated_text(value: Any, joined_by: str = " or ") -> str:
    """Return a setting, of a cell or of a statement, as text."""
    if isinstance(value, Mapping):
        return " ".join(f"{end} {value_text(number)}" for end, number in value.items())
    if isinstance(value, tuple):
        return value_text(list(value), joined_by=", ")
    return value_text(value, null=NOT_USED, joined_by=joined_by)
