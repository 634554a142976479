"""What the source says of the fields of a record: comments behind or below, or a text below."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
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
    for node, following in pairwise([*tree.body, None]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = (node.end_lineno or node.lineno) - 1
            parts = [_after(lines, number) for number in range(node.lineno - 1, last + 1)]
            if parts[-1]:
                parts += _below(lines, last + 1)
            parts += _text(following)
            found[node.target.id] = " ".join(part for part in parts if part)
    return found


def _text(node: ast.AST | None) -> list[str]:
    """Return the text that stands by itself, if the node is one."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return [" ".join(str(node.value.value).split())]
    return []


def _after(lines: list[str], number: int) -> str:
    """Return the comment at the end of a line; no field has `#` in its value."""
    return lines[number].partition("  # ")[2].strip()


def _below(lines: list[str], number: int) -> list[str]:
    told = []
    while number < len(lines) and lines[number].strip().startswith("# "):
        told.append(lines[number].strip().removeprefix("# "))
        number += 1
    return told
