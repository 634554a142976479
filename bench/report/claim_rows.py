"""Rows of `bench claims --json` with the effect that the paper prints for the very check."""

from collections.abc import Sequence
from typing import Any

from bench.suites.printed_effects import PrintedEffect

Record = dict[str, Any]


def with_printed(record: Record, effects: Sequence[PrintedEffect]) -> Record:
    """Return the row with `printed_effect`, as text; None where the paper prints none or several.

    Args:
        record: of a check.
        effects: those that the suite's printed rows have.
    """
    check = record["check"]
    values: set[str] = set()
    if check and check["check"] == "exceeds" and check.get("than") is not None:
        metric = record["stand_in_for"] or check["metric"]
        values = {
            f"{effect.number:+.{effect.decimals}f}"
            for effect in effects
            if effect.comparison.metric == metric
            and _has(effect.settings, check["where"])
            and _has(effect.settings | effect.over, check["than"])
        }
    return record | {"printed_effect": values.pop() if len(values) == 1 else None}


def _has(settings: Record, asked: Record) -> bool:
    return all(name in settings and settings[name] == value for name, value in asked.items())
