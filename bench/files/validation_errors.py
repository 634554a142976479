"""pydantic errors as single lines: file, key path, value, and rule or near match."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from bench.errors import MOST_TOLD, BenchError, choices

_RULES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "finite_number": "a finite number",
    "literal_error": "{expected}",
    "union_tag_invalid": "one of {expected_tags}",
    "string_pattern_mismatch": "lower-case words joined by hyphens",
}
_TAGS = ("bool", "int", "float", "str", "constrained-int")
"""Steps of pydantic's places that are types of a union, such as 'list[...]', and no keys."""
_ANYTHING = "one number, text, true, false or null"
_RANK = {"extra_forbidden": 0, "finite_number": 1}
"""Kinds of errors that come first, since a misspelt key can make a required key seem missing."""
_MOST_SHOWN = 100  # characters of a value
_PLAIN = {
    "too_short": "the list is empty; it needs at least one value.",
    "string_too_short": "the text is empty.",
    "too_long": "found {actual_length} values, but at most {max_length} are allowed.",
    "string_too_long": "the text has more than {max_length} characters.",
    "union_tag_not_found": "the key {discriminator} is missing.",
    "value_error": "{error}.",
}


def explain(
    kind: type[BenchError],
    error: ValidationError,
    path: Path,
    places: dict[str, str] | None = None,
    root: type[BaseModel] | None = None,
) -> BenchError:
    """Return an error with one line for each of the first mistakes, at most one for each value.

    Unknown keys are first, then infinite numbers. If a key is unknown, keys that are missing at the
    same place are not reported, because the key may be misspelt.

    Args:
        kind: class of the error.
        error: the pydantic error.
        path: path of the file.
        places: key path of each setting, for a record merged from several places; `--set NAME` for
            one of the command line, which is named instead of the file.
        root: record type of the whole file, which defines the allowed keys.
    """
    faults = error.errors(include_url=False)
    misspelt = {fault["loc"][:-1] for fault in faults if fault["type"] == "extra_forbidden"}
    lines = dict[tuple[str, str], str]()
    for fault in sorted(faults, key=lambda fault: _RANK.get(fault["type"], len(_RANK))):
        if fault["type"] == "missing" and fault["loc"][:-1] in misspelt:
            continue
        head, text = _line(error, fault, path, places, root)
        value = text if fault["type"] == "missing" else repr(fault["input"])
        lines.setdefault((head, value), f"{head}{text}")
    first, *more = list(lines.values())[:MOST_TOLD]
    return kind(first, more)


def _line(
    error: ValidationError,
    fault: Any,
    path: Path,
    places: dict[str, str] | None,
    root: type[BaseModel] | None,
) -> tuple[str, str]:
    """Return the place of an error and what is wrong there."""
    steps = [str(step) for step in fault["loc"]]
    keys = [s for s in steps if "[" not in s and s not in _TAGS]
    if places is not None:  # a list of cells was validated: the first step is its index
        keys = keys[1:]
        keys = [places.get(keys[0], keys[0])] if keys else []
    if fault["type"] == "missing":
        of_cell = places is not None and "." not in "".join(keys)
        return f"{path}: ", _missing(error, fault["loc"], keys, of_cell=of_cell)
    options = [place for place in (places or {}).values() if place.startswith("--")]
    key_path = ".".join(keys) or ", ".join(options)
    head = "" if places and key_path.startswith("--") else f"{path}: "
    return head + (f"{key_path}: " if key_path else ""), _complaint(fault, steps, root)


def complaints(
    error: ValidationError, root: type[BaseModel]
) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Yield the key path and the text of every error.

    If a key is unknown, missing keys are not reported, because the key may be misspelt.

    Args:
        error: the pydantic error.
        root: record type of the whole file, which defines the allowed keys.
    """
    faults = error.errors(include_url=False)
    misspelt = {fault["loc"][:-1] for fault in faults if fault["type"] == "extra_forbidden"}
    for fault in faults:
        if fault["type"] != "missing":
            yield fault["loc"], _complaint(fault, [str(step) for step in fault["loc"]], root)
        elif fault["loc"][:-1] not in misspelt:
            yield fault["loc"], "this key is missing."


def _missing(
    error: ValidationError, loc: tuple[int | str, ...], keys: list[str], *, of_cell: bool
) -> str:
    """Return all keys that are missing at one place; of a cell's settings, where they belong."""
    faults = error.errors(include_url=False)
    names = [
        str(e["loc"][-1]) for e in faults if e["type"] == "missing" and e["loc"][:-1] == loc[:-1]
    ]
    key_path = ".".join([*keys[:-1], names[0]])
    are, them = ("these keys are", "them") if len(names) > 1 else ("this key is", "it")
    text = f"{', '.join([key_path, *names[1:]])}: {are} missing."
    return text + f" A suite sets {them} under `fixed`, as an axis, or in the scale." * of_cell


def _complaint(fault: Any, steps: list[str], root: type[BaseModel] | None) -> str:
    kind, value, context = fault["type"], fault["input"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        allowed = _fields_at(root, steps[:-1])
        return f"unknown key. {choices(steps[-1], allowed)}" if allowed else "unknown key."
    if kind == "invalid_key":
        return f"found the key {value!r}, expected text; decimals follow a point, not a comma."
    if kind in _PLAIN:
        return _PLAIN[kind].format(**context).rstrip(".") + "."
    if kind == "union_tag_invalid":
        value = context["tag"]
    one_of_several = kind == "bool_type" and steps[-1] == "bool"  # what a setting may be
    rule = _ANYTHING if one_of_several else _RULES.get(kind)
    if rule is None:
        expected = fault["msg"].removeprefix("Input should be ").removeprefix("Value should be ")
        rule = f"a value {expected}"
    shown = repr(value)
    shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 3]}..."
    return f"found {shown}, expected {rule.format(**context)}."


def _fields_at(root: type[BaseModel] | None, steps: list[str]) -> list[str]:
    """Return the keys that the record at the end of these steps allows, or none if not known."""
    if root is None:
        return []
    here: Any = root
    for step in steps:
        records = _records(here)
        by_tag = [r for r in records if step in _tags(r)]
        if by_tag:
            here = by_tag[0]
            continue
        fields = [r.model_fields[step].annotation for r in records if step in r.model_fields]
        if fields:
            here = fields[0]
        # An index of a list or a key of a mapping: stay at the record they hold.
    records = _records(here)
    return list(records[0].model_fields) if records else []


def _records(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [record for part in get_args(annotation) for record in _records(part)]


def _tags(record: type[BaseModel]) -> tuple[Any, ...]:
    field = record.model_fields.get("check")
    return get_args(field.annotation) if field else ()
