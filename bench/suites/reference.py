"""Reference of suite files: the JSON schema, and descriptions of all settings of `pretrain`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic.fields import FieldInfo

from bench.cells import CELLS
from bench.cells.axes import (
    LABELS,
    Axis,
    ComparisonAxis,
    DataAndViews,
    Encoder,
    Evaluation,
    ObjectiveAxis,
    Optimisation,
)
from bench.cells.pretrain import EncoderCell
from bench.cells.rules import BELONGS
from bench.loss_files import Parameter
from bench.suites.load import SuiteFile
from bench.suites.own_files import (
    OwnLosses,
    declared_beside,
    own_losses,
    schemas_of,
    setting_names,
)
from bench.suites.shared import shipped_assumptions, shipped_scales
from bench.suites.suite import SIDES
from bench.text import value_text

AXES: dict[str, type[Axis]] = {
    "data and views": DataAndViews,
    "encoder": Encoder,
    "target, negatives, neighbours": ComparisonAxis,
    "objective": ObjectiveAxis,
    "training": Optimisation,
    "evaluation": Evaluation,
}
_WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}


class Setting(NamedTuple):
    """Description of one setting."""

    axis: str
    name: str
    values: str
    default: str  # "" where it must be given
    what: str


def settings_reference() -> list[Setting]:
    """Return every setting in the order of the axes; labels are marked."""
    return [
        Setting(axis, name, field_values(field), _default(field), _what(name, field))
        for axis, record in AXES.items()
        for name, field in record.model_fields.items()
    ]


def field_values(field: FieldInfo) -> str:
    """Return the allowed values of a field, as text."""
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
    parts = [" ".join((field.description or "").split())]
    for part in ("needed", "allowed") if name in BELONGS else ():
        texts = [
            f"{rule.other} {', '.join(map(str, getattr(rule, part)))}"
            for rule in BELONGS[name].alternatives
            if getattr(rule, part)
        ]
        parts += [f"{part.capitalize()} with {' or '.join(texts)}."] if texts else []
    if name in LABELS:
        parts.append("This setting is only a label and not part of the cell's id.")
    return " ".join(part for part in parts if part)


def suite_schema(suites: Path | None = None) -> dict[str, Any]:
    """Return the JSON schema: a suite's keys, and the settings of each experiment.

    Args:
        suites: the folder of suites; parameters of its objectives and metrics are settings, too.
    """
    own = own_losses(suites) if suites else {}
    declared = declared_beside(suites, own)
    schema = SuiteFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "A suite of bench"
    like = schema["$defs"]["ScaleEntry"]["properties"]["like"]
    like["examples"] = list(shipped_scales())  # one's own beside the suites are allowed too
    schema["required"].remove("name")  # the name of the file
    scale = {"anyOf": schema["$defs"]["ScaleEntry"].pop("anyOf")}
    figure = {"type": "object", "required": schema["$defs"]["Figure"].pop("required")}
    figures = {"anyOf": [figure, {"type": "array", "items": figure}]}
    whole = {  # what is like another file takes the rest from it
        "required": schema.pop("required"),
        "properties": {"scales": {"additionalProperties": scale}, "figures": figures},
    }
    schema["anyOf"] = [{"required": ["like"]}, whole]
    assumed = schema["$defs"]["AssumedEntry"]["properties"]["like"]
    assumed["examples"] = list(shipped_assumptions())
    for check in schema["$defs"].values():
        sides = check.get("properties", {})
        if "check" in sides and any(key in sides for key in SIDES[1:]):
            sides["both"] = sides["where"]  # settings of all sides
    schema["properties"]["experiment"] = {"enum": list(CELLS)}
    schema["allOf"] = [_rule(name, own, declared) for name in CELLS]
    return schema


def _rule(experiment: str, own: OwnLosses, declared: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return: where this is the only experiment, settings are those of its cells."""
    kind = CELLS[experiment]
    full = kind.model_json_schema()
    names = setting_names(kind, declared)
    known = schemas_of(declared) | full["properties"]
    settings = {name: known[name] for name in names}
    if issubclass(kind, EncoderCell):
        settings["loss"] |= {"enum": [*own, *settings["loss"]["enum"]]}
    axes = {name: {"type": "array", "items": value} for name, value in settings.items()}
    closed = {"type": "object", "additionalProperties": False}
    row = closed | {"properties": {n: {"anyOf": [settings[n], axes[n]]} for n in names}}
    return {
        "if": {
            "properties": {"experiment": {"const": experiment}},
            "required": ["experiment"],
            "not": {"required": ["grids"]},
        },
        "then": {
            "properties": {
                "fixed": closed | {"properties": settings},
                "assumed": closed | {"properties": dict.fromkeys((*names, "like", "notes"), True)},
                "grid": closed | {"properties": axes},
                "points": {"items": {"if": {"type": "object"}, "then": row}},
            }
        },
    }
