"""Text forms of settings and numbers for people."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from math import floor, log10
from typing import Any

LONGEST_NUMBER = 12  # characters; a longer one is rounded
ONE_SEED = "one seed cannot decide a comparison, because two runs may differ only by their seeds"
DIGITS = 6  # significant ones of a rounded number
_FORMULA = re.compile(r"[=@\t\r]|[-+][^-+\d. ]")  # -0.5 ± 0.1 is none
MOST_DECIMALS = 6  # of an effect
LONGEST_LINE = 100  # characters of a foreign value


def value_text(value: Any, *, null: str = "null", joined_by: str = " or ") -> str:
    """Return a value as text: 2 for 2.0, true for True, `a = 1, b = 2` for a mapping.

    Args:
        value: null, text, a number, a boolean, or a list or mapping of these.
        null: text for null.
        joined_by: separator of list values.
    """
    if value is None:
        return null
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {value_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return joined_by.join(map(value_text, value))
    if isinstance(value, float):
        exact = repr(value).removesuffix(".0")
        return exact if len(exact) <= LONGEST_NUMBER else f"{value:.{DIGITS}g}"
    return str(value)


def number_words(
    mean: float, low: float | None, high: float | None, threshold: float | None = None
) -> str:
    """Return an effect with sign and interval, rounded to the precision of the interval.

    Args:
        mean: the effect.
        low: lower end of the interval; None without an interval.
        high: upper end of the interval; None without an interval.
        threshold: size of a number to which no end of the interval is rounded, because a verdict
            depends on the side on which it lies; None without one.
    """
    if low is None or high is None:
        return f"{mean:+.3g}"
    half = (high - low) / 2
    if half < 10.0**-MOST_DECIMALS:
        return f"{mean:+.3g} [{low:.3g}, {high:.3g}]"
    decimals = 1 if half >= 1 else min(1 - floor(log10(half)), MOST_DECIMALS)
    if threshold is not None:
        apart = [abs(end) for end in (low, high) if abs(end) != abs(threshold)]
        while decimals < MOST_DECIMALS and f"{abs(threshold):.{decimals}f}" in (
            f"{end:.{decimals}f}" for end in apart
        ):
            decimals += 1
    return f"{mean:+.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV; None is empty; text cannot be read as a spreadsheet formula."""
    buffer = io.StringIO()
    plain = ([f"'{v}" if _is_formula(v) else v for v in row] for row in rows)
    csv.writer(buffer, lineterminator="\n").writerows(plain)
    return buffer.getvalue()


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and _FORMULA.match(value) is not None


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: 1 cell, 2 cells."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def first_sentence(text: str) -> str:
    """Return the first sentence of a text; the next one begins with a capital letter."""
    return re.split(r"(?<=[.])\s+(?=[A-Z])", text.strip(), maxsplit=1)[0]


def foreign_text(value: Any) -> str:
    """Return an untrusted value as one short line of plain characters."""
    text = value if isinstance(value, str) else json.dumps(value)
    plain = ascii(text)[1:-1] if isinstance(value, str) else text
    return plain if len(plain) <= LONGEST_LINE else f"{plain[: LONGEST_LINE - 3]}..."


def plain_text(text: str) -> str:
    """Return text as one line, with terminal control characters escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
