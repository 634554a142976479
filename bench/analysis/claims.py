"""The papers' claims as checks on measured results: an effect with an interval, and a verdict.

A check that speaks of many groups of cells (an order at every temperature, equality in every row)
is judged group by group, for the least of many noisy means lies below all of them by chance alone.
It *holds* where the 95 % interval of every group lies where the check says: no correction is due,
since a group that does not lie there would have to pass by itself (an intersection-union test). It
*fails* where the interval of any group lies outside at Bonferroni's level for so many groups: at
95 % one of twenty groups would do so by chance. The effect told is that of the group that decides,
the furthest off, with its 95 % interval; n is its number of seeds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from bench.analysis.effects import (
    Metrics,
    Region,
    Sides,
    fits,
    groups_of,
    known,
    region_of,
)
from bench.analysis.statistics import LEVEL, Interval, widened
from bench.cells.cell import Cell
from bench.papers.reader import Claim, Paper
from bench.results.reader import Done
from bench.suites.checks import Check
from bench.suites.suite import Suite


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
    effect: Interval | None  # of the group that decides
    threshold: float
    verdict: ClaimVerdict
    missing: str | None = None  # why it was not tested
    groups: int = 0  # that were judged one by one

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
            "groups": self.groups,
            "threshold": self.threshold,
            "verdict": str(self.verdict),
            "missing": self.missing,
        }


def worst(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """Return the worst verdict: that of a claim with several checks."""
    return min(verdicts, key=list(ClaimVerdict).index)


def judge_claims(
    suite: Suite, scale: str, cells: list[Cell], done: Done, paper: Paper
) -> list[Judged]:
    """Return every check of the suite's claims, judged on the finished cells."""
    metrics = {cell.id: finished.metrics for cell, finished in done}
    return [
        judge_check(check, paper.claim(name), scale, cells, metrics)
        for name, checks in suite.claims.items()
        for check in checks
    ]


def cells_of_check(check: Check, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that a check needs; none where it has no effect among them."""
    needed = [cell for cell in cells if _is_spoken_of(check, cell)]
    nothing = {check.metric: 0.0, getattr(check, "bound", check.metric): 0.0}
    groups, _ = groups_of(check, needed, {cell.id: nothing for cell in needed})
    return needed if groups else []


def judge_check(
    check: Check, claim: Claim, scale: str, cells: Sequence[Cell], metrics: Metrics
) -> Judged:
    """Return a check judged on the metrics of the finished ones of the cells."""
    region, threshold = region_of(check)
    groups, missing = groups_of(check, cells, metrics)
    step = _step(check, [c for c in cells if c.id in metrics and _is_spoken_of(check, c)], metrics)
    effects = _intervals(groups.values(), step, LEVEL)
    if not effects:
        return Judged(claim, scale, check, None, threshold, ClaimVerdict.NOT_TESTED, missing)
    strict = _intervals(groups.values(), step, 1 - (1 - LEVEL) / len(effects))
    verdict, deciding = _verdict(effects, strict, region)
    return Judged(claim, scale, check, deciding, threshold, verdict, groups=len(effects))


def _intervals(groups: Iterable[Sides], step: float | None, level: float) -> list[Interval]:
    intervals = (group.interval(level) for group in groups)
    return [widened(effect, step) for effect in intervals if effect is not None]


def _verdict(
    effects: list[Interval], strict: list[Interval], region: Region
) -> tuple[ClaimVerdict, Interval]:
    """Return the verdict on all groups, and the effect that decides it."""
    failing = [e for e, wide in zip(effects, strict, strict=True) if region.fails(wide)]
    unsure = [e for e in effects if not region.holds(e)]
    deciding = min(failing or unsure or effects, key=region.margin)
    if failing:
        return ClaimVerdict.FAILS, deciding
    return ClaimVerdict.INCONCLUSIVE if unsure else ClaimVerdict.HOLDS, deciding


def _step(check: Check, cells: Sequence[Cell], metrics: Metrics) -> float | None:
    """Return the step in which the metric moves: the cells' own, else the least gap measured."""
    steps = [step for cell in cells if (step := cell.step_of(check.metric)) is not None]
    if steps and len(steps) == len(cells):
        return max(steps)
    values = {m for c in cells if (m := metrics[c.id].get(check.metric)) is not None}
    gaps = np.diff(sorted(values))
    return float(gaps.min()) if len(gaps) else None


def _is_spoken_of(check: Check, cell: Cell) -> bool:
    than = getattr(check, "than", None)
    settings = known(cell)
    return fits(settings, check.where) or (than is not None and fits(settings, than))
