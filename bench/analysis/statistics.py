"""Means over seeds and how sure they are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over n seeds with its t-interval; low and high are None below two seeds."""

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
