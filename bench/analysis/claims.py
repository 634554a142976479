"""The papers' claims as checks on the frame: an effect with an interval over seeds, a verdict."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from bench.analysis.frame import Done
from bench.analysis.statistics import Interval, t_interval
from bench.config.checks import Below, Check, Equal, Flat, Flatter, Ordered, Peak, Where
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


def _judge(check: Check, claim: Claim, scale: str, cells: list[Cell], done: Done) -> Judged:
    effect_of, threshold, at_most = _rule(check)
    metrics = {cell.id: finished.metrics for cell, finished in done}
    effects: list[float] = []
    lacking = "no cell of this scale has the settings that the check names"
    for seed in dict.fromkeys(cell.seed for cell in cells):
        own = [cell for cell in cells if cell.seed == seed and _is_spoken_of(check, cell)]
        if any(cell.id not in metrics or check.metric not in metrics[cell.id] for cell in own):
            lacking = "no seed has all of its cells done"
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
    return lambda m: _lead(m, check), 0.0, False


def _ranges(measured: Measured, where: Where, over: str) -> dict[Any, float]:
    """Return the metric's range over the axis for each point of the other settings."""
    groups: dict[Any, list[float]] = {}
    for settings, value in measured:
        if _fits(settings, where):
            groups.setdefault(_others(settings, {*where, over}), []).append(value)
    return {key: max(values) - min(values) for key, values in groups.items() if len(values) > 1}


def _others(settings: dict[str, Any], names: Iterable[str]) -> Any:
    """Return the settings that tell groups apart: all but the named ones and the metrics."""
    return tuple(
        (k, v) for k, v in settings.items() if k not in names and not k.startswith("metric.")
    )


def _largest_range(measured: Measured, check: Flat) -> float | None:
    return max(_ranges(measured, check.where, check.over).values(), default=None)


def _range_difference(measured: Measured, check: Flatter) -> float | None:
    dropped = {*check.where, *check.than}
    mine = _by_rest(_ranges(measured, check.where, check.over), dropped)
    theirs = _by_rest(_ranges(measured, check.than, check.over), dropped)
    shared = [theirs[key] - mine[key] for key in mine if key in theirs]
    return min(shared, default=None)


def _by_rest(ranges: dict[Any, float], dropped: set[str]) -> dict[Any, float]:
    return {
        tuple(item for item in key if item[0] not in dropped): value
        for key, value in ranges.items()
    }


def _largest_difference(measured: Measured, check: Equal) -> float | None:
    mine = [(s, v) for s, v in measured if _fits(s, check.where)]
    if check.than is None:
        return max((abs(v - (check.value or 0.0)) for _, v in mine), default=None)
    dropped = {*check.where, *check.than}
    theirs = {_others(s, dropped): v for s, v in measured if _fits(s, check.than)}
    pairs = [(v, theirs[key]) for s, v in mine if (key := _others(s, dropped)) in theirs]
    return max((abs(a - b) for a, b in pairs), default=None)


def _largest_excess(measured: Measured, check: Below) -> float | None:
    name = f"metric.{check.bound}"
    return max((v - s[name] for s, v in measured if _fits(s, check.where)), default=None)


def _smallest_step(measured: Measured, check: Ordered) -> float | None:
    groups: dict[Any, list[tuple[Any, float]]] = {}
    for settings, value in measured:
        key = _others(settings, {*check.where, check.over})
        groups.setdefault(key, []).append((settings[check.over], value))
    sign = 1 if check.direction == "rising" else -1
    steps = [
        sign * np.diff([v for _, v in sorted(points)])
        for points in groups.values()
        if len(points) > 1
    ]
    return float(min(step.min() for step in steps)) if steps else None


def _lead(measured: Measured, check: Peak) -> float | None:
    low, high = check.near
    inside = [v for s, v in measured if low <= s[check.over] <= high]
    outside = [v for s, v in measured if not low <= s[check.over] <= high]
    return max(inside) - max(outside) if inside and outside else None
