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
    NumbersBySeed,
    Term,
    contrast,
    estimate,
    sure_to_a_step,
    t_interval,
)
from bench.analysis.verdicts import NOTHING, Verdict, judge_value
from bench.cells import CELLS
from bench.suites.checks import Region


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


def test_separate_variances_are_welchs_test() -> None:
    mine, theirs = [1.0, 2.0, 4.0], [0.5, 0.7, 0.9, 3.0]
    expected = stats.ttest_ind(mine, theirs, equal_var=False).confidence_interval(0.95)
    sides = dict(enumerate(mine)), dict(enumerate(theirs, start=9))
    found = contrast([Term(1.0, NumbersBySeed(sides[0])), Term(-1.0, NumbersBySeed(sides[1]))])
    assert found is not None
    told = found.interval(0.95)
    assert (told.low, told.high) == pytest.approx((expected.low, expected.high))
    assert told.n == 3
    assert told.mean == pytest.approx(float(np.mean(mine) - np.mean(theirs)))
    own = estimate(*sides)
    assert own is not None
    assert own.p_value(0.0) == pytest.approx(stats.ttest_ind(mine, theirs, equal_var=False).pvalue)


def test_paired_seeds_cancel_what_both_sides_share() -> None:
    mine, theirs = {0: 1.1, 1: 5.2, 2: 9.3}, {0: 1.0, 1: 5.0, 2: 9.0, 3: 50.0}
    found = contrast([Term(1.0, NumbersBySeed(mine)), Term(-1.0, NumbersBySeed(theirs))], "paired")
    assert found is not None
    assert found.interval(0.9) == t_interval([mine[s] - theirs[s] for s in (0, 1, 2)], 0.9)


def test_one_shared_seed_has_no_interval() -> None:
    def between(mine: dict[int, float], theirs: dict[int, float]) -> Estimate | None:
        return contrast([Term(1.0, NumbersBySeed(mine)), Term(-1.0, NumbersBySeed(theirs))])

    alone = between({0: 1.0}, {0: 3.0, 1: 5.0})
    assert alone is not None
    assert alone.interval(0.9) == Interval(1, -2.0, None, None, None)
    assert not alone.interval().inside(Region(-9.0, 9.0))
    assert alone.p_outside(Region(0.0, math.inf)) == 1.0
    assert alone.smallest_effect is None
    assert between({0: 1.0}, {1: 3.0}) is None
    assert between({}, {1: 3.0}) is None


def test_an_effect_lies_outside_where_the_interval_does() -> None:
    """The p-value is the level at which the interval just reaches the region."""
    values = [1.0, 2.0, 4.0]
    found = contrast([Term(1.0, NumbersBySeed(enumerate(values)))])
    assert found is not None
    for region in (Region(3.0, math.inf), Region(-9.0, 0.4), Region(5.0, 6.0), Region(0.0, 0.0)):
        p = found.p_outside(region)
        nearest = region.low if region.low > found.mean else region.high
        ends = found.interval(1 - p)
        assert pytest.approx(nearest) in (ends.low, ends.high)
    assert found.p_outside(Region(2.0, 3.0)) == 1.0
    twice = stats.ttest_1samp(values, 0.0).pvalue
    assert found.p_outside(Region(0.0, 0.0)) == pytest.approx(twice)


def test_an_interval_lies_inside_with_both_ends() -> None:
    assert interval(1.0, 3.0).inside(Region(1.0, 3.0))
    assert interval(1.0, 3.0).inside(Region(0.0, math.inf))
    assert not interval(1.0, 3.0).inside(Region(1.1, 3.0))
    assert not interval(1.0, 3.0).inside(Region(0.0, 2.9))


def test_the_smallest_effect_is_seen_four_times_in_five() -> None:
    draws = np.random.default_rng(0).standard_normal((4000, 5))
    effect = 1.65  # standard deviations of a run
    seen, sizes = 0, []
    for row in draws:
        found = contrast([Term(1.0, NumbersBySeed(enumerate(effect + row)))])
        assert found is not None
        seen += found.interval().inside(Region(0.0, math.inf))
        sizes.append(found.smallest_effect or 0.0)
    assert seen / 4000 == pytest.approx(0.8, abs=0.05)
    assert float(np.mean(sizes)) == pytest.approx(effect, rel=0.15)


def test_equal_seeds_are_no_surer_than_the_step_of_the_metric() -> None:
    same, noisy = (Estimate(3, 0.5, error, 2.0) for error in (0.0, 0.1))
    positive = Region(0.0, math.inf)
    assert sure_to_a_step(same, 0.0).interval().inside(positive)
    assert sure_to_a_step(same, 0.2).interval(0.9) == Interval(3, 0.5, None, 0.3, 0.7)
    assert not sure_to_a_step(same, 0.6).interval().inside(positive)
    assert sure_to_a_step(same, None).interval(0.9) == Interval(3, 0.5, None, None, None)
    assert sure_to_a_step(noisy, 9.0) == noisy


def test_seeds_that_move_alike_have_the_noise_of_a_step() -> None:
    """One image more in each of two seeds is what chance does; a number of a formula has none."""
    moved = estimate({0: 0.2, 1: 0.2}, {0: 0.0, 1: 0.0})
    assert moved is not None
    assert moved.p_value(0.2) == pytest.approx(0.39, abs=0.01)
    assert (moved.p_value(0.0), estimate({0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0})) == (
        0.0, Estimate(2, 0.0, 0.0, 1, 0.0, how="paired")
    )  # fmt: skip


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
        (interval(1.86, 2.04), True, Verdict.SAME),
        (interval(1.85, 2.15), True, Verdict.SAME),  # 2.0 +- (0.1 + half of the last digit)
        (interval(1.84, 2.0), True, Verdict.CANNOT_TELL),  # sticks out
        (interval(1.0, 3.0), True, Verdict.CANNOT_TELL),
        (interval(2.16, 2.3), True, Verdict.LARGER),
        (interval(1.0, 1.84), True, Verdict.SMALLER),
        (Interval(1, 2.0, None, None, None), True, Verdict.ONE_SEED),
        (interval(1.9, 2.1), False, Verdict.NOT_COMPARABLE),
        (None, True, Verdict.NOT_MEASURED),
    ],
)
def test_verdicts(measured: Interval | None, comparable: bool, verdict: Verdict) -> None:
    told, why = judge_value(2.0, 0.15, measured, comparable=comparable)
    assert (told, why is not None) == (verdict, verdict == Verdict.CANNOT_TELL)


def test_what_nothing_learned_gives_is_not_the_same() -> None:
    """VINCE at 5 %: printed 1.97e-6 with a tolerance of 8e-6, measured 1e-7 of a collapsed run."""
    collapsed = interval(1.0e-7, 1.1e-7)
    assert judge_value(1.97e-6, 8e-6, collapsed) == (Verdict.SAME, None)
    assert judge_value(1.97e-6, 8e-6, collapsed, nothing=0.0) == (Verdict.CANNOT_TELL, NOTHING)
    assert judge_value(1.97e-6, 8e-6, interval(1.0, 1.1), nothing=0.0)[0] == Verdict.LARGER
    learned = interval(0.0131, 0.0138)
    assert judge_value(0.0134, 0.002, learned, nothing=0.0)[0] == Verdict.SAME


def test_no_printed_number_is_missing() -> None:
    assert judge_value(None, 0.15, interval(1, 2)) == (Verdict.NOT_MEASURED, None)
