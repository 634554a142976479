"""The papers' printed numbers as if they had been measured: what the claims' checks say of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.analysis.claims import ClaimVerdict, Judged, judge_claims
from bench.analysis.compare import cells_of_value
from bench.analysis.effects import region_of
from bench.cells.cell import Cell
from bench.papers.reader import Paper
from bench.results.reader import Finished
from bench.suites.checks import Check
from bench.suites.suite import Suite

NOISE = 1e-4  # of a printed number from seed to seed; of one below 1 this share of it
Numbers = dict[str, dict[str, float]]  # by cell id and metric
Shift = Callable[[Check, Cell], float]


def printed_numbers(suite: Suite, cells: Sequence[Cell], paper: Paper) -> Numbers:
    """Return the printed numbers that belong to cells; gains and reductions are left out.

    Where a number is printed twice the first of the suite's comparisons counts.
    """
    found: Numbers = {}
    for comparison in suite.compare:
        if comparison.gain_over or comparison.over is not None:
            continue
        for value in paper.artifact(comparison.artifact).values:
            for cell in cells_of_value(value, comparison, suite, cells):
                if value.value is not None:
                    found.setdefault(cell.id, {}).setdefault(comparison.metric, value.value)
    return found


def judge_printed(
    suite: Suite, scale: str, cells: Sequence[Cell], paper: Paper, shift: Shift | None = None
) -> list[Judged]:
    """Return the suite's checks, judged on the printed numbers with a little noise.

    Each check is judged by itself, on the cells that have its metric printed, as if the scale had
    no others.

    Args:
        suite: the suite.
        scale: one that follows the published protocol.
        cells: those of the scale, with three seeds.
        paper: the suite's.
        shift: added to the number of a cell that a check looks at: plants another truth.
    """
    numbers, draw = printed_numbers(suite, cells, paper), np.random.default_rng(0)
    rows: list[Judged] = []
    for claim, checks in suite.claims.items():
        for check in checks:
            names = {check.metric, getattr(check, "bound", check.metric)}
            done = []
            for cell in cells:
                own = numbers.get(cell.id, {})
                if names <= own.keys() and check.at is None:
                    noisy = {m: v + NOISE * min(1, abs(v)) * draw.normal() for m, v in own.items()}
                    noisy[check.metric] += shift(check, cell) if shift else 0.0
                    done.append((cell, Finished(noisy, {})))
            alone: Any = suite.model_copy(update={"claims": {claim: [check]}})
            rows += judge_claims(alone, scale, [cell for cell, _ in done], done, paper)
    return rows


def reached(checks: Sequence[Judged]) -> list[Judged]:
    """Return the checks that decide a claim and that printed numbers reach."""
    return [judged for judged in checks if judged.counts and judged.effect is not None]


def printed_verdict(checks: Sequence[Judged]) -> ClaimVerdict:
    """Return what the printed numbers say of a claim; not tested where they reach no check."""
    verdicts = [judged.verdict for judged in reached(checks)]
    return min(verdicts, key=list(ClaimVerdict).index, default=ClaimVerdict.NOT_TESTED)


def smallest_margin(checks: Sequence[Judged]) -> float | None:
    """Return the smallest distance of a printed effect from its threshold; None below 0."""
    margins = [region_of(j.check)[0].margin(j.effect.mean) for j in reached(checks) if j.effect]
    return min(margins) if margins and min(margins) > 0 else None
