"""The two experiments that check EqCo's theorems, against independent calculations."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bench.cells.toys import GradientNorm, OptimalBound
from bench.data.toys import correlate, correlation_for, log_density_ratio, normal_pairs
from bench.experiments import Result, gradient_norm, optimal_bound


def bound_of(**settings: Any) -> dict[str, float]:
    base = {"experiment": "optimal-bound", "mi_true": 1.0, "d": 2, "samples": 4000, "seed": 0}
    (outcome,) = optimal_bound.run([OptimalBound.model_validate(base | settings)], [], "cpu")
    assert isinstance(outcome, Result)
    return outcome.metrics


def test_density_ratio_is_scipys() -> None:
    rho = correlation_for(1.0, 2)
    x, eps = normal_pairs(np.random.default_rng(0), 5, 2)
    y = correlate(x, eps, rho)
    joint = multivariate_normal(cov=[[1, rho], [rho, 1]])
    single = multivariate_normal()
    expected = [
        sum(
            joint.logpdf([a, b]) - single.logpdf(a) - single.logpdf(b)
            for a, b in zip(*pair, strict=True)
        )
        for pair in zip(x, y, strict=True)
    ]
    np.testing.assert_allclose(log_density_ratio(x, y, rho), expected, rtol=1e-5)


def test_mean_log_density_ratio_is_the_mutual_information() -> None:
    x, eps = normal_pairs(np.random.default_rng(0), 200_000, 3)
    rho = correlation_for(1.5, 3)
    assert log_density_ratio(x, correlate(x, eps, rho), rho).mean() == pytest.approx(1.5, abs=0.01)


def test_bound_of_many_negatives_comes_near_the_mutual_information() -> None:
    found = bound_of(loss="infonce", K=512)
    assert found["mi_lower_bound"] == pytest.approx(1.0, abs=0.05)
    assert found["mi_lower_bound"] <= math.log(513)


def test_one_negative_without_margin_cannot_show_more_than_log_2() -> None:
    assert bound_of(loss="infonce", K=1, mi_true=5.0)["mi_lower_bound"] < math.log(2)


def test_approximate_bound_depends_on_alpha_alone() -> None:
    """EqCo, Eq. 6: with the margin, K = 16 gives what K = 256 gives, and K = alpha without."""
    small = bound_of(loss="eqco", alpha=256.0, K=16)["mi_lower_bound_approximate"]
    large = bound_of(loss="eqco", alpha=256.0, K=256)["mi_lower_bound_approximate"]
    plain = bound_of(loss="infonce", K=256)["mi_lower_bound_approximate"]
    assert small == large == plain


def test_few_negatives_with_the_margin_lie_above_the_approximation_by_little() -> None:
    """Jensen: the mean of K ratios instead of its expectation lowers the optimal loss."""
    found = bound_of(loss="eqco", alpha=256.0, K=16)
    assert 0 < found["mi_lower_bound"] - found["mi_lower_bound_approximate"] < 0.2


def test_margin_of_alpha_equal_to_k_is_no_margin() -> None:
    assert bound_of(loss="eqco", alpha=64.0, K=64) == bound_of(loss="infonce", K=64)


def norm_of(**settings: Any) -> dict[str, float]:
    base = {
        "experiment": "gradient-norm", "tau": 0.5, "d": 4, "positive_cosine": 0.3, "draws": 50,
        "seed": 0,
    }  # fmt: skip
    (outcome,) = gradient_norm.run([GradientNorm.model_validate(base | settings)], [], "cpu")
    assert isinstance(outcome, Result)
    return outcome.metrics


@pytest.mark.parametrize("k", [1, 8, 512])
def test_norm_stays_below_the_bound(k: int) -> None:
    found = norm_of(loss="eqco", alpha=512.0, K=k)
    assert 0 < found["gradient_norm"] <= found["gradient_norm_bound"]


def test_bound_does_not_depend_on_k_with_the_margin_and_does_without() -> None:
    with_margin = {norm_of(loss="eqco", alpha=512.0, K=k)["gradient_norm_bound"] for k in (1, 64)}
    without = {norm_of(loss="infonce", K=k)["gradient_norm_bound"] for k in (1, 64)}
    assert len(with_margin) == 1
    assert len(without) == 2
