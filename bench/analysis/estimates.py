"""The effects of a check, estimated from the finished cells."""

from collections.abc import Sequence

import numpy as np

from bench.analysis.effects import Group, Key, groups_of
from bench.analysis.measured import Measured, Metrics
from bench.analysis.statistics import Estimate
from bench.cells.cell import Cell
from bench.suites.checks import Check

Estimates = dict[Key, tuple[Group, Estimate]]


def estimates_of(check: Check, measured: Measured, needed: Sequence[Cell]) -> tuple[Estimates, str]:
    """Return the effect of each group that has one, and what is missing where none has.

    Args:
        check: says which cells are compared.
        measured: the cells of a suite at a scale, and the finished ones among them.
        needed: those that the check names.
    """
    metrics = measured.numbers(check, needed)
    groups, missing = groups_of(check, measured, metrics)
    how, pools = measured.how(check, needed), measured.pools(check, needed)
    step = _step(check, [cell for cell in needed if cell.id in metrics], metrics)
    estimated = {key: (group, group.estimate(how, pools, step)) for key, group in groups.items()}
    return {key: pair for key, pair in estimated.items() if pair[1] is not None}, missing


def _step(check: Check, cells: Sequence[Cell], metrics: Metrics) -> float | None:
    """Return the step in which the metric moves: the cells' own, else the least gap measured."""
    steps = [step for cell in cells if (step := cell.step_of(check.metric)) is not None]
    if steps and len(steps) == len(cells):
        return max(steps)
    values = {m for c in cells if (m := metrics[c.id].get(check.metric)) is not None}
    gaps = np.diff(sorted(values))
    return float(gaps.min()) if len(gaps) else None
