"""The papers' claims as checks on the frame: an effect with an interval over seeds, a verdict."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from bench.analysis.frame import Done
from bench.analysis.statistics import Interval, t_interval
from bench.config.checks import (
    Below,
    Change,
    Check,
    Equal,
    Exceeds,
    Flat,
    Flatter,
    Ordered,
    Peak,
    Where,
)
from bench.config.record import Cell
from bench.config.suite import Suite
from bench.published.reader import Claim, Paper

Measured = list[tuple[dict[str, Any], float]]  # settings and metric of the cells of one seed


class ClaimVerdict(StrEnum):
    """What the results say of a sentence, from worst to best."""

    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"
    NOT_TESTED = "not tested"
    HOLDS = "holds"


@dataclass(frozen=True)
class Judged:
    """One check of a claim: its effect over seeds, the threshold, and the verdict."""

    claim: Claim
    scale: str
    check: Check
    effect: Interval | None
    threshold: float
    verdict: ClaimVerdict
    lacking: str | None = None  # why it was not tested

    def record(self) -> dict[str, Any]:
        """Return the row of `bench claims --json`."""
        e = self.effect
        return {
            "paper": self.claim.paper,
            "claim": self.claim.id,
            "sentence": self.claim.claim,
            "scale": self.scale,
            "check": self.check.model_dump(mode="json"),
            "effect": e.mean if e else None,
            "low": e.low if e else None,
            "high": e.high if e else None,
            "n": e.n if e else 0,
            "threshold": self.threshold,
            "verdict": str(self.verdict),
            "lacking": self.lacking,
        }


def judge_claims(
    suite: Suite, scale: str, cells: list[Cell], done: Done, paper: Paper
) -> list[Judged]:
    """Return every check of the suite's claims, judged on the finished cells.

    A seed counts where all of its cells that the check speaks of are done.
    """
    return [
        _judge(check, paper.claim(name), scale, cells, done)
        for name, checks in suite.claims.items()
        for check in checks
    ]


def cells_of_check(check: Check, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of one seed that a check needs; none where it has no effect among them."""
    own = [cell for cell in cells if _is_spoken_of(check, cell)]
    bound = {f"metric.{getattr(check, 'bound', '')}": 0.0}
    effect = _rule(check)[0]([(_known(cell) | bound, 0.0) for cell in own])
    return [] if effect is None else own


def _judge(check: Check, claim: Claim, scale: str, cells: list[Cell], done: Done) -> Judged:
    effect_of, threshold, at_most = _rule(check)
    metrics = {cell.id: finished.metrics for cell, finished in done}
    effects: list[float] = []
    lacking = "no cell of this scale has the settings that the check names"
    for seed in dict.fromkeys(cell.seed for cell in cells):
        own = [cell for cell in cells if cell.seed == seed and _is_spoken_of(check, cell)]
        if any(cell.id not in metrics for cell in own):
            lacking = "no seed has all of its cells done"
            continue
        if any(check.metric not in metrics[cell.id] for cell in own):
            lacking = f"its cells do not measure {check.metric}"
            continue
        effect = effect_of(
            [(_known(c) | _prefixed(metrics[c.id]), metrics[c.id][check.metric]) for c in own]
        )
        if effect is not None:
            effects.append(effect)
    if not effects:
        return Judged(claim, scale, check, None, threshold, ClaimVerdict.NOT_TESTED, lacking)
    interval = t_interval(effects)
    verdict = _verdict(interval, threshold, at_most=at_most)
    return Judged(claim, scale, check, interval, threshold, verdict)


def _verdict(effect: Interval, threshold: float, *, at_most: bool) -> ClaimVerdict:
    if effect.low is None or effect.high is None:
        return ClaimVerdict.INCONCLUSIVE
    if effect.high <= threshold if at_most else effect.low > threshold:
        return ClaimVerdict.HOLDS
    if effect.low > threshold if at_most else effect.high <= threshold:
        return ClaimVerdict.FAILS
    return ClaimVerdict.INCONCLUSIVE


def _prefixed(metrics: dict[str, float]) -> dict[str, float]:
    return {f"metric.{name}": value for name, value in metrics.items()}


def _is_spoken_of(check: Check, cell: Cell) -> bool:
    than = getattr(check, "than", None)
    known = _known(cell)
    return _fits(known, check.where) or (than is not None and _fits(known, than))


def _known(cell: Cell) -> dict[str, Any]:
    """Return what `where` may name of a cell."""
    return {"experiment": cell.experiment} | cell.settings


def _fits(settings: dict[str, Any], where: Where) -> bool:
    return all(name in settings and settings[name] == value for name, value in where.items())


