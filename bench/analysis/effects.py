"""What each check looks at: a contrast of means for each group of cells, and where it must lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import inf, nextafter
from typing import Any

from bench.analysis.measured import Measured, Metrics
from bench.analysis.statistics import How, Pools, Region, Seeds, Term, contrast, sure_to_a_step
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.suites.checks import (
    Below,
    Check,
    Crossing,
    Equal,
    Exceeds,
    Flat,
    GainExceeds,
    GainGrows,
    MovesLess,
    Ordered,
    Peak,
    Where,
)

Key = tuple[Any, ...]  # what tells a group from others: pairs of a setting and its value, ends
Known = dict[str, Any]  # the settings of a cell
KeyOf = Callable[[Known], Key]
Series = dict[Any, Term]  # the points of a group of one side, by the value of the axis
Terms = list[Term]

LEAST_POINTS = 2  # of an axis
NO_CELL = "no cell of this scale has the settings that the check names"


@dataclass(frozen=True)
class Points:
    """What one side has in a group: its cells, and a point for each value of the axis."""

    series: Series = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)


Side = dict[Key, Points]


@dataclass(frozen=True)
class Group:
    """One effect: the points that it is made of, and what is subtracted from their sum."""

    terms: Terms
    offset: float
    sides: list[list[Cell]]  # all cells of each side along the axis
    settings: Known = field(default_factory=dict)  # that tell these cells from other groups'
    at: Known = field(default_factory=dict)  # of several effects along an axis: where on it

    def estimate(self, how: How, pools: Pools, step: float | None) -> Any:
        """Return the effect over seeds; None where no seed says anything.

        Args:
            how: where the standard error comes from; see `analysis/statistics.py`.
            pools: shared variances, for `pooled`.
            step: the resolution of the metric, below which nothing is sure; None: none.
        """
        difference = contrast(self.terms, how, pools, self.offset)
        return None if difference is None else sure_to_a_step(difference, step)

    def moves(self) -> tuple[float, float]:
        """Return how far the other side and the check's own move, for `moves-less`, by means."""
        parts = self.terms[:2], self.terms[2:]
        theirs, ours = (sum(t.weight * t.values.mean for t in part) for part in parts)
        return theirs, 0.0 - ours


def region_of(check: Check) -> tuple[Region, float]:
    """Return where the effect must lie, and the threshold to be reported."""
    if isinstance(check, Flat | Equal):
        return Region(-check.within, check.within), check.within
    if isinstance(check, Below):
        return Region(-inf, 0.0), 0.0
    least = float(getattr(check, "by", 0.0))
    return Region(nextafter(least, inf), inf), least


def groups_of(check: Check, measured: Measured, metrics: Metrics) -> tuple[dict[Key, Group], str]:
    """Return the groups that a check judges one by one, and what is missing where there are none.

    A seed counts on a side where all of the side's cells are done.

    Args:
        check: one check of a claim.
        measured: the cells and their results.
        metrics: metrics by cell id.
    """
    sides = sides_of(check)
    cells_of = [_cells_of(check, side, measured.index) for side in sides]
    compared = {c.id: c for side in cells_of for c in side}
    named = {name for side in sides for name in side} | {"seed", getattr(check, "over", "seed")}
    key_of = _grouping([cell.known for cell in compared.values()], named)
    missing, by_side = NO_CELL, []
    for side in cells_of:
        whole, reason = _whole_seeds(check, side, metrics)
        missing = reason or missing
        by_side.append(_side(check, whole, measured, metrics, key_of))
    return _contrasts(check, by_side), missing


def sides_of(check: Check) -> list[Where]:
    """Return the settings of each side of cells that the check compares, its own first."""
    others = (getattr(check, name, None) for name in ("than", "other", "other_than"))
    return [check.where, *(side for side in others if side is not None)]


