"""Metrics that users write: `NAME.py` holds a function, in `evaluations/` or `records/`.

An evaluation is a number from frozen features; a record is a number from each batch that a network
is trained with. `NAME.yaml` declares its parameters, if it has some: settings of a cell are called
`evaluate_...` and `record_...`. Reading the files runs nothing: Python is parsed, and hashed.
"""

import ast
import hashlib
import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bench.errors import SuiteError
from bench.loss_files import (
    MetricDeclaration,
    Parameter,
    arguments_of,
    check_arguments,
    check_ending,
    declaration,
    functions_of,
    parsed,
    trusted_folders,
)

FOLDERS = {"evaluate": "evaluations", "record": "records"}
"""Folders next to the suites, by the setting that names one of their files."""
GIVEN: dict[str, tuple[str, ...]] = {
    "evaluate": ("train_ND", "train_labels_N", "test_MD", "test_labels_M", "generator"),
    "record": ("query_ND", "key_ND", "pos_N", "neg_NK", "labels_N", "tau", "epoch"),
}
"""What a function may take, by name."""
NEEDED = {"evaluate": ("train_ND", "test_MD"), "record": ("query_ND", "key_ND", "pos_N", "neg_NK")}
"""Arguments, of which the function takes at least one."""


class MetricFile(NamedTuple):
    """A metric as its file has it."""

    path: Path
    source: bytes
    arguments: tuple[str, ...]
    declared: MetricDeclaration | None = None

    @property
    def name(self) -> str:
        """What suites call it, and what its function is called."""
        return self.path.stem

    @property
    def identity(self) -> str:
        """16 hex digits over the file and the declaration's version."""
        version = f"{self.declared.version}\n".encode() if self.declared else b""
        return hashlib.sha256(version + self.source).hexdigest()[:16]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """What suites may set, by the names of the function's arguments."""
        return self.declared.parameters if self.declared else {}


def metric_files(suites: Path, setting: str) -> Mapping[str, Path]:
    """Return the files next to the suites that a setting may name, by name."""
    return {path.stem: path for path in sorted((suites / FOLDERS[setting]).glob("*.py"))}


def declared_parameters(suites: Path, setting: str) -> dict[str, Parameter]:
    """Return what suites may set of the metrics next to them, by the names of the settings.

    Raises:
        SuiteError: something is wrong with a file.
    """
    paths = [p for p in metric_files(suites, setting).values() if p.with_suffix(".yaml").exists()]
    files = [read_metric_file(path, setting) for path in paths]
    return {f"{setting}_{name}": p for file in files for name, p in file.parameters.items()}


def read_metric_file(path: Path, setting: str) -> MetricFile:
    """Return a metric; nothing of it is run.

    Args:
        path: of the file.
        setting: that names it.

    Raises:
        SuiteError: in one line with its place, the first thing that is wrong with the file.
    """
    if not path.stem.isidentifier() or keyword.iskeyword(path.stem):
        raise SuiteError(f"{path}: '{path.stem}' names no function: use a-z, 0-9 and _")
    module, source = parsed(path)
    functions = functions_of(module)
    if path.stem not in functions:
        there = f"; there are {', '.join(functions)}" if functions else ""
        raise SuiteError(f"{path}: no function '{path.stem}'{there}")
    function = functions[path.stem]
    if not (ast.get_docstring(function) or "").strip():
        raise SuiteError(f"{path}:{function.lineno}: {path.stem} has no docstring that says what")
    lines, yaml = arguments_of(function, path), path.with_suffix(".yaml")
    declared = None
    if (other := path.with_suffix(".yml")).exists():
        check_ending(other)
    if yaml.exists():
        declared = declaration(yaml, MetricDeclaration, GIVEN[setting])
    known, given = declared or MetricDeclaration(what="-", version=1), {path.stem: GIVEN[setting]}
    check_arguments({path.stem: lines}, given, path.stem, known, yaml)
    if not lines.keys() & set(NEEDED[setting]):
        raise SuiteError(
            f"{path}:{function.lineno}: {path.stem} takes none of {', '.join(NEEDED[setting])}"
        )
    return MetricFile(path, source, tuple(lines), declared)


def trusted_metric(setting: str, name: str, identity: str) -> MetricFile | None:
    """Return a metric that may be run; None if no trusted folder has it as it was named.

    Raises:
        SuiteError: a file of this name is there, and something is wrong with it.
    """
    fault = None  # perhaps of a metric of the other kind with the same name
    for path in (folder / f"{name}.py" for folder in trusted_folders()):
        try:
            if path.is_file() and (file := read_metric_file(path, setting)).identity == identity:
                return file
        except SuiteError as error:
            fault = error
    if fault is not None:
        raise fault
    return None