Effect = Callable[[Measured], float | None]


def _rule(check: Check) -> tuple[Effect, float, bool]:
    """Return the effect of one seed, the threshold, and whether the effect must stay below it."""
    if isinstance(check, Flat):
        return lambda m: _largest_range(m, check), check.within, True
    if isinstance(check, Flatter):
        return lambda m: _range_difference(m, check), 0.0, False
    if isinstance(check, Equal):
        return lambda m: _largest_difference(m, check), check.within, True
    if isinstance(check, Below):
        return lambda m: _largest_excess(m, check), 0.0, True
    if isinstance(check, Ordered):
        return lambda m: _smallest_step(m, check), 0.0, False
    if isinstance(check, Exceeds):
        return lambda m: _gain(m, check), check.by, False
    if isinstance(check, Change):
        return lambda m: _smallest_change(m, check), check.by, False
    return lambda m: _lead(m, check), 0.0, False


def _series(measured: Measured, where: Where, over: str, *others: str) -> dict[Any, list[Any]]:
    """Return the points (axis value, metric) in order, for each point of the other settings."""
    key_of = _grouping(measured, {*where, over, *others})
    groups: dict[Any, list[Any]] = {}
    for settings, value in measured:
        if _fits(settings, where):
            groups.setdefault(key_of(settings), []).append((settings[over], value))
    return {key: sorted(points) for key, points in groups.items() if len(points) > 1}


def _grouping(measured: Measured, named: Iterable[str]) -> Callable[[dict[str, Any]], Any]:
    """Return the key that tells groups of cells apart: the settings that are not named.

    Settings that follow from the named ones (a learning rate from the batch size, alpha from the
    loss) are left out, or no two cells would differ in the named ones alone.
    """
    points = [settings for settings, _ in measured]
    fixed = sorted(named)
    names = {name for p in points for name in p if "metric." not in name} - set(fixed)
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


def _largest_range(measured: Measured, check: Flat) -> float | None:
    ranges = [_range(points) for points in _series(measured, check.where, check.over).values()]
    return max(ranges, default=None)


def _range(points: list[Any]) -> float:
    values = [value for _, value in points]
    return float(max(values) - min(values))


def _range_difference(measured: Measured, check: Flatter) -> float | None:
    mine = _series(measured, check.where, check.over, *check.than)
    theirs = _series(measured, check.than, check.over, *check.where)
    shared = [_range(theirs[key]) - _range(mine[key]) for key in mine if key in theirs]
    return min(shared, default=None)


def _pairs(measured: Measured, check: Equal | Exceeds) -> list[tuple[float, float]]:
    """Return the metric of each cell beside that of its counterpart in `than`."""
    than = check.than or {}
    key_of = _grouping(measured, {*check.where, *than})
    theirs = {key_of(s): v for s, v in measured if _fits(s, than)}
    mine = [(v, key_of(s)) for s, v in measured if _fits(s, check.where)]
    return [(value, theirs[key]) for value, key in mine if key in theirs]


def _largest_difference(measured: Measured, check: Equal) -> float | None:
    if check.than is None:
        mine = [v for s, v in measured if _fits(s, check.where)]
        return max((abs(v - (check.value or 0.0)) for v in mine), default=None)
    return max((abs(a - b) for a, b in _pairs(measured, check)), default=None)


def _gain(measured: Measured, check: Exceeds) -> float | None:
    gains = [a - b for a, b in _pairs(measured, check)]
    if check.mean and gains:
        return float(np.mean(gains))
    return min(gains, default=None)


def _smallest_change(measured: Measured, check: Change) -> float | None:
    sign = 1 if check.direction == "rising" else -1
    series = _series(measured, check.where, check.over).values()
    return min((sign * (points[-1][1] - points[0][1]) for points in series), default=None)


def _largest_excess(measured: Measured, check: Below) -> float | None:
    name = f"metric.{check.bound}"
    return max((v - s[name] for s, v in measured if _fits(s, check.where)), default=None)


def _smallest_step(measured: Measured, check: Ordered) -> float | None:
    sign = 1 if check.direction == "rising" else -1
    series = _series(measured, check.where, check.over).values()
    steps = [sign * np.diff([value for _, value in points]) for points in series]
    return float(min(step.min() for step in steps)) if steps else None


def _lead(measured: Measured, check: Peak) -> float | None:
    low, high = check.near
    inside = [v for s, v in measured if low <= s[check.over] <= high]
    outside = [v for s, v in measured if not low <= s[check.over] <= high]
    return max(inside) - max(outside) if inside and outside else None
