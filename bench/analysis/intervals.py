"""The interval of a measured value, and what it covers: training seeds, and test images or not."""

from collections.abc import Sequence
from dataclasses import replace

from bench.analysis.statistics import Interval, t_interval
from bench.cells.cell import Cell
from bench.suites.suite import Comparison

TRAINING = "training seeds"
NORMAL = 1.96  # half of a 95 % interval, in standard errors
LARGE = 1 / 3  # of the half-width: a standard error that is not left out


def interval_of(
    numbers: Sequence[float], cells: Sequence[Cell], comparison: Comparison
) -> tuple[Interval | None, str]:
    """Return the mean over seeds with its interval, and what the interval covers.

    The seeds share their test images. An accuracy on n of them has the binomial standard error
    beside that of the seeds, which is added where it is more than a third of the half-width.

    Args:
        numbers: one per seed.
        cells: those that gave them.
        comparison: a gain or what is made of an axis is no accuracy, so nothing is added.
    """
    if not numbers:
        return None, TRAINING
    interval = t_interval(numbers)
    step = cells[0].step_of(comparison.metric)
    if interval.low is None or interval.high is None or not step:
        return interval, TRAINING
    if comparison.gain_over or comparison.over is not None:
        return interval, TRAINING
    half = (interval.high - interval.low) / 2
    share = min(max(interval.mean / 100, 0.0), 1.0)
    error = 100 * (share * (1 - share) * step / 100) ** 0.5
    if error <= LARGE * half:
        return interval, TRAINING
    wide = (half**2 + (NORMAL * error) ** 2) ** 0.5
    covers = f"{TRAINING} and {100 / step:.0f} test images (standard error {error:.2g})"
    return replace(interval, low=interval.mean - wide, high=interval.mean + wide), covers
