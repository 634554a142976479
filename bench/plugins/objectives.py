"""Objectives that plug-ins declare as data: what each compares, its settings and its own numbers.

Nothing here imports a plug-in: a declaration says which function computes the objective, and
`bench.plugins.load` loads it where cells are computed.
"""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from bench.errors import SuiteError
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml, yaml_files
from bench.plugins.folders import Plugin, PluginFolder, plugin_folders
from bench.record import Record

LARGEST_NUMBER = 1e30  # far below the largest of float32, in which cells compute
Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
NumberName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9_]*$")]


class Number(Record):
    """A number of an objective's own; every bound may be left out."""

    what: Text
    default: float | None = None  # None: a cell has to say it
    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Self:
        expected = None if self.default is None else self.fault(self.default)
        if expected is not None:
            raise ValueError(f"default {self.default:g} is not {expected}")
        return self

    def fault(self, value: Any) -> str | None:
        """Return what the value should have been, None if it is allowed."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "a number"
        if not math.isfinite(value) or abs(value) > LARGEST_NUMBER:
            return f"a number of at most {LARGEST_NUMBER:g}"
        rules = {
            "above": self.above is None or value > self.above,
            "below": self.below is None or value < self.below,
            "at least": self.at_least is None or value >= self.at_least,
            "at most": self.at_most is None or value <= self.at_most,
        }
        broken = [words for words, holds in rules.items() if not holds]
        if not broken:
            return None
        bound = getattr(self, broken[0].replace(" ", "_"))
        return f"a number {broken[0]} {bound:g}"


class Declaration(Record):
    """An objective as a plug-in's file declares it."""

    what: Text
    function: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    over: Literal["similarities", "features"]
    needs: list[str] = []  # settings of a cell without which it means nothing
    may: list[str] = []  # settings that it takes too
    closer: bool = False  # whether close neighbours may share the positive's place
    linear: bool = False  # in the positive, which then may be a mixture (CutMix, multi-crop)
    numbers: dict[NumberName, Number] = {}


class Declared(NamedTuple):
    """An objective that a plug-in brings."""

    plugin: Plugin
    place: str  # plug-in and file, as messages begin
    objective: Declaration


@cache
def declared_objectives() -> Mapping[str, Declared]:
    """Return the objectives of all installed plug-ins by name.

    Raises:
        SuiteError: in one line, whatever is wrong with a plug-in's file, or two of one name.
    """
    known: dict[str, Declared] = {}
    for folder in plugin_folders("bench.objectives"):
        for path in yaml_files(folder.path):
            for name, declared in _read(path, folder).items():
                if name in known:
                    raise SuiteError(
                        f"{declared.place}: {name}: {known[name].plugin} has an objective of that "
                        "name too; uninstall one of them"
                    )
                known[name] = declared
    return known


def _read(path: Path, folder: PluginFolder) -> dict[str, Declared]:
    where = f"plug-in {folder.plugin}: {path}"
    try:
        data = TypeAdapter(dict[Name, Declaration]).validate_python(load_yaml(path, SuiteError))
    except ValidationError as error:
        message = explain(error, path, root=Declaration)
        raise SuiteError(f"plug-in {folder.plugin}: {message}") from None
    for name, objective in data.items():
        package = objective.function.partition(":")[0].split(".")[0]
        if package != folder.package:
            raise SuiteError(
                f"{where}: {name}.function: found '{objective.function}', expected a function of "
                f"the package '{folder.package}', which brings this file"
            )
    return {name: Declared(folder.plugin, where, objective) for name, objective in data.items()}
