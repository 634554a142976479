"""What each setting of `pretrain` is: values, meaning, and what it belongs to."""

from typing import Any, NamedTuple, get_args

from pydantic.fields import FieldInfo

from bench.cells.axes import (
    LABELS,
    Axis,
    Comparison,
    DataAndViews,
    Encoder,
    Evaluation,
    Objective,
    Optimisation,
)
from bench.cells.rules import BELONGS
from bench.text import value_text

AXES: dict[str, type[Axis]] = {
    "data and views": DataAndViews,
    "encoder": Encoder,
    "target, negatives, neighbours": Comparison,
    "objective": Objective,
    "training": Optimisation,
    "evaluation": Evaluation,
}
_WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}


class Setting(NamedTuple):
    """One setting, in words."""

    axis: str
    name: str
    values: str
    default: str  # "" where it must be given
    what: str


def settings_reference() -> list[Setting]:
    """Return every setting in the order of the axes; labels say so."""
    return [
        Setting(axis, name, field_values(field), _default(field), _what(name, field))
        for axis, record in AXES.items()
        for name, field in record.model_fields.items()
    ]


def field_values(field: FieldInfo) -> str:
    """Return which values a field takes, in words."""
    extra = field.json_schema_extra
    if isinstance(extra, dict) and isinstance(extra.get("enum"), list):
        return ", ".join(map(str, extra["enum"]))  # type: ignore[arg-type]
    return ", ".join(dict.fromkeys(_part_text(part) for part in _parts(field.annotation)))


def _parts(annotation: Any) -> list[Any]:
    """Return the choices and types in an annotation, without null."""
    inner = get_args(annotation)
    if not inner:
        return [] if annotation is type(None) else [annotation]
    if getattr(annotation, "__metadata__", None):
        inner = inner[:1]
    return [part for choice in inner for part in _parts(choice)]


def _part_text(part: Any) -> str:
    return _WORDS.get(part, str(part)) if isinstance(part, type) else str(part)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    return value_text(field.default)


def _what(name: str, field: FieldInfo) -> str:
    parts = [field.description or ""]
    for part in ("needed", "allowed") if name in BELONGS else ():
        texts = [
            f"{rule.other} {', '.join(map(str, getattr(rule, part)))}"
            for rule in BELONGS[name].alternatives
            if getattr(rule, part)
        ]
        parts += [f"{part.capitalize()} with {' or '.join(texts)}."] if texts else []
    if name in LABELS:
        parts.append("A label: it enters no id.")
    return " ".join(part for part in parts if part)
