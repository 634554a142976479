"""What comparing a measured value with a published one says."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.analysis.statistics import Interval


class Verdict(StrEnum):
    """Of a value; ordered from best to worst."""

    REPRODUCED = "reproduced"  # the interval lies inside published +- tolerance
    CONSISTENT = "consistent"  # it overlaps, and is no wider than published +- tolerance
    DIFFERS = "differs"  # it lies outside
    NOT_RESOLVED = "not resolved"  # or the tolerance includes a result without learning
    SINGLE_RUN = "single run"  # one seed: the difference only
    NOT_COMPARABLE = "not comparable"  # another protocol
    MISSING = "missing"  # nothing measured, or no number printed


def judge_value(
    published: float | None,
    half_unit: float,
    tolerance: float,
    measured: Interval | None,
    *,
    comparable: bool,
    nothing: float | None = None,
) -> Verdict:
    """Return the verdict on one value.

    Args:
        published: the printed number, None if none is readable.
        half_unit: half a unit of its last printed digit, which rounding may hide.
        tolerance: how far off still counts as the same, in the metric's unit.
        measured: the mean over seeds, None if nothing was measured.
        comparable: whether the protocol is the published one.
        nothing: what the metric gives where nothing is learned; None: it tells that by itself.
    """
    if measured is None or published is None:
        return Verdict.MISSING
    if not comparable:
        return Verdict.NOT_COMPARABLE
    if measured.low is None or measured.high is None:
        return Verdict.SINGLE_RUN
    reach = tolerance + half_unit
    low, high = published - reach, published + reach
    if measured.low > high or measured.high < low:
        return Verdict.DIFFERS
    if nothing is not None and low <= nothing <= high:
        return Verdict.NOT_RESOLVED
    if low <= measured.low and measured.high <= high:
        return Verdict.REPRODUCED
    narrow = measured.high - measured.low <= 2 * reach
    return Verdict.CONSISTENT if narrow else Verdict.NOT_RESOLVED
