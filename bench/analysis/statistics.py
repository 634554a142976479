"""Means over seeds, contrasts between such means, and their uncertainty.

Seeds are independent samples. An effect is a weighted sum of means over seeds, one mean for each
point of the grid. Its standard error comes from the variance over seeds, in one of two ways:

- *paired*: the sum is computed for each seed, so effects common to a seed (initial weights, data
  order) cancel. Student's interval with n - 1 degrees of freedom for n seeds.
  `analysis/paired.yaml` lists the metrics with this way;
- *separate*: every point has its own variance, with Welch's degrees of freedom (Biometrika 34).

So an interval depends on the compared points alone, never on other cells of a suite.

The bootstrap is not used: three seeds allow only ten different resamples, and its 95 % interval
covers the mean in only 70 % of cases. With fewer than two seeds there is no interval and no
verdict. An interval describes the variation over training seeds only; all runs use the same test
images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isinf
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy  # loads `scipy.special` when it is first used

from bench.suites.checks import Region

LEVEL = 0.95  # of every interval
ERROR = 1 - LEVEL  # how often a false verdict may come
SAME = 1e-9  # numbers nearer than this, relatively, are equal but for rounding
NORMAL = 1.96  # half of a 95 % interval, in standard errors
POWER = 0.8  # how often an effect is seen that counts as one that could be seen

How = Literal["paired", "separate"]


@dataclass(frozen=True)
class Interval:
    """A mean over n seeds with its t-interval; low and high are None below two seeds.

    For several points, n is the smallest number of seeds, and the standard deviation is undefined.
    """

    n: int
    mean: float
    std: float | None
    low: float | None
    high: float | None

    def inside(self, region: Region) -> bool:
        """Return whether the interval lies entirely inside a region."""
        return self.low is not None and region.low <= self.low and self.high <= region.high  # type: ignore[operator]

    def widened(self, error: float) -> Interval:
        """Return the interval widened by an independent standard error."""
        if self.low is None or self.high is None:
            return self
        half = (((self.high - self.low) / 2) ** 2 + (NORMAL * error) ** 2) ** 0.5
        return replace(self, low=self.mean - half, high=self.mean + half)


def half_width(error: Any, freedom: Any, level: float = LEVEL) -> Any:
    """Return the half-width of Student's interval for these standard errors.

    Args:
        error: standard error of the mean; arrays broadcast.
        freedom: degrees of freedom.
        level: confidence level, 0 to 1.
    """
    return scipy.special.stdtrit(freedom, (1 + level) / 2) * error


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds or a contrast, with its standard error and degrees of freedom."""

    n: int
    mean: float
    error: float  # infinite below two seeds
    freedom: float
    std: float | None = None
    reach: float = 0.0  # how far off it may be though the seeds agree: a step of the metric
    how: How = "separate"  # where the standard error comes from

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the confidence interval at this level."""
        if isinf(self.error):
            return Interval(self.n, self.mean, self.std, None, None)
        half = float(half_width(self.error, self.freedom, level)) + self.reach
        return Interval(self.n, self.mean, self.std, self.mean - half, self.mean + half)

    def p_value(self, step: float) -> float:
        """Return the two-sided p-value of the t-test that the mean is 0.

        Args:
            step: resolution of the metric. Bitwise equal seeds still have at least this much noise.
        """
        error = self.with_step(step).error
        if error == 0:
            return float(self.mean == 0)
        return float(2 * scipy.special.stdtr(self.freedom, -abs(self.mean) / error))

    def with_step(self, step: float) -> Estimate:
        """Return the estimate with at least the noise of a metric's resolution."""
        return replace(self, error=max(self.error, step / self.n**0.5))

    def p_outside(self, region: Region) -> float:
        """Return the smallest p for which the interval of level 1 - p lies outside the region."""
        distance = -region.margin(self.mean)
        if isinf(self.error) or distance <= self.reach:
            return 1.0
        if self.error == 0:
            return 0.0
        return float(2 * scipy.special.stdtr(self.freedom, -(distance - self.reach) / self.error))

    @property
    def smallest_effect(self) -> float | None:
        """Minimum detectable distance from a bound, at 80 % power."""
        if isinf(self.error):
            return None
        half = half_width(self.error, self.freedom)
        power = scipy.special.stdtrit(self.freedom, POWER) * self.error
        return float(half + power) + self.reach


