"""What each check looks at: one number a seed for each group of cells, and where it must lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf, nextafter
from statistics import mean, stdev
from typing import Any

from bench.analysis.statistics import LEVEL, Interval, difference, t_interval
from bench.cells.cell import Cell
from bench.suites.checks import (
    Below,
    Change,
    Check,
    Crossing,
    Equal,
    Exceeds,
    Flat,
    Flatter,
    Ordered,
    Peak,
    Steadier,
    Where,
)

Key = tuple[Any, ...]  # the settings that tell a group from others
Points = list[tuple[dict[str, Any], dict[str, float]]]  # settings and metrics of one side and seed
KeyOf = Callable[[dict[str, Any]], Key]
Metrics = dict[str, dict[str, float]]  # by cell id

NO_CELL = "no cell of this scale has the settings that the check names"


@dataclass(frozen=True)
class Region:
    """Where an effect lies if the check holds: from low to high, both included."""

    low: float
    high: float

    def holds(self, effect: Interval) -> bool:
        """Whether the whole interval lies in it."""
        if effect.low is None or effect.high is None:
            return False
        return self.low <= effect.low and effect.high <= self.high

    def fails(self, effect: Interval) -> bool:
        """Whether the whole interval lies outside."""
        if effect.low is None or effect.high is None:
            return False
        return effect.high < self.low or effect.low > self.high

    def margin(self, effect: Interval) -> float:
        """How far the mean lies inside; negative outside."""
        return min(effect.mean - self.low, self.high - effect.mean)


@dataclass(frozen=True)
class Sides:
    """One group: a number for each seed, and one for each seed of the cells compared with."""

    mine: dict[int, float]
    theirs: dict[int, float] | None = None

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Return the effect over seeds; None where no seed says anything."""
        if self.theirs is not None:
            return difference(self.mine, self.theirs, level)
        return t_interval(list(self.mine.values()), level) if self.mine else None


def region_of(check: Check) -> tuple[Region, float]:
    """Return where the effect must lie, and the threshold to be told.

    Of `flat` and `equal` the interval must lie inside of +-within: two one-sided tests of
    equivalence, each at half of what the interval's level leaves.
    """
    if isinstance(check, Flat | Equal):
        return Region(-check.within, check.within), check.within
    if isinstance(check, Below):
        return Region(-inf, 0.0), 0.0
    least = check.by if isinstance(check, Exceeds | Change) else 0.0
    return Region(nextafter(least, inf), inf), least


def groups_of(
    check: Check, cells: Sequence[Cell], metrics: Metrics
) -> tuple[dict[Key, Sides], str]:
    """Return the groups that a check judges one by one, and what is missing where there are none.

    A seed counts on a side where all of the side's cells are done.
    """
    sides = [check.where] + ([than] if (than := getattr(check, "than", None)) is not None else [])
    cells_of = [[c for c in cells if fits(known(c), side)] for side in sides]
    compared = {c.id: c for side in cells_of for c in side}
    named = {name for side in sides for name in side} | {"seed", getattr(check, "over", "seed")}
    key_of = _grouping([known(cell) for cell in compared.values()], named)
    missing = NO_CELL
    by_side: list[dict[int, dict[Key, float]]] = []
    for side in cells_of:
        by_seed: dict[int, list[Cell]] = {}
        for cell in side:
            by_seed.setdefault(cell.seed, []).append(cell)
        numbers: dict[int, dict[Key, float]] = {}
        for seed, part in by_seed.items():
            if any(cell.id not in metrics for cell in part):
                missing = "no seed has all of its cells done"
            elif any(check.metric not in metrics[cell.id] for cell in part):
                missing = f"its cells do not measure {check.metric}"
            else:
                numbers[seed] = _numbers(check, [(known(c), metrics[c.id]) for c in part], key_of)
        by_side.append(numbers)
    return _joined(check, by_side), missing


