"""Folders of YAML files that installed packages name as entry points; nothing is imported."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from bench.errors import SuiteError

Group = Literal["bench.suites", "bench.methods", "bench.objectives"]
GROUPS: tuple[Group, ...] = get_args(Group)


class Plugin(NamedTuple):
    """An installed distribution that brings something."""

    name: str  # of the distribution, as package indexes write it
    version: str

    def __str__(self) -> str:
        """Return name and version, as messages have them."""
        return f"{self.name} {self.version}"


class PluginFolder(NamedTuple):
    """A folder that a plug-in names."""

    plugin: Plugin
    package: str  # the top-level package that the folder is in
    path: Path


@cache
def plugin_folders(group: Group) -> tuple[PluginFolder, ...]:
    """Return the folders of a group, in the order of their distributions' names.

    Raises:
        SuiteError: an entry point names no folder of an installed package.
    """
    return tuple(sorted(map(_folder_of, _points(group))))


def _points(group: Group) -> Iterator[EntryPoint]:
    """Yield the group's entry points; a path that is searched twice gives each of them once."""
    seen = set()
    for point in entry_points(group=group):
        key = (_plugin_of(point).name, point.name, point.value)
        if key not in seen:
            seen.add(key)
            yield point


def _plugin_of(point: EntryPoint) -> Plugin:
    assert point.dist is not None  # as of every entry point that was found by its group
    return Plugin(re.sub(r"[-_.]+", "-", point.dist.name).lower(), point.dist.version)


def _folder_of(point: EntryPoint) -> PluginFolder:
    package, *below = point.value.split(".")
    try:
        spec = find_spec(package)  # of a top-level package: this imports nothing
    except ValueError:
        spec = None
    places = (spec.submodule_search_locations or []) if spec else []
    folders = [path for base in places if (path := Path(base, *below)).is_dir()]
    if not folders:
        raise SuiteError(
            f"plug-in {_plugin_of(point)}: entry point {point.group}, {point.name}: found "
            f"'{point.value}', expected the dotted name of a folder in an installed package"
        )
    return PluginFolder(_plugin_of(point), package, folders[0])
