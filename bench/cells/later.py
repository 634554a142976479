"""Settings that came later: at their defaults they enter no id, so older results keep theirs."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, Field


def later(default: Any = None) -> Any:
    """Return a field that enters no id at its default."""
    return Field(default=default, json_schema_extra={"later": True})


@cache
def later_settings(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a record that came later, with their defaults."""
    return {
        name: field.default
        for name, field in kind.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("later")
    }


def without_later(fields: Mapping[str, Any], kind: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a record but for those that came later and are at their defaults.

    Args:
        fields: values by name.
        kind: whose fields they are.
    """
    defaults = later_settings(kind)
    return {k: value for k, value in fields.items() if k not in defaults or value != defaults[k]}
