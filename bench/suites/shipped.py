"""What comes with bench itself or with installed packages: suites, methods, reference results."""

import os
import re
import shutil
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import bench
from bench.errors import SuiteError

HERE = Path("suites")
Group = Literal["bench.suites", "bench.methods"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Entry points under which an installed package names folders of YAML files."""


def shipped_suites() -> Path:
    """Return the folder of bench's own suites: inside an installed package, or of the checkout."""
    return _shipped("suites", "suites")


def reference_results() -> Path:
    """Return the folder of the reference results, which are exported tables."""
    return _shipped("results", "results/reference")


def _shipped(inside: str, beside: str) -> Path:
    package = Path(bench.__file__).resolve().parent
    installed = package / "shipped" / inside
    return installed if installed.is_dir() else package.parent / beside


def default_suites() -> Path:
    """Return `./suites` if there is such a folder, else that of bench's own suites."""
    return HERE if HERE.is_dir() else shipped_suites()


def copy_suites(to: Path) -> int:
    """Copy bench's own suites into a new folder, which appears whole; return how many they are.

    Raises:
        SuiteError: the folder holds something already.
    """
    if to.is_symlink() or (to.exists() and not (to.is_dir() and not any(to.iterdir()))):
        raise SuiteError(f"{to}: exists and is not empty; nothing was copied")
    to.parent.mkdir(parents=True, exist_ok=True)
    partial = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        shutil.copytree(shipped_suites(), partial, copy_function=_copy)
        partial.replace(to)  # in the place of an empty folder too
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return len(list(to.glob("*.yaml")))


def _copy(source: str, to: str) -> None:
    """Copy a file; a full disk ends it all, with one line."""
    from bench.files.atomic import disk_failures  # here alone: `bench --help` need not load it

    with disk_failures(Path(to)):
        shutil.copyfile(source, to)


class PluginFolder(NamedTuple):
    """A folder of YAML files that an installed package names."""

    plugin: str  # name and version of the distribution
    path: Path


@cache
def plugin_folders(group: Group) -> tuple[PluginFolder, ...]:
    """Return the folders of a group in the order of their packages; no package is imported.

    Raises:
        SuiteError: an entry point names no folder of an installed package.
    """
    return tuple(sorted({_folder_of(point) for point in entry_points(group=group)}))


def _folder_of(point: EntryPoint) -> PluginFolder:
    assert point.dist is not None  # `entry_points` sets it
    plugin = f"{re.sub(r'[-_.]+', '-', point.dist.name).lower()} {point.dist.version}"
    package, *below = point.value.split(".")
    try:
        spec = find_spec(package)  # a top-level package is found without an import
    except ValueError:
        spec = None
    for base in (spec.submodule_search_locations or []) if spec else []:
        if (path := Path(base, *below)).is_dir():
            return PluginFolder(plugin, path)
    raise SuiteError(
        f"plug-in {plugin}: entry point {point.group}, {point.name}: found '{point.value}', "
        "expected the dotted name of a folder in an installed package"
    )
