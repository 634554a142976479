"""Differences between means over seeds, for pages, tables, commands and claims.

A check compares groups of cells. The cells of a group agree in all settings that the check does not
name. Each group gives one or more effects (`bench/suites/checks.py`), which this module estimates
from the finished cells. `difference` is the simplest effect: it compares two groups of cells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from bench.analysis.measured import Measured, Metrics
from bench.analysis.statistics import Estimate, How, NumbersBySeed, Term, contrast, sure_to_a_step
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex, follows
from bench.cells.learning_rate import SCALED
from bench.errors import SuiteError
from bench.suites.checks import Check, Effect

Key = tuple[Any, ...]  # what tells a group from others: pairs of a setting and its value
Known = dict[str, Any]  # the settings of a cell
KeyOf = Callable[[Known], Key]
Series = dict[Any, NumbersBySeed]  # the points of a group of one side, by the value of the axis
CellPair = tuple[Sequence[Cell], Sequence[Cell]]  # the cells of a difference: one side, the other

NO_CELL = "no cell of this scale has the settings that this check needs"
MOST_SHOWN = 4  # groups of a check whose effects are reported one by one


@dataclass(frozen=True)
class Group:
    """One effect of a check: its cells and its estimate."""

    sides: list[list[Cell]]  # all cells of each side along the axis
    estimate: Estimate
    means: tuple[float, float]  # of the second side and, with its sign turned, of the first
    settings: Known = field(default_factory=dict)  # that tell these cells from other groups'
    at: Known = field(default_factory=dict)  # of several effects along an axis: where on it

    @property
    def cells(self) -> tuple[str, ...]:
        """The ids of the compared cells."""
        return tuple(dict.fromkeys(cell.id for side in self.sides for cell in side))


def difference(metric: str, pairs: Sequence[CellPair], measured: Measured) -> Estimate | None:
    """Return the difference between the two sides; None if no seed is whole on both sides.

    Args:
        metric: name of the metric.
        pairs: the cells of both sides. Points of a side and pairs are averaged.
        measured: all cells of a suite at a scale and the metrics of the finished ones.
    """
    cells = [cell for pair in pairs for side in pair for cell in side]
    terms = list[Term]()
    sides = [[cell for pair in pairs for cell in pair[i]] for i in (0, 1)]
    whole = {c.id for side in sides for c in whole_seeds(metric, side, measured.metrics)}
    for pair in pairs:
        for side, sign in zip(pair, (1, -1), strict=True):
            if not side:
                return None
            points = defaultdict[str, NumbersBySeed](NumbersBySeed)
            for cell in side:
                numbers = points[cell.but_seed]
                if cell.id in whole:
                    numbers[cell.seed] = measured.metrics[cell.id][metric]
            weight = sign / len(pairs) / len(points)
            terms += [Term(weight, numbers) for numbers in points.values()]
    done = [cell for cell in cells if metric in measured.metrics.get(cell.id, {})]
    return _estimate(terms, measured.how(metric, cells), _step(metric, done, measured.metrics))


def estimates_of(
    check: Check, measured: Measured, needed: Sequence[Cell]
) -> tuple[list[Group], str]:
    """Return the effects that can be estimated, or the reason if there are none.

    Args:
        check: selects the cells to compare.
        measured: all cells of a suite at a scale and the metrics of the finished ones.
        needed: the cells that the check names.
    """
    metrics, how = measured.numbers(check, needed), measured.how_of(check, needed)
    sides = _sides(check, measured.index)
    key_of, missing, whole = _key_of(check, sides), NO_CELL, []
    for side in sides:
        missing = _why_not_whole(check.metric, side, metrics) or missing
        whole.append(_by_key(whole_seeds(check.metric, side, metrics), key_of))
    step = _step(check.metric, [cell for cell in needed if cell.id in metrics], metrics)
    found: list[tuple[Key, Effect, list[list[Cell]], list[list[Term]]]] = []
    for key, cells_of in _shared(whole).items():
        series = [_series(check, side, metrics) for side in cells_of]
        for effect in check.effects(series):
            terms: list[list[Term]] = [[] for _ in series]
            for i, at, weight in effect.weights:
                terms[i].append(Term(weight, series[i][at]))
            found.append((key, effect, cells_of, terms))
    if found and check.averages:
        groups = [_mean(found, check, how, step)]
    else:
        groups = [_group(check, *parts, how, step) for parts in found]
    return [group for group in groups if group is not None], missing


def whole_seeds(metric: str, side: Sequence[Cell], metrics: Metrics) -> list[Cell]:
    """Return the cells that count on a side: those of seeds of which all cells have the metric."""
    torn = {cell.seed for cell in side if metric not in metrics.get(cell.id, {})}
    return [cell for cell in side if cell.seed not in torn]


def groups_among(check: Check, index: CellIndex) -> dict[Key, list[list[Cell]]]:
    """Return, for each group with all sides, the cells of each side, finished or not."""
    sides = _sides(check, index)
    key_of = _key_of(check, sides)
    return _shared([_by_key(side, key_of) for side in sides])


def cells_named(check: Check, index: CellIndex) -> list[Cell]:
    """Return the cells on the check's sides, in index order."""
    ids = {cell.id for side in _sides(check, index) for cell in side}
    return [cell for cell in index.cells if cell.id in ids]


