"""Folders of YAML files from installed packages: suites, methods and papers."""

import re
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from bench.errors import SuiteError

EntryPointGroup = Literal["bench.suites", "bench.methods", "bench.papers"]
GROUPS: tuple[EntryPointGroup, ...] = get_args(EntryPointGroup)
"""Entry points by which an installed package provides folders of YAML files."""


class PluginFolder(NamedTuple):
    """A folder of YAML files from an installed package."""

    plugin: str  # name and version of the distribution
    path: Path


@cache
def plugin_folders(group: EntryPointGroup) -> tuple[PluginFolder, ...]:
    """Return the folders of a group in package order; no package is imported.

    Raises:
        SuiteError: an entry point does not name a folder of an installed package.
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
