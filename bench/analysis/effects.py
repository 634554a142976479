"""What each check looks at: a contrast of means for each group of cells, and where it must lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf, nextafter
from typing import Any

from bench.analysis.measured import Measured, Metrics
from bench.analysis.statistics import How, Pools, Region, Term, contrast, sure_to_a_step
from bench.cells.cell import Cell
from bench.suites.checks import (
    Below,
    Change,
    Check,
    Crossing,
    Equal,
    Exceeds,
    Flat,
    GainGrows,
    Ordered,
    Peak,
    Where,
)

Key = tuple[Any, ...]  # the settings that tell a group from others
KeyOf = Callable[[dict[str, Any]], Key]
Series = dict[Any, Term]  # the points of a group of one side, by the value of the axis
Side = dict[Key, Series]
Terms = list[Term]

NO_CELL = "no cell of this scale has the settings that the check names"


@dataclass(frozen=True)
class Group:
    """One effect: the points that it is made of, and what is subtracted from their sum."""

    terms: Terms
    offset: float = 0.0

    def estimate(self, how: How, pools: Pools, step: float | None) -> Any:
        """Return the effect over seeds; None where no seed says anything."""
        found = contrast(self.terms, how, pools, self.offset)
        return None if found is None else sure_to_a_step(found, step)

    def level(self, sign: int) -> float | None:
        """Return the mean of the points that the effect adds (1) or subtracts (-1)."""
        values = [v for t in self.terms if t.weight * sign > 0 for v in t.values.values()]
        return sum(values) / len(values) if values else None


def region_of(check: Check) -> tuple[Region, float]:
    """Return where the effect must lie, and the threshold to be told."""
    if isinstance(check, Flat | Equal):
        return Region(-check.within, check.within), check.within
    if isinstance(check, Below):
        return Region(-inf, 0.0), 0.0
    least = check.by if isinstance(check, Exceeds | Change | Peak | GainGrows) else 0.0
    return Region(nextafter(least, inf), inf), least


def groups_of(check: Check, measured: Measured, metrics: Metrics) -> tuple[dict[Key, Group], str]:
    """Return the groups that a check judges one by one, and what is missing where there are none.

    A seed counts on a side where all of the side's cells are done.
    """
    sides = [check.where] + ([than] if (than := getattr(check, "than", None)) is not None else [])
    cells_of = [[c for c in measured.cells if fits(measured.known(c), s)] for s in sides]
    compared = {c.id: c for side in cells_of for c in side}
    over = getattr(check, "over", None)
    named = {name for side in sides for name in side} | {"seed", over or "seed"}
    key_of = _grouping([measured.known(cell) for cell in compared.values()], named)
    missing, by_side = NO_CELL, []
    for side in cells_of:
        whole, told = _whole_seeds(check, side, metrics)
        missing = told or missing
        by_side.append(_side(check, whole, measured, metrics, key_of))
    return _contrasts(check, by_side), missing


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
    over, points = getattr(check, "over", None), Side()
    for cell in cells:
        settings, number = measured.known(cell), metrics[cell.id][check.metric]
        if isinstance(check, Below):
            number -= metrics[cell.id][check.bound]
        key, at = key_of(settings), settings[over] if over else None
        empty = Term(1.0, {}, measured.alike(cell, check))
        values: Any = points.setdefault(key, {}).setdefault(at, empty).values
        if cell.seed in values:
            raise ValueError(f"two cells of one seed in the group {key}")
        values[cell.seed] = number
    return points


def _contrasts(check: Check, sides: list[Side]) -> dict[Key, Group]:
    """Return the groups that every side has, each as a contrast of its points."""
    shared = [key for key in sides[0] if all(key in other for other in sides)]
    own: dict[Key, Group] = {}
    for key in shared:
        for name, terms in _of_one(check, [side[key] for side in sides]):
            offset = (check.value or 0.0) if isinstance(check, Equal) else 0.0
            own[(*key, *name)] = Group(terms, offset)
    if own and isinstance(check, Exceeds | GainGrows) and check.mean:
        return {(): Group(_scaled((t for g in own.values() for t in g.terms), 1 / len(own)))}
    return own


def _of_one(check: Check, series: list[Series]) -> Iterable[tuple[Key, Terms]]:
    """Return the effects of one group: a name for each, and its points with their weights."""
    points = sorted(series[0].items()) if getattr(check, "over", None) else [*series[0].items()]
    if isinstance(check, Below | Equal | Exceeds):
        return [((), [p for _, p in points] + _scaled((s[None] for s in series[1:]), -1))]
    if isinstance(check, Crossing):
        (mine, theirs), (first, last) = series, check.between
        ends = [(a, s) for a, s in ((first, 1), (last, -1)) if a in mine and a in theirs]
        return [((a,), _scaled([mine[a]], s) + _scaled([theirs[a]], -s)) for a, s in ends]
    if isinstance(check, Peak):
        return _peak(check, points)
    if len(points) < 2:  # noqa: PLR2004
        return []
    if isinstance(check, Flat):
        return [((a, b), [y, *_scaled([x], -1)]) for (a, x), (b, y) in combinations(points, 2)]
    sign = 1 if check.direction == "rising" else -1
    if isinstance(check, GainGrows):
        ends = [(a, s) for a, s in ((points[-1][0], sign), (points[0][0], -sign))]
        if any(a not in series[1] for a, _ in ends):
            return []
        lead = [_scaled([series[0][a]], s) + _scaled([series[1][a]], -s) for a, s in ends]
        return [((), [*lead[0], *lead[1]])]
    steps = pairwise(points) if isinstance(check, Ordered) else [(points[0], points[-1])]
    return [
        ((a, b) if isinstance(check, Ordered) else (), _scaled([y], sign) + _scaled([x], -sign))
        for (a, x), (b, y) in steps
    ]


def _peak(check: Peak, points: list[tuple[Any, Term]]) -> Iterable[tuple[Key, Terms]]:
    low, high = check.near
    inside = [p for a, p in points if low <= a <= high]
    outside = [p for a, p in points if not low <= a <= high]
    if not inside or not outside:
        return []
    return [((), _scaled(inside, 1 / len(inside)) + _scaled(outside, -1 / len(outside)))]


def _scaled(terms: Iterable[Term], by: float) -> Terms:
    return [Term(term.weight * by, term.values, term.alike) for term in terms]


def fits(settings: dict[str, Any], where: Where) -> bool:
    """Return whether a cell has these settings."""
    return all(name in settings and settings[name] == value for name, value in where.items())


def _grouping(points: list[dict[str, Any]], named: Iterable[str]) -> KeyOf:
    """Return the key that tells groups of cells apart: the settings that are not named.

    Settings that follow from the named ones (a learning rate from the batch size, alpha from the
    loss) are left out, or no two cells would differ in the named ones alone.
    """
    fixed = sorted(named)
    varied = {name for p in points for name in p} - set(fixed)
    free = sorted(name for name in varied if not _follows(name, fixed, points))
    # First those that move with the named ones while all else stays, such as a learning rate that
    # follows from data set and batch size together.
    free.sort(key=lambda name: _follows(name, [n for n in free if n != name], points))
    keys = list(free)
    for name in free:
        rest = [other for other in keys if other != name]
        if _follows(name, fixed + rest, points):
            keys = rest
    return lambda settings: tuple(settings.get(name) for name in keys)


def _follows(name: str, from_names: list[str], points: list[dict[str, Any]]) -> bool:
    """Return whether a setting is a function of others, over the points there are."""
    seen: dict[Any, Any] = {}
    return all(
        seen.setdefault(tuple(p.get(n) for n in from_names), p.get(name)) == p.get(name)
        for p in points
    )
