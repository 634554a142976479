"""Reading YAML files: size, encoding, keys given twice."""

import re
from pathlib import Path
from typing import Any

import yaml

from bench.errors import BenchError

MAX_BYTES = 2_000_000
MAX_DEPTH = 100  # of lists and mappings in each other; the C library's stack ends far above

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_Base):  # type: ignore[misc]
    """Safe loading; `5e-4` is a number (YAML 1.1 reads it as text), dates stay text.

    A key given twice is an error.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        """Return the mapping of a node.

        Raises:
            ConstructorError: it has a key twice.
        """
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                mark, why = key.start_mark, f"key '{key.value}' twice"
                raise yaml.constructor.ConstructorError(None, None, why, mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if not tag.endswith("timestamp")]
    for first, rules in _Base.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def load_yaml(path: Path, error: type[BenchError], loader: Any = Loader) -> Any:
    """Return the plain data of the file.

    Args:
        path: the file.
        error: class of the error that is raised.
        loader: which YAML loader reads it.

    Raises:
        BenchError: of the class given, in one line, for a file that is missing, too large, not
            UTF-8, not YAML, has a key twice, or is nested deeper than MAX_DEPTH.
    """
    try:
        raw = path.read_bytes()
    except OSError as fault:
        raise error(f"{path}: {fault.strerror or fault}") from fault
    if len(raw) > MAX_BYTES:
        raise error(f"{path}: {len(raw)} bytes; a YAML file here has at most {MAX_BYTES}")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise error(f"{path}: byte {fault.start} is not UTF-8") from fault
    try:
        _check_depth(text)
        return yaml.load(text, loader)
    except yaml.YAMLError as fault:
        raise error(f"{path}: {_one_line(fault)}") from fault
    except (ValueError, RecursionError) as fault:
        raise error(f"{path}: cannot be read as YAML ({fault})") from fault


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
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")


def yaml_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder in the order of their names; none if it does not exist."""
    files = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    return [path for path in files if path.is_file()]


def _one_line(fault: yaml.YAMLError) -> str:
    mark = getattr(fault, "problem_mark", None)
    problem = getattr(fault, "problem", None) or " ".join(str(fault).split())
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark else problem


def scalar(text: str) -> Any:
    """Return the value that a piece of YAML text stands for: 64 is a number, bank is text."""
    try:
        _check_depth(text)
        value = yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError):
        return text
    return value if isinstance(value, bool | int | float | str | None) else text