def cells_of_check(check: Check, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that a check needs; empty if they give no effect."""
    index, over = CellIndex(cells), check.along
    for sides in groups_among(check, index).values():
        if check.effects([{cell.known[over] if over else None for cell in s} for s in sides]):
            return cells_named(check, index)
    return []


def names_of(groups: Sequence[Group]) -> list[Known]:
    """Return the settings and the axis position that distinguish each group."""
    if len(groups) == 1:
        return [{}]
    cells = {id(of.sides): (of.sides[0][0].known, of.settings) for of in groups}
    told = telling_settings(list(cells.values())) if len(cells) > 1 else [{}]
    settings = dict(zip(cells, told, strict=True))
    return [settings[id(of.sides)] | of.at for of in groups]


def others_than(group: Group, groups: Sequence[Group]) -> list[tuple[Known, Group]]:
    """Return the named effects of other cells; empty if there are too many.

    The result is also empty if the effects differ by an axis or by the two sides of `moves-less`.
    """
    if len(groups) > MOST_SHOWN or len({id(of.sides) for of in groups}) < len(groups):
        return []
    if any(of.at for of in groups):
        return []
    named = zip(names_of(groups), groups, strict=True)
    return [(settings, of) for settings, of in named if of is not group]


def lead_of(
    check: Check, measured: Measured, side: Sequence[Cell], floors: Mapping[str, float]
) -> Estimate | None:
    """Return the mean lead of a side over its trivial baselines; None if it is unknown.

    The mean uses all cells of the side and weights all values of an axis equally.

    Args:
        check: a check on an accuracy. For a check on a history, the last values count.
        measured: all cells of a suite at a scale and the metrics of the finished ones.
        side: the cells of one side.
        floors: accuracy of the trivial baseline for each finished cell, by cell id.
    """
    cells, metric = [cell for cell in side if cell.id in floors], check.metric
    points = defaultdict[str, NumbersBySeed](NumbersBySeed)
    for cell in cells:
        points[cell.but_seed][cell.seed] = measured.metrics[cell.id][metric] - floors[cell.id]
    terms = [Term(1 / len(points), numbers) for numbers in points.values()]
    return _estimate(terms, measured.how(metric, cells), _step(metric, cells, measured.metrics))


def telling_settings(groups: Sequence[tuple[Known, Known]]) -> list[Known]:
    """Return the settings that distinguish groups of cells, only one if one is enough.

    The method, data set or batch size is preferred, since readers know these. If none is enough,
    the group's key is returned.

    Args:
        groups: for each group, the settings of its first cell and its key without axis values.
    """
    for name in ("method", "dataset", "batch_size", *(n for n in groups[0][0] if n != "seed")):
        values = [settings.get(name) for settings, _ in groups]
        if all(values.count(value) == 1 for value in values):
            return [{name: value} for value in values]
    return [key for _, key in groups]


def _estimate(
    terms: Sequence[Term], how: How, step: float | None, offset: float = 0.0
) -> Estimate | None:
    if not terms:
        return None
    estimate = contrast(terms, how, offset)
    return None if estimate is None else sure_to_a_step(estimate, step)


def _group(
    check: Check,
    key: Key,
    effect: Effect,
    sides: list[list[Cell]],
    terms: list[list[Term]],
    how: How,
    step: float | None,
) -> Group | None:
    estimate = _estimate([t for side in terms for t in side], how, step, check.offset)
    if estimate is None:
        return None
    means = _means(terms, of_shared=estimate.how == "paired" or estimate.n == 1)
    theirs = means[1] if len(means) > 1 else 0.0
    return Group(sides, estimate, (theirs, 0.0 - means[0]), dict(key), check.place(effect))


def _means(terms: list[list[Term]], *, of_shared: bool) -> list[float]:
    """Return the weighted sum of means of each side, over all seeds or the shared ones."""
    every = [t.values for side in terms for t in side]
    seeds = set.intersection(*map(set, every)) if of_shared else set()

    def mean(term: Term) -> float:
        return fmean(term.values[seed] for seed in seeds) if seeds else term.values.mean

    return [sum(t.weight * mean(t) for t in side) for side in terms]


def _mean(
    found: Sequence[tuple[Key, Effect, list[list[Cell]], list[list[Term]]]],
    check: Check,
    how: How,
    step: float | None,
) -> Group | None:
    """Return the mean of the effects of all groups as one."""
    count, (_, effect, first, _) = len(found), found[0]
    sides = [[c for _, _, cells, _ in found for c in cells[i]] for i in range(len(first))]
    terms = [
        [Term(t.weight * (1 / count), t.values) for *_, of_group in found for t in of_group[i]]
        for i in range(len(first))
    ]
    return _group(check, (), effect, sides, terms, how, step)


def _sides(check: Check, index: CellIndex) -> list[list[Cell]]:
    return [[cell for cell in index.where(side) if check.takes(cell.known)] for side in check.sides]


def _key_of(check: Check, sides: Sequence[Sequence[Cell]]) -> KeyOf:
    compared = {cell.id: cell for side in sides for cell in side}
    named = {name for side in check.sides for name in side} | {"seed"}
    named |= {check.along} if check.along else set()
    return _grouping([cell.known for cell in compared.values()], named)


def _by_key(cells: Sequence[Cell], key_of: KeyOf) -> dict[Key, list[Cell]]:
    groups: dict[Key, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(key_of(cell.known), []).append(cell)
    return groups


def _shared(sides: Sequence[dict[Key, list[Cell]]]) -> dict[Key, list[list[Cell]]]:
    """Return the groups that all sides have."""
    first, *others = sides
    shared = (key for key in first if all(key in other for other in others))
    return {key: [side[key] for side in sides] for key in shared}


def _why_not_whole(metric: str, side: Sequence[Cell], metrics: Metrics) -> str | None:
    """Return why seeds of a side are left out; None if none is."""
    if any(cell.id not in metrics for cell in side):
        return "no seed has finished all cells that one side of this check needs"
    if any(metric not in metrics[cell.id] for cell in side):
        return f"the cells of this check do not measure {metric}"
    return None


def _series(check: Check, cells: Sequence[Cell], metrics: Metrics) -> Series:
    """Return the points of one side of a group by the value of the axis."""
    return {
        at: NumbersBySeed((c.seed, check.number(metrics[c.id])) for c in of_point)
        for at, of_point in _points(check, cells).items()
    }


def _points(check: Check, cells: Sequence[Cell]) -> dict[Any, list[Cell]]:
    """Return the cells of one side of a group by the value of the axis.

    Raises:
        SuiteError: a point has two cells of one seed.
    """
    points: dict[Any, list[Cell]] = {}
    for cell in cells:
        at = points.setdefault(cell.known[check.along] if check.along else None, [])
        if (twin := next((other for other in at if other.seed == cell.seed), None)) is not None:
            names = [n for n, value in cell.known.items() if twin.known.get(n) != value]
            raise SuiteError(
                f"one side has several cells with seed {cell.seed} at one point; they differ in "
                f"{', '.join(names)}: choose cells with `where`, `than` or `both`"
            )
        at.append(cell)
    return points


def check_effects(check: Check, cells: Sequence[Cell]) -> None:
    """Check that effects can be computed once the cells are finished.

    Args:
        check: the check.
        cells: all cells of a selection, finished or not.

    Raises:
        SuiteError: a point has two cells of one seed, or the values of an axis have no order.
    """
    for sides in groups_among(check, CellIndex(cells)).values():
        check.effects([_points(check, side) for side in sides])


def _step(metric: str, cells: Sequence[Cell], metrics: Metrics) -> float | None:
    """Return the step in which the metric moves: the cells' own, else the least gap measured."""
    steps = [step for cell in cells if (step := cell.step_of(metric)) is not None]
    if steps and len(steps) == len(cells):
        return max(steps)
    values = {m for c in cells if (m := metrics[c.id].get(metric)) is not None}
    gaps = np.diff(sorted(values))
    return float(gaps.min()) if len(gaps) else None


def _grouping(points: list[Known], named: Iterable[str]) -> KeyOf:
    """Return the key that tells groups of cells apart: the settings that are not named.

    Settings that follow from the named ones (a learning rate from the batch size, alpha from the
    loss) are left out, or no two cells would differ in the named ones alone. A scaled learning rate
    follows from the rate before scaling, so that it never takes the place of the batch size.
    """
    fixed = sorted(named)
    names = {name for p in points for name in p} - set(fixed)
    names -= {s for s, base in SCALED.items() if all(p.get(base) is not None for p in points)}
    varied = (name for name in names if _varies(name, points))
    free = sorted(name for name in varied if not follows(name, fixed, points))
    # First those that move with the named ones while all else stays, such as a learning rate that
    # follows from data set and batch size together.
    keys = sorted(free, key=lambda name: follows(name, [n for n in free if n != name], points))
    for name in tuple(keys):
        rest = [other for other in keys if other != name]
        if follows(name, fixed + rest, points):
            keys = rest
    return lambda settings: tuple((name, settings.get(name)) for name in keys)


def _varies(name: str, points: list[Known]) -> bool:
    """Return whether a setting differs among the points, of which there is one at least."""
    first = points[0].get(name)
    return any(point.get(name) != first for point in points)
