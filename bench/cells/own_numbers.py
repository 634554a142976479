"""Numbers that a plug-in's objective has of its own, as settings of a cell beside its fields."""

from collections.abc import Mapping, Set
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from bench.cells.losses import loss_named, number_names, numbers_of


def with_numbers(settings: dict[str, Any], fields: Set[str], title: str) -> dict[str, Any]:
    """Return a cell's settings with every number of its objective, those left out at their default.

    A number that is null counts as left out, so that axes can go together over several objectives.

    Args:
        settings: of a cell, as they were given.
        fields: the names of the record's fields.
        title: the name of the record.

    Raises:
        ValidationError: a setting is neither a field nor a number.
        ValueError: a number is missing, not allowed, or of another objective.
    """
    others = settings.keys() - fields
    loss = settings.get("loss")
    numbers = numbers_of(loss if isinstance(loss, str) else None)
    if not others and not numbers:
        return settings
    if strange := sorted(map(str, others - number_names())):
        fault = InitErrorDetails(
            type="extra_forbidden", loc=(strange[0],), input=settings.get(strange[0])
        )
        raise ValidationError.from_exception_data(title, [fault])
    given = {name: settings[name] for name in others if settings[name] is not None}
    for name in sorted(given.keys() - numbers):
        raise ValueError(f"{name} has no meaning with loss '{loss}'")
    values = {}
    for name, number in numbers.items():
        where = f"with loss '{loss}' of {loss_named(str(loss)).plugin}"
        if name in fields:
            raise ValueError(f"{name} is a setting of every cell, and no number {where}")
        value = given.get(name, number.default)
        if value is None:
            raise ValueError(f"{name} is needed {where}")
        if (expected := number.fault(value)) is not None:
            raise ValueError(f"{name}: found {value!r}, expected {expected} {where}")
        values[name] = float(value)
    return {name: value for name, value in settings.items() if name in fields} | values


def at_default(loss: str, numbers: Mapping[str, Any]) -> set[str]:
    """Return which of an objective's numbers are at their default: these enter no id."""
    known = numbers_of(loss)
    return {name for name, value in numbers.items() if value == known[name].default}
