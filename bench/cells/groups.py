"""Groups of cells: selection by settings, names, stacks and shards."""

import heapq
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bench.cells.cell import Cell, varied_settings
from bench.text import value_text

Values = tuple[Hashable, ...]


class CellIndex:
    """The cells of a suite at a scale, indexed by their settings."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        """Name the cells; a choice of settings is indexed when it is first asked for."""
        self.cells = list(cells)
        self._by_names: dict[tuple[str, ...], dict[Values, list[Cell]]] = {}

    def where(self, wanted: Mapping[str, Any]) -> list[Cell]:
        """Return the cells with these settings (including `experiment`), in order.

        Cells without a setting of this name are excluded.
        """
        names = tuple(sorted(wanted))
        if names not in self._by_names:
            self._by_names[names] = self._grouped(names)
        return list(self._by_names[names].get(_values(wanted, names), ()))

    def _grouped(self, names: tuple[str, ...]) -> dict[Values, list[Cell]]:
        groups: dict[Values, list[Cell]] = {}
        wanted = set(names)
        for cell in self.cells:
            known = cell.known
            if known.keys() >= wanted:
                groups.setdefault(_values(known, names), []).append(cell)
        return groups


def _values(known: Mapping[str, Any], names: tuple[str, ...]) -> Values:
    """Return the values of some settings; lists, which have no hash, by what they look like."""
    values = tuple([known[name] for name in names])
    try:
        hash(values)
    except TypeError:
        return tuple([v if isinstance(v, Hashable) else repr(v) for v in values])
    return values


FIRST = ("method", "negatives", "loss")  # settings that name a cell best, kept where others follow
LONGEST = 48  # characters of a label


def telling_settings(cells: Sequence[Cell]) -> list[str]:
    """Return the settings that distinguish the cells, omitting redundant ones."""
    names = varied_settings(cells)
    points = [{n: cell.settings.get(n) for n in names} for cell in cells]
    return without_followers(points, nulls_tell=False)


def settings_beside(cells: Sequence[Cell], given: Sequence[str]) -> list[str]:
    """Return the settings, without the seed, that tell apart cells alike in the given ones.

    Settings that follow from the others are left out.
    """
    points = {
        cell.but_seed: {name: value for name, value in cell.known.items() if name != "seed"}
        for cell in cells
    }
    names = dict.fromkeys(name for point in points.values() for name in point)
    alike = [{name: point.get(name) for name in names} for point in points.values()]
    return without_followers(alike, given=given) if alike else []


def without_followers(
    points: Sequence[Mapping[str, Any]], *, nulls_tell: bool = True, given: Sequence[str] = ()
) -> list[str]:
    """Return the names of settings, omitting those that follow from others.

    If two settings follow from each other, the first one in `FIRST`, or else in order, is kept.

    Args:
        points: settings by name, the same names in each.
        given: settings that are already named. They and the settings that follow from them are
            omitted.
        nulls_tell: whether null counts as a value. If not, a setting in `FIRST` that follows only
            from nulls is kept, so a loss without alpha is named.
    """
    names = [name for name in FIRST if name in points[0]]
    names += [name for name in points[0] if name not in names]
    names = [n for n in names if any(point.get(n) != points[0][n] for point in points)]
    names = [name for name in names if name not in given]
    for name in reversed(names[:]):
        others = [other for other in names if other != name]
        rest = [*given, *others]
        if follows(
            name, _known(rest, points) if name in FIRST and not nulls_tell else rest, points
        ):
            names = others
    return names


def _known(names: Sequence[str], points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the settings that have a value in every point."""
    return [name for name in names if all(p.get(name) is not None for p in points)]


def labels(cells: Sequence[Cell]) -> list[str]:
    """Return a short name for each cell: `dcl, batch_size 32, seed 0`.

    Labels distinguish cells of one experiment. They name the experiment if there are several.
    """
    kinds = list(dict.fromkeys(cell.experiment for cell in cells))
    names = {k: telling_settings([c for c in cells if c.experiment == k]) for k in kinds}
    return [_label(cell, names[cell.experiment], alone=len(kinds) == 1) for cell in cells]


def _label(cell: Cell, names: Sequence[str], *, alone: bool) -> str:
    known = {n: cell.settings[n] for n in names if cell.settings.get(n) is not None}
    parts = [v if isinstance(v, str) else f"{n} {value_text(v)}" for n, v in known.items()]
    kind = [] if parts and alone else [cell.experiment]
    seed = f"seed {cell.seed}"
    text = ", ".join([*kind, *parts, seed])
    return text if len(text) <= LONGEST else f"{text[: LONGEST - len(seed) - 5]}..., {seed}"


def follows(name: str, rest: Sequence[str], points: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a setting is a function of the others, over these points."""
    seen: dict[tuple[Any, ...], Any] = {}
    return all(
        seen.setdefault(tuple(p.get(n) for n in rest), p.get(name)) == p.get(name) for p in points
    )


Stack = list[Cell]


def make_stacks(cells: Sequence[Cell], slots: int) -> list[Stack]:
    """Return the cells in stacks, the longest first to balance the workers.

    A stack has at most `stack_limit` cells. If there are fewer stacks than slots, stacks are split
    unless their cells share a training.
    """
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.stack_key].append(cell)
    stacks = []
    for group in groups.values():
        wanted = -(-len(group) // group[0].stack_limit)
        if group[0].training_id is None:
            wanted = max(wanted, -(-slots // len(groups)))
        stacks += _split(group, min(wanted, len(group)))
    return sorted(stacks, key=_work, reverse=True)


def shards(cells: Sequence[Cell], parts: int) -> list[list[Cell]]:
    """Return the cells in this many parts with about equal work; parts may be empty.

    Cells that share a training stay together. The division depends only on the cells, so
    independent machines compute the same parts.
    """
    groups: dict[str, Stack] = {}
    for cell in cells:
        groups.setdefault(cell.training_id or cell.id, []).append(cell)
    loads = [(0.0, part) for part in range(parts)]
    found: list[list[Cell]] = [[] for _ in range(parts)]
    for key in sorted(groups, key=lambda key: (-_work(groups[key]), key)):
        load, part = heapq.heappop(loads)
        heapq.heappush(loads, (load + _work(groups[key]), part))
        found[part] += groups[key]
    return found


def _split(group: list[Cell], parts: int) -> list[Stack]:
    """Return the group in so many parts of (nearly) one size."""
    bounds = [round(i * len(group) / parts) for i in range(parts + 1)]
    return [group[low:high] for low, high in pairwise(bounds)]


def _work(stack: Stack) -> float:
    return stack[0].training_work + sum(cell.work for cell in stack)
