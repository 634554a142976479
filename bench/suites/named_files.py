"""Data by name in a folder of YAML files, read in the files' order: presets and shared scales."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from bench.errors import SuiteError
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml, yaml_files

Entry = TypeVar("Entry", bound=BaseModel)
Built = TypeVar("Built")


def read_folder(
    folder: Path, before: Mapping[str, Built], add: Callable[[Path, dict[str, Built]], None]
) -> Mapping[str, Built]:
    """Return what is known by name once the files of a folder are added.

    Args:
        folder: of YAML files; it need not exist.
        before: what is known before.
        add: adds what a file holds, which may build on what is known by then.

    Raises:
        SuiteError: in one line, whatever is wrong with a file.
    """
    known = dict(before)
    for path in yaml_files(folder):
        add(path, known)
    return known


def read_entries(
    path: Path, kind: type[Entry], known: Mapping[str, object], noun: str
) -> dict[str, Entry]:
    """Return the entries of a file by name.

    Args:
        path: a mapping of names to entries.
        kind: what an entry is.
        known: names that are taken.
        noun: what an entry is called in messages.

    Raises:
        SuiteError: in one line, whatever is wrong with the file, or a name that is taken.
    """
    data = load_yaml(path, SuiteError)
    try:
        entries = TypeAdapter(dict[str, kind]).validate_python(data)  # type: ignore[valid-type]
    except ValidationError as error:
        raise SuiteError(explain(error, path, root=kind)) from None
    for name in entries:
        if name in known:
            raise SuiteError(f"{path}: {name}: there is a {noun} of that name already")
    return entries
