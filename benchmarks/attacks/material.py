"""Hostile values, and changes to bytes and to records made at random."""

import copy
import math
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

NUMBERS: list[Any] = [
    0, -1, 1, 2, 1e-300, 1e300, -1e300, 1e9, 1e-9, 10**30, 2**31, 2**63, 2**64, 0.5, -0.0,
    math.nan, math.inf, -math.inf, True, False,
]  # fmt: skip
TEXTS = [
    "", " ", ".", "..", "../../../escaped", "/etc/passwd", "~", "-", "--help", "a/b", "a\\b",
    "con", "x" * 300, "x" * 20_000, "a\0b", "a\nb", "\x1b[2J\x1b[41m", "\u202eabc", "ä ö 漢字 💥",
    "<script>alert(1)</script>", "[x](javascript:alert(1))", "$\\input{x}$", "$$", "a_b^c",
    "{{ 7 * 7 }}", "{% for x in y %}", "=cmd|' /C calc'!A0", "%s%n", "null", "nan", "1e999",
    "\\write18{touch escaped}", "`touch escaped`", "$(touch escaped)", "'; drop table x; --",
]  # fmt: skip
DEEP = 3000  # levels


def hostile_value(rng: Random) -> Any:
    """Return a number, text or container that is probably not expected."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.choice(NUMBERS)
    if kind < 6:
        return rng.choice(TEXTS)
    return rng.choice([None, [], {}, [None], [[]], {"": None}, [1, "1", 1.0], {"a": {"b": []}}])


def places_of(node: Any) -> list[tuple[Any, Any]]:
    """Return every container below a node with each of its keys."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if _is_list(node) else []
    found = [(node, key) for key in keys]
    for key in keys:
        found += places_of(node[key])
    return found


def mutated(record: Any, rng: Random, changes: int = 1) -> Any:
    """Return a copy of a record with so many changes."""
    node = copy.deepcopy(record)
    for _ in range(changes):
        places = places_of(node)
        if not places:
            return hostile_value(rng)
        parent, key = rng.choice(places)
        rng.choice(_CHANGES)(parent, key, rng)
    return node


def _is_list(node: Any) -> bool:
    return isinstance(node, list)


def _replace(parent: Any, key: Any, rng: Random) -> None:
    parent[key] = hostile_value(rng)


def _remove(parent: Any, key: Any, rng: Random) -> None:
    del parent[key]


def _rename(parent: Any, key: Any, rng: Random) -> None:
    if isinstance(parent, dict):
        parent[rng.choice([*TEXTS, 1, None, True, 1.5])] = parent.pop(key)
    else:
        parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(parent[key]))


def _wrap(parent: Any, key: Any, rng: Random) -> None:
    for _ in range(rng.choice([1, 1, 1, 60])):
        parent[key] = [parent[key]] if rng.random() < 0.5 else {"x": parent[key]}


def _scale(parent: Any, key: Any, rng: Random) -> None:
    value = parent[key]
    if isinstance(value, int | float) and not isinstance(value, bool):
        factor = rng.choice([-1, 10, 1000, 1e-6, 1e12])
        parent[key] = int(value * factor) if isinstance(value, int) else value * factor
    else:
        _replace(parent, key, rng)


def _exchange(parent: Any, key: Any, rng: Random) -> None:
    other = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
    parent[key], parent[other] = parent[other], parent[key]


_CHANGES: list[Callable[[Any, Any, Random], None]] = [
    _replace, _replace, _replace, _remove, _rename, _wrap, _scale, _scale, _exchange,
]  # fmt: skip


def damaged(content: bytes, rng: Random) -> bytes:
    """Return some bytes with a bit flipped, a part lost, repeated, replaced or all of it gone."""
    if not content:
        return rng.randbytes(64)
    at = rng.randrange(len(content))
    size = rng.choice([1, 2, 16, 512])
    kinds: list[Callable[[], bytes]] = [
        lambda: content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :],
        lambda: content[:at],
        lambda: content[:at] + content[at + size :],
        lambda: content[:at] + rng.randbytes(size) + content[at + size :],
        lambda: content[:at] + bytes(size) + content[at + size :],
        lambda: content + content[at : at + size],
        lambda: rng.randbytes(len(content)),
        lambda: b"",
        lambda: bytes(len(content)),
    ]
    return rng.choice(kinds)()


def replace_by_odd_file(path: Path, rng: Random) -> str:
    """Put something in the place of a file that is no regular file, or too large; say what."""
    path.unlink()
    kind = rng.choice(["pipe", "folder", "loop", "dangling link", "endless device", "huge file"])
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge file":
        with path.open("wb") as file:
            file.truncate(5 * 2**30)  # of no blocks
    else:
        targets = {"loop": path.name, "dangling link": "nowhere", "endless device": "/dev/zero"}
        path.symlink_to(targets[kind])
    return kind


def below(root: Path) -> set[str]:
    """Return the names of all files and folders below a folder."""
    found = set()
    for folder, names, files in os.walk(root):
        found |= {os.path.relpath(os.path.join(folder, name), root) for name in (*names, *files)}
    return found
