"""What the source says of the fields of a record: the comments behind or below them."""

import ast
import inspect
import textwrap
from functools import cache
from typing import Any


def comments_of(record: type[Any]) -> dict[str, str]:
    """Return the comment of each field of a record, of those that it inherits too."""
    found: dict[str, str] = {}
    for kind in reversed(record.__mro__):
        if kind.__module__.startswith("bench."):
            found |= _own_comments(kind)
    return found


@cache
def _own_comments(kind: type[Any]) -> dict[str, str]:
    lines = textwrap.dedent(inspect.getsource(kind)).splitlines()
    (tree,) = ast.parse("\n".join(lines)).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = (node.end_lineno or node.lineno) - 1
            parts = [_after(lines, number) for number in range(node.lineno - 1, last + 1)]
            if parts[-1]:
                parts += _below(lines, last + 1)
            found[node.target.id] = " ".join(part for part in parts if part)
    return found


def _after(lines: list[str], number: int) -> str:
    """Return the comment at the end of a line; no field has `#` in its value."""
    return lines[number].partition("  # ")[2].strip()


def _below(lines: list[str], number: int) -> list[str]:
    told = []
    while number < len(lines) and lines[number].strip().startswith("# "):
        told.append(lines[number].strip().removeprefix("# "))
        number += 1
    return told
