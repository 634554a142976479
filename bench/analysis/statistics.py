"""Means over seeds and how sure they are.

Seeds are the independent draws, so everything becomes one number a seed first: a metric, a
difference of two sides, a range or a standard deviation over an axis. Student's interval is for the
mean of these numbers. Two sides that share seeds are compared by their difference seed by seed, for
what the seed moves (initial weights, order of the data) then cancels; sides of different seeds by
Welch's interval.

There is no bootstrap here. Of three seeds there are ten different resamples, none beyond the values
measured, and its 95 % interval covers the mean seven times in ten. A range or a standard deviation
over an axis is not normal, but Student's interval for its mean covers 94 to 95 times in a hundred
from two seeds on (tests/analysis/test_statistics.py). That mean is what single runs show, noise
included, not what a run without noise would show. Below two seeds there is no interval and no
verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

LEVEL = 0.95
SAME = 1e-9  # numbers nearer than this, relatively, are equal but for rounding


@dataclass(frozen=True)
class Interval:
    """A mean over n seeds with its t-interval; low and high are None below two seeds.

    With Welch's interval n is the smaller number of seeds, and there is no one standard deviation.
    """

    n: int
    mean: float
    std: float | None
    low: float | None
    high: float | None


def half_width(error: Any, freedom: Any, level: float = LEVEL) -> Any:
    """Return half of Student's interval of means with these standard errors; arrays broadcast."""
    return stdtrit(freedom, (1 + level) / 2) * error


@dataclass(frozen=True)
class Estimate:
    """A mean of seeds or a difference of two, its standard error and the degrees of freedom."""

    n: int
    mean: float
    error: float
    freedom: float
    std: float | None = None

    def interval(self, level: float) -> Interval:
        """Return the interval that covers the mean with this probability."""
        half = float(half_width(self.error, self.freedom, level))
        return Interval(self.n, self.mean, self.std, self.mean - half, self.mean + half)

    def p_value(self, step: float) -> float:
        """Return the two-sided p-value of the t-test that the mean is 0.

        Args:
            step: of the metric; seeds that agree to the bit have at least this much noise.
        """
        error = max(self.error, step / self.n**0.5)
        if error == 0:
            return float(self.mean == 0)
        return float(2 * stdtr(self.freedom, -abs(self.mean) / error))


def _student(values: Sequence[float]) -> Estimate:
    n, std = len(values), float(np.std(values, ddof=1))
    return Estimate(n, float(np.mean(values)), std / n**0.5, n - 1, std)


def _welch(mine: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Return the difference of two means; its degrees of freedom are Welch's, Biometrika 34."""
    shares = [float(np.var(side, ddof=1)) / len(side) for side in (mine, theirs)]
    counts, total = (len(mine), len(theirs)), sum(shares)
    spread = sum(share**2 / (n - 1) for share, n in zip(shares, counts, strict=True))
    freedom = total**2 / spread if spread else sum(counts) - 2.0
    mean = float(np.mean(mine) - np.mean(theirs))
    return Estimate(min(counts), mean, total**0.5, freedom)


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Return the mean and Student's interval for it, from independent normal values.

    Raises:
        ValueError: no value at all.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    if len(values) == 1:
        return Interval(1, float(values[0]), None, None, None)
    return _student(values).interval(level)


def estimate(mine: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate | None:
    """Return how far `mine` lies above `theirs`, each a number a seed; None below two seeds.

    Paired over the seeds that both have, if there are two; else by Welch where each side has two.
    """
    shared = [seed for seed in mine if seed in theirs]
    if len(shared) > 1:
        return _student([mine[seed] - theirs[seed] for seed in shared])
    if min(len(mine), len(theirs)) > 1:
        return _welch(list(mine.values()), list(theirs.values()))
    return None


def difference(
    mine: Mapping[int, float], theirs: Mapping[int, float], level: float = LEVEL
) -> Interval | None:
    """Return the estimate's interval; of one shared seed the difference alone; else None."""
    found = estimate(mine, theirs)
    if found is not None:
        return found.interval(level)
    shared = [seed for seed in mine if seed in theirs]
    return t_interval([mine[shared[0]] - theirs[shared[0]]]) if shared else None


def widened(interval: Interval, step: float | None) -> Interval:
    """Return an interval that seeds with equal values do not make narrower than the metric's step.

    Args:
        interval: of a mean or difference.
        step: the smallest step in which the metric moves; 0 of exact numbers, None if not known:
            then equal values say nothing of how sure the mean is.
    """
    if interval.low is None or interval.high is None:
        return interval
    if interval.high - interval.low > SAME * max(1.0, abs(interval.mean)) or step == 0:
        return interval
    if step is None:
        return replace(interval, low=None, high=None)
    return replace(interval, low=interval.mean - step, high=interval.mean + step)
