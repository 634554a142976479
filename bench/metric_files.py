"""Users' own metrics: `NAME.py` has a function, in `evaluations/` or `records/`.

An evaluation computes a number from frozen features. A record computes a number from each training
batch. `NAME.yaml` declares parameters, if there are any. They become settings of a cell, named
`evaluate_...` and `record_...`. Reading the files does not run code: Python is only parsed and
hashed.
"""

import ast
import hashlib
import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bench.errors import SuiteError
from bench.files.yaml_file import yaml_files
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
    """A metric from its files."""

    path: Path
    source: bytes
    arguments: tuple[str, ...]
    declared: MetricDeclaration | None = None

    @property
    def name(self) -> str:
        """Name of the metric in suites and of its function."""
        return self.path.stem

    @property
    def identity(self) -> str:
        """Hash of the file and the declaration's version: 16 hexadecimal digits."""
        version = f"{self.declared.version}\n".encode() if self.declared else b""
        return hashlib.sha256(version + self.source).hexdigest()[:16]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters that suites may set, by argument name."""
        return self.declared.parameters if self.declared else {}


def metric_files(suites: Path, setting: str) -> Mapping[str, Path]:
    """Return the Python files next to the suites that hold or lack a setting's metrics, by name."""
    folder = suites / FOLDERS[setting]
    paths = [*folder.glob("*.py"), *(path.with_suffix(".py") for path in yaml_files(folder))]
    return {path.stem: path for path in sorted(paths)}


def declared_parameters(suites: Path, setting: str) -> dict[str, Parameter]:
    """Return the parameters of valid metrics next to suites, by setting name."""
    files = read_metric_files(suites, setting)[0]
    return {f"{setting}_{name}": p for file in files for name, p in file.parameters.items()}


def read_metric_files(suites: Path, setting: str) -> tuple[list[MetricFile], list[SuiteError]]:
    """Return the valid metrics next to suites for a setting, and the error of each invalid one."""
    found, faults = list[MetricFile](), list[SuiteError]()
    for path in metric_files(suites, setting).values():
        try:
            found.append(read_metric_file(path, setting))
        except SuiteError as fault:
            faults.append(fault)
    return found, faults


def read_metric_file(path: Path, setting: str) -> MetricFile:
    """Return a metric without running its code.

    Args:
        path: path of the file.
        setting: the setting that names the metric.

    Raises:
        SuiteError: the file is invalid; the message describes the first error.
    """
    yaml = path.with_suffix(".yaml")
    if yaml.exists() and not path.exists():
        raise SuiteError(
            f"{yaml}: the file {path.name} with the function of this metric is missing"
        )
    if not path.stem.isidentifier() or keyword.iskeyword(path.stem):
        raise SuiteError(f"{path}: '{path.stem}' is not a valid name; use a-z, 0-9 and _")
    module, source = parsed(path)
    functions = functions_of(module)
    if path.stem not in functions:
        there = f"; it defines {', '.join(functions)}" if functions else ""
        raise SuiteError(f"{path}: the file must define the function '{path.stem}'{there}")
    function = functions[path.stem]
    if not (ast.get_docstring(function) or "").strip():
        raise SuiteError(
            f"{path}:{function.lineno}: {path.stem} needs a docstring that says what it measures"
        )
    lines, declared = arguments_of(function, path), None
    if (other := path.with_suffix(".yml")).exists():
        check_ending(other)
    if yaml.exists():
        declared = declaration(yaml, MetricDeclaration, GIVEN[setting])
    known, given = declared or MetricDeclaration(what="-", version=1), {path.stem: GIVEN[setting]}
    check_arguments({path.stem: lines}, given, path.stem, known, yaml)
    if not lines.keys() & set(NEEDED[setting]):
        raise SuiteError(
            f"{path}:{function.lineno}: {path.stem} must take at least one of the "
            f"arguments {', '.join(NEEDED[setting])}"
        )
    return MetricFile(path, source, tuple(lines), declared)


def trusted_metric(setting: str, name: str, identity: str) -> MetricFile | None:
    """Return a metric whose code may run; None if no trusted folder has this version.

    Raises:
        SuiteError: a file with this name exists but is invalid.
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