class NumbersBySeed(dict[int, float]):
    """One number per seed of a point, with cached mean and variance."""

    @cached_property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(np.mean([*self.values()]))

    @cached_property
    def variance(self) -> float:
        """Variance over the seeds, of which there are two at least."""
        return float(np.var([*self.values()], ddof=1))


class Term(NamedTuple):
    """One point of the grid in a contrast: its weight and its number per seed."""

    weight: float
    values: NumbersBySeed


def contrast(terms: Sequence[Term], how: How = "separate", offset: float = 0.0) -> Estimate | None:
    """Return the weighted sum of means minus the offset; None if no seed has a value.

    The estimate is paired if all points share at least two seeds. It has no standard error if a
    point has fewer than two seeds.

    Args:
        terms: the points of the grid with their weights and their numbers per seed.
        how: estimate of the standard error: paired or separate.
        offset: number to subtract from the sum.
    """
    counts = [len(term.values) for term in terms]
    if min(counts) == 0:
        return None
    are_paired = how == "paired" or min(counts) == 1
    shared = [s for s in terms[0].values if all(s in t.values for t in terms)] if are_paired else []
    if len(shared) > 1 and how == "paired":
        result = _student([sum(t.weight * t.values[s] for t in terms) for s in shared])
        result = replace(result, how="paired")
    elif min(counts) > 1:
        result = _welch(terms)
    elif shared:
        result = Estimate(1, sum(t.weight * t.values[shared[0]] for t in terms), inf, 1.0)
    else:
        return None
    return replace(result, mean=result.mean - offset) if offset else result


def sure_to_a_step(estimate: Estimate, step: float | None) -> Estimate:
    """Return an estimate whose error reflects the metric's resolution if all seeds are equal.

    Args:
        estimate: a mean or contrast.
        step: resolution of the metric; 0 for exact numbers. None means unknown: equal values then
            give no standard error.
    """
    if estimate.error > SAME * max(1.0, abs(estimate.mean)):
        return estimate
    if step is None:
        return replace(estimate, error=inf)
    return replace(estimate, error=0.0, reach=step)


def _student(values: Sequence[float]) -> Estimate:
    n, std = len(values), float(np.std(values, ddof=1))
    return Estimate(n, float(np.mean(values)), std / n**0.5, n - 1, std)


def _welch(terms: Sequence[Term]) -> Estimate:
    """Return the contrast with the variance of each point and Welch's degrees of freedom."""
    shares = [t.weight**2 * t.values.variance / len(t.values) for t in terms]
    total = sum(shares)
    spread = sum(s**2 / (len(t.values) - 1) for s, t in zip(shares, terms, strict=True))
    freedom = total**2 / spread if spread else sum(len(t.values) - 1 for t in terms)
    mean = sum(t.weight * t.values.mean for t in terms)
    n = min(len(t.values) for t in terms)
    std = (total * n) ** 0.5 if len(terms) == 1 else None
    return Estimate(n, mean, total**0.5, freedom, std)


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Return the mean and its Student interval for independent normal values.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    if len(values) == 1:
        return Interval(1, float(values[0]), None, None, None)
    return _student(values).interval(level)


def estimate(mine: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate | None:
    """Return the mean difference `mine` - `theirs`; None below two seeds.

    The estimate is paired if both sides share at least two seeds. Otherwise it uses Welch's method
    if each side has two seeds.
    """
    difference = contrast(
        [Term(1.0, NumbersBySeed(mine)), Term(-1.0, NumbersBySeed(theirs))], "paired"
    )
    return None if difference is None or isinf(difference.error) else difference
