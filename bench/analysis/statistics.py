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

import numpy as np
from scipy.special import stdtrit

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


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Return the mean and Student's interval for it, from independent normal values.

    Raises:
        ValueError: no value at all.
    """
    n = len(values)
    if n == 0:
        raise ValueError("an interval needs at least one value")
    mean = float(np.mean(values))
    if n == 1:
        return Interval(1, mean, None, None, None)
    std = float(np.std(values, ddof=1))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * std / n**0.5
    return Interval(n, mean, std, mean - half, mean + half)


def welch_interval(
    mine: Sequence[float], theirs: Sequence[float], level: float = LEVEL
) -> Interval:
    """Return the difference of two means and Welch's interval for it (Biometrika 34, 1947).

    Raises:
        ValueError: fewer than two values on a side.
    """
    if min(len(mine), len(theirs)) < 2:
        raise ValueError("Welch's interval needs at least two values on each side")
    shares = [float(np.var(side, ddof=1)) / len(side) for side in (mine, theirs)]
    mean, n = float(np.mean(mine) - np.mean(theirs)), min(len(mine), len(theirs))
    if sum(shares) == 0:
        return Interval(n, mean, None, mean, mean)
    freedom = sum(shares) ** 2 / sum(
        share**2 / (len(side) - 1) for share, side in zip(shares, (mine, theirs), strict=True)
    )
    half = float(stdtrit(freedom, (1 + level) / 2)) * sum(shares) ** 0.5
    return Interval(n, mean, None, mean - half, mean + half)


def difference(
    mine: Mapping[int, float], theirs: Mapping[int, float], level: float = LEVEL
) -> Interval | None:
    """Return how far `mine` lies above `theirs`, each a number a seed; None where nothing says.

    Paired over the seeds that both have, if there are two; else by Welch where each side has two.
    """
    shared = [seed for seed in mine if seed in theirs]
    if len(shared) < 2 and min(len(mine), len(theirs)) > 1:
        return welch_interval(list(mine.values()), list(theirs.values()), level)
    if not shared:
        return None
    return t_interval([mine[seed] - theirs[seed] for seed in shared], level)


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
