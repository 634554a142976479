"""One setting of a preset: its value, where it comes from, what paper and released code have."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from bench.cells.axes import Comparison, DataAndViews, Encoder, Objective, Optimisation
from bench.errors import SuiteError, choices
from bench.suites.agreement import agrees
from bench.suites.suite import Scalar

COORDINATES: dict[str, FieldInfo] = {
    name: field
    for axis in (DataAndViews, Encoder, Comparison, Objective, Optimisation)
    for name, field in axis.model_fields.items()
}
"""Settings that a preset may fill in."""
STATING = ("paper", "code")
"""Who may state a value: the paper, and the code that its authors released or name."""
_KEYS = ("ours", "source", *STATING, "why")
_SHORT = "[value, source]"


class Coordinate(NamedTuple):
    """The value of one setting, where it comes from, and what its sources state."""

    value: Scalar
    source: str
    stated: Mapping[str, Any] = {}  # of `STATING`, those that state it; a list: any of its values
    why: str | None = None  # why the value is not one that is stated


def departs(value: Scalar, stated: Any) -> bool:
    """Return whether a value is not as stated; null states that the setting is not used."""
    return value is not None if stated is None else not agrees(value, stated)


def read_coordinate(name: str, written: Any, key_path: str, *, of_paper: bool = True) -> Coordinate:
    """Return a setting of a preset as its file has it, checked.

    `[value, source]`: in a file of the papers' methods the value is the paper's, unless it is null;
    in one's own nobody else is said to state it. A mapping has `ours` and
    `source`, what `paper` and `code` have where they state it, and `why` where one of them differs.

    Args:
        name: of the setting.
        written: what the file has.
        key_path: file and key path, for messages.
        of_paper: whether the file is of the papers' methods.

    Raises:
        SuiteError: there is no such setting, a value is not allowed, it has no source, or `why` is
            missing or explains nothing.
    """
    if name not in COORDINATES:
        raise SuiteError(f"{key_path}: unknown key. {choices(name, list(COORDINATES))}")
    if isinstance(written, dict):
        return _of_mapping(name, written, key_path)
    pair = written if isinstance(written, list) else [written]
    if len(pair) != 2 or not isinstance(pair[1], str):
        raise SuiteError(f"{key_path}: found {written!r}, expected {_SHORT}")
    _check(name, pair[0], key_path)
    is_stated = of_paper and pair[0] is not None
    return Coordinate(pair[0], pair[1], {"paper": pair[0]} if is_stated else {})


def _of_mapping(name: str, written: dict[str, Any], key_path: str) -> Coordinate:
    for key in written:
        if key not in _KEYS:
            raise SuiteError(f"{key_path}: unknown key. {choices(str(key), list(_KEYS))}")
    missing = [key for key in ("ours", "source") if key not in written]
    if missing:
        raise SuiteError(f"{key_path}: {missing[0]} is missing.")
    for key in ("source", "why"):
        if key in written and not isinstance(written[key], str):
            raise SuiteError(f"{key_path}.{key}: found {written[key]!r}, expected text")
    ours, stated = written["ours"], {key: written[key] for key in STATING if key in written}
    _check(name, ours, f"{key_path}.ours")
    for key, value in stated.items():
        for one in value if isinstance(value, list) else [value]:
            _check(name, one, f"{key_path}.{key}")
    different = [key for key, value in stated.items() if departs(ours, value)]
    if different and "why" not in written:
        raise SuiteError(f"{key_path}: ours is not the {different[0]}'s; the key 'why' is missing")
    if not different and "why" in written:
        raise SuiteError(f"{key_path}.why: ours is what is stated, nothing to explain")
    return Coordinate(ours, written["source"], stated, written.get("why"))


def _check(name: str, value: Any, key_path: str) -> None:
    try:
        _of_field(name).validate_python(value, strict=True)
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise SuiteError(f"{key_path}: found {value!r}: {message}") from None


@cache
def _of_field(name: str) -> TypeAdapter[Any]:
    field = COORDINATES[name]
    typed: Any = Annotated[field.annotation, *(field.metadata or [None])]
    return TypeAdapter(typed)