def _cells_of(check: Check, side: Where, index: CellIndex) -> list[Cell]:
    """Return the cells of a side; where the check begins at a value of its axis, from there on."""
    cells = index.where(side)
    if not isinstance(check, MovesLess) or check.over_from is None:
        return cells
    return [cell for cell in cells if cell.known[check.over] >= check.over_from]


def _whole_seeds(
    check: Check, side: Sequence[Cell], metrics: Metrics
) -> tuple[list[Cell], str | None]:
    """Return the cells of the seeds that have all of a side, and why others are left out."""
    by_seed: dict[int, list[Cell]] = {}
    for cell in side:
        by_seed.setdefault(cell.seed, []).append(cell)
    missing, whole = None, []
    for part in by_seed.values():
        if any(cell.id not in metrics for cell in part):
            missing = "no seed has all of its cells done"
        elif any(check.metric not in metrics[cell.id] for cell in part):
            missing = f"its cells do not measure {check.metric}"
        else:
            whole += part
    return whole, missing


def _side(
    check: Check, cells: Sequence[Cell], measured: Measured, metrics: Metrics, key_of: KeyOf
) -> Side:
    """Return the points of one side by group and value of the axis.

    Raises:
        ValueError: a point has two numbers of one seed.
    """
    over, side = getattr(check, "over", None), Side()
    for cell in cells:
        settings, number = cell.known, metrics[cell.id][check.metric]
        if isinstance(check, Below):
            number -= metrics[cell.id][check.bound]
        key, at = key_of(settings), settings[over] if over else None
        points = side.setdefault(key, Points())
        empty = Term(1.0, Seeds(), measured.alike(cell, check))
        values = points.series.setdefault(at, empty).values
        if cell.seed in values:
            raise ValueError(f"two cells of one seed in the group {key}")
        values[cell.seed] = number
        points.cells.append(cell)
    return side


def _contrasts(check: Check, sides: list[Side]) -> dict[Key, Group]:
    """Return the groups that every side has, each as a contrast of its points."""
    shared = [key for key in sides[0] if all(key in other for other in sides)]
    groups: dict[Key, Group] = {}
    offset = (check.value or 0.0) if isinstance(check, Equal | Exceeds) else 0.0
    for key in shared:
        cells = [side[key].cells for side in sides]
        for name, terms in _of_one(check, [side[key].series for side in sides]):
            groups[(*key, *name)] = Group(terms, offset, cells, dict(key), _place(check, name))
    if groups and isinstance(check, Exceeds | GainGrows) and check.mean:
        terms = [_by(t, 1 / len(groups)) for group in groups.values() for t in group.terms]
        cells = [[c for key in shared for c in side[key].cells] for side in sides]
        return {(): Group(terms, offset, cells)}
    return groups


def _place(check: Check, name: Key) -> Known:
    """Return the value of the check's axis that an effect is at, or those between which it is."""
    if not isinstance(check, Flat | Ordered | Crossing):
        return {}
    return {check.over: name[0] if len(name) == 1 else list(name)}


def _of_one(check: Check, series: list[Series]) -> Iterable[tuple[Key, Terms]]:
    """Return the effects of one group: a name for each, and its points with their weights."""
    if isinstance(check, Below | Equal | Exceeds | GainExceeds):
        signs = (1, -1, -1, 1)
        return [((), [_by(s[None], sign) for s, sign in zip(series, signs, strict=False)])]
    if isinstance(check, Crossing):
        first, last = check.between
        ends = [(a, sign) for a, sign in ((first, 1), (last, -1)) if all(a in s for s in series)]
        return [((a,), _lead(series, a, sign)) for a, sign in ends]
    shared = sorted(a for a in series[0] if all(a in other for other in series[1:]))
    if isinstance(check, Peak):
        return _peak(check, series, shared)
    if len(shared) < LEAST_POINTS:
        return []
    if isinstance(check, Flat):
        return [((a, b), _change(series[0], a, b, 1)) for a, b in combinations(shared, 2)]
    sign = 1 if check.direction == "rising" else -1
    if isinstance(check, Ordered):
        return [((a, b), _change(series[0], a, b, sign)) for a, b in pairwise(shared)]
    a, b = shared[0], shared[-1]
    if isinstance(check, MovesLess):
        ours, theirs = (_change(s, a, b, sign) for s in series)
        return [((turn,), [*theirs, *(_by(t, turn) for t in ours)]) for turn in (-1, 1)]
    if isinstance(check, GainGrows):
        return [((), _lead(series, b, sign) + _lead(series, a, -sign))]
    return [((), _change(series[0], a, b, sign))]