def _joined(check: Check, by_side: list[dict[int, dict[Key, float]]]) -> dict[Key, Sides]:
    """Return the groups that every side has."""
    keys = [{key: None for numbers in side.values() for key in numbers} for side in by_side]
    shared = [key for key in keys[0] if all(key in other for other in keys)]
    if shared and isinstance(check, Exceeds) and check.mean:
        means = [{s: {(): mean(n[k] for k in shared)} for s, n in side.items()} for side in by_side]
        return {(): Sides(*({s: n[()] for s, n in side.items()} for side in means))}
    return {
        key: Sides(*({s: n[key] for s, n in side.items() if key in n} for side in by_side))
        for key in shared
    }


def known(cell: Cell) -> dict[str, Any]:
    """Return what `where` may name of a cell."""
    return {"experiment": cell.experiment} | cell.settings


def fits(settings: dict[str, Any], where: Where) -> bool:
    """Return whether a cell has these settings."""
    return all(name in settings and settings[name] == value for name, value in where.items())


def _numbers(check: Check, points: Points, key_of: KeyOf) -> dict[Key, float]:
    """Return one number a group, of the cells of one side and seed."""
    values = [(settings, metrics[check.metric]) for settings, metrics in points]
    if isinstance(check, Below):
        return _one_each((key_of(s), m[check.metric] - m[check.bound]) for s, m in points)
    if isinstance(check, Equal):
        return _one_each((key_of(s), v - (check.value or 0.0)) for s, v in values)
    if isinstance(check, Exceeds):
        return _one_each((key_of(s), v) for s, v in values)
    if isinstance(check, Peak):
        return _lead(check, values)
    if isinstance(check, Crossing):
        first, last = check.between
        ends = [(s, v if s[check.over] == first else -v) for s, v in values]
        return _one_each(
            ((*key_of(s), s[check.over]), v) for s, v in ends if s[check.over] in (first, last)
        )
    return _along(check, _series(values, check.over, key_of))


def _one_each(pairs: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """Return the number of each group.

    Raises:
        ValueError: a group has two in one seed.
    """
    numbers: dict[Key, float] = {}
    for key, value in pairs:
        if key in numbers:
            raise ValueError(f"two cells of one seed in the group {key}")
        numbers[key] = value
    return numbers


def _along(
    check: Flat | Flatter | Steadier | Ordered | Change, series: dict[Key, list[Any]]
) -> dict[Key, float]:
    """Return what a check makes of the values along its axis."""
    if isinstance(check, Flatter):
        return {k: -(max(v for _, v in p) - min(v for _, v in p)) for k, p in series.items()}
    if isinstance(check, Steadier):
        return {k: -stdev(v for _, v in p) for k, p in series.items()}
    if isinstance(check, Flat):
        pairs = {k: combinations(p, 2) for k, p in series.items()}
        return {(*k, a, b): y - x for k, both in pairs.items() for (a, x), (b, y) in both}
    sign = 1 if check.direction == "rising" else -1
    if isinstance(check, Change):
        return {k: sign * (p[-1][1] - p[0][1]) for k, p in series.items()}
    return {(*k, a, b): sign * (y - x) for k, p in series.items() for (a, x), (b, y) in pairwise(p)}


def _lead(check: Peak, values: list[tuple[dict[str, Any], float]]) -> dict[Key, float]:
    low, high = check.near
    inside = [v for s, v in values if low <= s[check.over] <= high]
    outside = [v for s, v in values if not low <= s[check.over] <= high]
    return {(): max(inside) - max(outside)} if inside and outside else {}


def _series(
    values: list[tuple[dict[str, Any], float]], over: str, key_of: KeyOf
) -> dict[Key, list[Any]]:
    """Return the points (axis value, metric) in order, for each point of the other settings."""
    groups: dict[Key, list[Any]] = {}
    for settings, value in values:
        groups.setdefault(key_of(settings), []).append((settings[over], value))
    return {key: sorted(points) for key, points in groups.items() if len(points) > 1}


def _grouping(points: list[dict[str, Any]], named: Iterable[str]) -> KeyOf:
    """Return the key that tells groups of cells apart: the settings that are not named.

    Settings that follow from the named ones (a learning rate from the batch size, alpha from the
    loss) are left out, or no two cells would differ in the named ones alone.
    """
    fixed = sorted(named)
    names = {name for p in points for name in p} - set(fixed)
    free = sorted(name for name in names if not _follows(name, fixed, points))
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
