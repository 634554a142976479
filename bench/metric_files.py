"""Metrics that users write: `NAME.py` holds a function, in `evaluations/` or `records/`.

An evaluation is a number from frozen features; a record is a number from each batch that a network
is trained with. Reading a file runs nothing: it is parsed, and hashed.
"""

import ast
import hashlib
import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bench.errors import SuiteError, choices
from bench.loss_files import arguments_of, functions_of, parsed, trusted_folders

FOLDERS = {"evaluate": "evaluations", "record": "records"}
"""The folder beside the suites, by the setting that names one of its files."""
GIVEN: dict[str, tuple[str, ...]] = {
    "evaluate": ("train_ND", "train_labels_N", "test_MD", "test_labels_M", "generator"),
    "record": ("query_ND", "key_ND", "pos_N", "neg_NK", "labels_N", "tau", "epoch"),
}
"""What a function may take, by name."""
NEEDED = {"evaluate": ("train_ND", "test_MD"), "record": ("query_ND", "key_ND", "pos_N", "neg_NK")}
"""Of which it takes one at least."""


class MetricFile(NamedTuple):
    """A metric as its file has it."""

    path: Path
    source: bytes
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """What suites call it, and what its function is called."""
        return self.path.stem

    @property
    def identity(self) -> str:
        """16 hex digits over the file."""
        return hashlib.sha256(self.source).hexdigest()[:16]


def metric_files(suites: Path, setting: str) -> Mapping[str, Path]:
    """Return the files beside the suites that a setting may name, by name."""
    return {path.stem: path for path in sorted((suites / FOLDERS[setting]).glob("*.py"))}


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
    return MetricFile(path, source, _arguments(function, path, setting))


def _arguments(function: ast.FunctionDef, path: Path, setting: str) -> tuple[str, ...]:
    lines = arguments_of(function, path)
    for name, line in lines.items():
        if name not in GIVEN[setting]:
            rest = choices(name, list(GIVEN[setting]))
            raise SuiteError(f"{path}:{line}: unknown argument '{name}'. {rest}")
    names = tuple(lines)
    if not set(names) & set(NEEDED[setting]):
        raise SuiteError(
            f"{path}:{function.lineno}: {function.name} takes none of {', '.join(NEEDED[setting])}"
        )
    return names


def trusted_metric(setting: str, name: str, identity: str) -> MetricFile | None:
    """Return a metric that may be run; None where no trusted folder has it as it was named.

    Raises:
        SuiteError: a file of this name is there, and something is wrong with it.
    """
    for folder in trusted_folders():
        path = folder / f"{name}.py"
        if path.is_file() and (file := read_metric_file(path, setting)).identity == identity:
            return file
    return None