def _peak(check: Peak, series: list[Series], values: list[Any]) -> Iterable[tuple[Key, Terms]]:
    low, high = check.near
    inside = [a for a in values if low <= a <= high]
    outside = [a for a in values if not low <= a <= high]
    if not inside or not outside:
        return []
    terms = [t for a in inside for t in _lead(series, a, 1 / len(inside))]
    return [((), terms + [t for a in outside for t in _lead(series, a, -1 / len(outside))])]


def _lead(series: list[Series], at: Any, weight: float) -> Terms:
    """Return the lead of the first side over the second, if there is one, at a value."""
    return [_by(s[at], weight * sign) for s, sign in zip(series, (1, -1), strict=False)]


def _change(series: Series, start: Any, end: Any, weight: float) -> Terms:
    return [_by(series[end], weight), _by(series[start], -weight)]


def _by(term: Term, weight: float) -> Term:
    return Term(term.weight * weight, term.values, term.alike)


def telling_settings(groups: Sequence[tuple[Known, Known]]) -> list[Known]:
    """Return what tells each of several groups from the others: one setting where one is enough.

    The method, the data set or the batch size if one of them is, for readers know these; else the
    key of the group.

    Args:
        groups: of each the settings of its first cell, and its key without values of an axis.
    """
    for name in ("method", "dataset", "batch_size", *(n for n in groups[0][0] if n != "seed")):
        values = [settings.get(name) for settings, _ in groups]
        if all(values.count(value) == 1 for value in values):
            return [{name: value} for value in values]
    return [key for _, key in groups]


def cells_named(check: Check, index: CellIndex) -> list[Cell]:
    """Return the cells on the check's sides, in the order of the index."""
    ids = {cell.id for side in sides_of(check) for cell in _cells_of(check, side, index)}
    return [cell for cell in index.cells if cell.id in ids]


def _grouping(points: list[Known], named: Iterable[str]) -> KeyOf:
    """Return the key that tells groups of cells apart: the settings that are not named.

    Settings that follow from the named ones (a learning rate from the batch size, alpha from the
    loss) are left out, or no two cells would differ in the named ones alone.
    """
    fixed = sorted(named)
    names = {name for p in points for name in p} - set(fixed)
    varied = (name for name in names if _varies(name, points))
    free = sorted(name for name in varied if not _follows(name, fixed, points))
    # First those that move with the named ones while all else stays, such as a learning rate that
    # follows from data set and batch size together.
    keys = sorted(free, key=lambda name: _follows(name, [n for n in free if n != name], points))
    for name in tuple(keys):
        rest = [other for other in keys if other != name]
        if _follows(name, fixed + rest, points):
            keys = rest
    return lambda settings: tuple((name, settings.get(name)) for name in keys)


def _varies(name: str, points: list[Known]) -> bool:
    """Return whether a setting differs among the points, of which there is one at least."""
    first = points[0].get(name)
    return any(point.get(name) != first for point in points)


def _follows(name: str, from_names: list[str], points: list[Known]) -> bool:
    """Return whether a setting is a function of others, over the points there are."""
    seen: dict[Any, Any] = {}
    return all(
        seen.setdefault(tuple(p.get(n) for n in from_names), p.get(name)) == p.get(name)
        for p in points
    )
