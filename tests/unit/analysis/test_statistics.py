"""Intervals and verdicts where the answer is known."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bench.analysis.statistics import (
    Estimate,
    Interval,
    difference,
    estimate,
    t_interval,
    widened,
)
from bench.analysis.verdicts import Verdict, judge_value
from bench.cells import CELLS


def test_interval_is_scipys() -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    expected = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    found = t_interval(values)
    assert (found.low, found.high) == pytest.approx(expected)
    assert (found.n, found.mean) == (4, 3.75)
    assert found.std == pytest.approx(np.std(values, ddof=1))


def test_one_value_has_no_interval() -> None:
    assert t_interval([3.0]) == Interval(1, 3.0, None, None, None)


def test_no_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^an interval needs at least one value$"):
        t_interval([])


def test_it_covers_as_often_as_it_says() -> None:
    draws = np.random.default_rng(0).standard_normal((4000, 3))
    covered = [bool(i.low <= 0 <= i.high) for i in map(t_interval, draws.tolist())]  # type: ignore[operator]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_it_covers_ranges_and_deviations_over_an_axis_too(n: int) -> None:
    """What the docstring says of statistics that are not normal."""
    draws = np.random.default_rng(0).standard_normal((40_000, n, 11))
    for statistic in (np.ptp(draws[..., :4], axis=-1), draws.std(axis=-1, ddof=1)):
        truth = statistic.mean()
        half = stats.t.ppf(0.975, n - 1) * stats.sem(statistic, axis=1)
        covered = np.abs(statistic.mean(axis=1) - truth) <= half
        assert covered.mean() == pytest.approx(0.95, abs=0.012)


def test_welch_is_scipys() -> None:
    mine, theirs = [1.0, 2.0, 4.0], [0.5, 0.7, 0.9, 3.0]
    expected = stats.ttest_ind(mine, theirs, equal_var=False).confidence_interval(0.95)
    found = difference(dict(enumerate(mine)), dict(enumerate(theirs, start=9)))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.n == 3
    assert found.mean == pytest.approx(np.mean(mine) - np.mean(theirs))
    own = estimate(dict(enumerate(mine)), dict(enumerate(theirs, start=9)))
    assert own is not None
    assert own.p_value(0.0) == pytest.approx(stats.ttest_ind(mine, theirs, equal_var=False).pvalue)


def test_shared_seeds_are_paired() -> None:
    """Noise that both sides share cancels: the interval is that of the differences."""
    mine, theirs = {0: 1.1, 1: 5.2, 2: 9.3}, {0: 1.0, 1: 5.0, 2: 9.0, 3: 50.0}
    assert difference(mine, theirs) == t_interval([mine[s] - theirs[s] for s in (0, 1, 2)])


def test_one_shared_seed_has_no_interval() -> None:
    alone = difference({0: 1.0}, {0: 3.0, 1: 5.0})
    assert alone == Interval(1, -2.0, None, None, None)
    assert difference({0: 1.0}, {1: 3.0}) is None


def test_seeds_that_move_alike_have_the_noise_of_a_step() -> None:
    """One image more in each of two seeds is what chance does; a number of a formula has none."""
    moved = estimate({0: 0.2, 1: 0.2}, {0: 0.0, 1: 0.0})
    assert moved is not None
    assert moved.p_value(0.2) == pytest.approx(0.39, abs=0.01)
    assert (moved.p_value(0.0), estimate({0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0})) == (
        0.0, Estimate(2, 0.0, 0.0, 1, 0.0)
    )  # fmt: skip


def test_equal_seeds_are_no_surer_than_the_step_of_the_metric() -> None:
    same = t_interval([0.5, 0.5, 0.5])
    assert widened(same, 0.0) == same
    assert widened(same, 0.2) == Interval(3, 0.5, 0.0, 0.3, 0.7)
    assert widened(same, None) == Interval(3, 0.5, 0.0, None, None)
    noisy = t_interval([0.4, 0.5, 0.6])
    assert widened(noisy, 9.0) == noisy


def test_what_a_formula_gives_has_no_step_and_what_was_trained_an_unknown_one() -> None:
    def step(kind: str, metric: str, **settings: Any) -> float | None:
        return CELLS[kind].model_construct(**settings).step_of(metric)

    assert step("vince-gaussian", "mi_true") == 0.0
    assert step("vince-gaussian", "vince_bound_train") is None
    assert step("gaussian-mi", "mi_lower_bound") is None
    assert step("identity", "largest_difference") == 0.0
    assert step("gradient-norm", "gradient_norm") == 0.0
    assert step("optimal-bound", "mi_lower_bound") == 0.0
    assert step("supervised", "test_top1", dataset="digits") == pytest.approx(100 / 450)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8), st.floats(-1e3, 1e3))
def test_a_shift_shifts_it(values: list[float], shift: float) -> None:
    one, other = t_interval(values), t_interval([v + shift for v in values])
    assert one.low is not None
    assert other.low is not None
    assert math.isclose(other.low, one.low + shift, rel_tol=1e-6, abs_tol=1e-6)


def interval(low: float, high: float) -> Interval:
    return Interval(3, (low + high) / 2, 0.1, low, high)


@pytest.mark.parametrize(
    ("measured", "comparable", "verdict"),
    [
        (interval(1.86, 2.04), True, Verdict.REPRODUCED),
        (interval(1.85, 2.15), True, Verdict.REPRODUCED),  # 2.0 +- (0.1 + half of the last digit)
        (interval(1.84, 2.0), True, Verdict.CONSISTENT),
        (interval(1.0, 3.0), True, Verdict.CONSISTENT),
        (interval(2.16, 2.3), True, Verdict.DIFFERS),
        (interval(1.0, 1.84), True, Verdict.DIFFERS),
        (Interval(1, 2.0, None, None, None), True, Verdict.SINGLE_RUN),
        (interval(1.9, 2.1), False, Verdict.NOT_COMPARABLE),
        (None, True, Verdict.MISSING),
    ],
)
def test_verdicts(measured: Interval | None, comparable: bool, verdict: Verdict) -> None:
    assert judge_value(2.0, 0.05, 0.1, measured, comparable=comparable) == verdict


def test_no_printed_number_is_missing() -> None:
    assert judge_value(None, 0.05, 0.1, interval(1, 2), comparable=True) == Verdict.MISSING
