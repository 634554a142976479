"""YAML input: size, encoding, YAML 1.2 numbers and booleans, duplicate keys; plug-ins' folders."""

import os
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import yaml

from bench.errors import BenchError, SuiteError

MAX_BYTES = 2_000_000
MAX_DEPTH = 100  # of lists and mappings in each other; the C library's stack ends far above

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_INT = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
_FORMS = {  # what may stand for a value, by its tag
    "bool": re.compile("(true|True|TRUE|false|False|FALSE)$"),
    "int": re.compile(f"({_INT})$"),
    "float": re.compile(f"({_FLOAT})$"),
}
_KEPT = ("null", "merge")  # rules of YAML 1.1 that hold here
_PLAIN = ("null", "str", "seq", "map")  # tags of plain data that need no check
EntryPointGroup = Literal["bench.suites", "bench.methods", "bench.papers"]
GROUPS: tuple[EntryPointGroup, ...] = get_args(EntryPointGroup)
"""Entry points by which an installed package provides folders of YAML files."""


class Loader(_Base):  # type: ignore[misc]
    """Loader for plain data with YAML 1.2 numbers and booleans; a duplicate key is an error.

    PyYAML follows YAML 1.1, which reads 5e-4 as text, 010 as eight, 1:30 as ninety, `no` as false,
    and parses dates.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        """Return the mapping of a node.

        Raises:
            ConstructorError: a key occurs twice.
        """
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                mark, why = key.start_mark, f"the key '{key.value}' is given twice"
                raise yaml.constructor.ConstructorError(None, None, why, mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def construct_value(loader: Any, node: yaml.ScalarNode) -> bool | int | float:
    """Return the number or boolean of a node; -0.0 becomes 0.0.

    Raises:
        ConstructorError: the value does not match its tag.
    """
    kind, text = node.tag.removeprefix(_TAG), str(loader.construct_scalar(node))
    if not _FORMS[kind].match(text):
        why = f"'{text}' is not a value of !!{kind}"
        raise yaml.constructor.ConstructorError(None, None, why, node.start_mark)
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan")) + 0.0


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag.removeprefix(_TAG) in _KEPT]
    for first, rules in _Base.yaml_implicit_resolvers.items()
}
Loader.yaml_constructors = {
    None: _Base.yaml_constructors[None],
    **{_TAG + name: _Base.yaml_constructors[_TAG + name] for name in _PLAIN},
    **{_TAG + name: construct_value for name in _FORMS},
}
Loader.add_implicit_resolver(_TAG + "bool", _FORMS["bool"], list("tTfF"))
Loader.add_implicit_resolver(_TAG + "int", _FORMS["int"], list("-+0123456789"))
Loader.add_implicit_resolver(_TAG + "float", _FORMS["float"], list("-+.0123456789"))

_WAYS_OUT = {
    "mapping values are not": "put text that contains ': ' in quotation marks",
    "found character": "indent with spaces, not tabs; quote text that starts with this character",
    "did not find expected key": "check indentation and quotation marks here and above",
}
"""Advice by the start of the YAML reader's message."""


def load_yaml(path: Path, error: type[BenchError], loader: Any = Loader) -> Any:
    """Return the plain data of a YAML file.

    Args:
        path: path of the file.
        error: class of the error to raise.
        loader: YAML loader class.

    Raises:
        BenchError: an error of the given class. The file is missing, too large, not UTF-8, not
            YAML, has a duplicate key, or is nested deeper than MAX_DEPTH.
    """
    try:
        raw = path.read_bytes()
    except OSError as fault:
        raise error(f"{path}: {fault.strerror or fault}") from fault
    if len(raw) > MAX_BYTES:
        raise error(
            f"{path}: the file has {len(raw)} bytes, but a YAML file may have at most {MAX_BYTES}"
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise error(f"{path}: the file is not valid UTF-8 (byte {fault.start})") from fault
    try:
        return _plain_data(text, loader)
    except yaml.YAMLError as fault:
        raise error(f"{path}: {_one_line(fault)}") from fault
    except (ValueError, RecursionError) as fault:
        raise error(f"{path}: the file cannot be read as YAML ({fault})") from fault


def _plain_data(text: str, loader: Any) -> Any:
    _check_depth(text)
    return yaml.load(text, loader)


def line_of(path: Path, keys: Iterable[int | str]) -> int:
    """Return the line, from 1, of the last of these keys that exists in a plain YAML file.

    Args:
        path: path of a file for `load_yaml`.
        keys: a key of a mapping or a position in a list at each level.
    """
    node: Any = yaml.compose(path.read_text(encoding="utf-8"), Loader)
    line = 1
    for key in keys:
        pairs: list[tuple[yaml.Node, Any]] = []
        if isinstance(node, yaml.MappingNode):
            pairs = [(k, v) for k, v in node.value if k.value == key]
        elif isinstance(node, yaml.SequenceNode):
            pairs = [(entry, entry) for entry in node.value[int(key) :][:1]]
        if not pairs:
            break
        at, node = pairs[0]
        line = at.start_mark.line + 1
    return line


def _check_depth(text: str) -> None:
    """Refuse deep nesting before nodes are made of it, which takes a call per level.

    Raises:
        ValueError: lists and mappings are nested deeper than MAX_DEPTH.
    """
    depth = 0
    for event in yaml.parse(text, Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"lists and mappings are nested more than {MAX_DEPTH} levels deep")


def yaml_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder sorted by name; empty if the folder does not exist."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith((".yaml", ".yml")))
    except OSError:
        return []
    return [path for name in names if (path := folder / name).is_file()]


def _one_line(fault: yaml.YAMLError) -> str:
    mark = getattr(fault, "problem_mark", None)
    problem = getattr(fault, "problem", None) or " ".join(str(fault).split())
    problem += next((f"; {w}" for cause, w in _WAYS_OUT.items() if problem.startswith(cause)), "")
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark else problem


def scalar(text: str) -> Any:
    """Return the value of a YAML scalar: the text `64` gives a number, `bank` gives text."""
    try:
        value = _plain_data(text, Loader)
    except (yaml.YAMLError, ValueError):
        return text
    return value if isinstance(value, bool | int | float | str | None) else text


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
