"""Lemmas of `mutual-information` on bounds, by enumeration in float64."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from bench.losses import infonce, ir, mi_lower_bound

KAPPA = 2876934.2 / 1281167
Scores = st.lists(st.floats(-3, 3), min_size=4, max_size=7, unique=True)


def test_infonce_is_the_bound_of_eq_5() -> None:
    """f(x, y_1) - log (1/K) sum_j e^{f(x, y_j)}, the positive among the K, at most log K."""
    f = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 5)))
    eq_5 = f[:, 0] - (f.exp().mean(dim=1)).log()
    bound = mi_lower_bound(infonce(f[:, 0], f[:, 1:], tau=1.0), candidates=5)
    assert_close(bound, eq_5)
    assert (bound <= math.log(5)).all()


def test_lemma_3_1_has_the_sign_of_log_kappa_wrong() -> None:
    """With the positive among the K samples, InfoNCE = L^IR + log K + log kappa, not - log kappa.

    `lemma-3.1` in the published facts says so; kappa = N / K then gives log N, App. F's constant.
    """
    f = torch.from_numpy(np.random.default_rng(1).standard_normal((6, 5)))
    objective = -ir(f[:, 0], f, tau=1.0, kappa=KAPPA, normaliser="sampled")  # is maximised
    bound = mi_lower_bound(infonce(f[:, 0], f[:, 1:], tau=1.0), candidates=5)
    assert_close(bound, objective + math.log(5) + math.log(KAPPA))
    assert (bound - objective - math.log(5 / KAPPA)).abs().min() > 1


@settings(deadline=None)
@given(scores=Scores)
def test_theorem_4_1(scores: list[float]) -> None:
    """Restricting samples to those above log E[g] raises E[g]."""
    g = np.exp(scores)
    kept = g[g > g.mean()]
    if len(kept) in (0, len(g)):
        return
    assert kept.mean() > g.mean()


def expected_bound(own: float, allowed: np.ndarray, K: int) -> float:
    """Return E over i.i.d. draws of K - 1 negatives of log( e^own / ((1/K) sum) )."""
    draws = itertools.product(allowed, repeat=K - 1)
    return float(np.mean([own - np.log((np.exp(own) + np.exp(draw).sum()) / K) for draw in draws]))


@settings(deadline=None, max_examples=30)
@given(scores=Scores)
def test_corollary_4_1_1_where_its_conditions_hold(scores: list[float]) -> None:
    """VINCE <= InfoNCE for T = [threshold, inf) above log E[e^f], one f for both (x = y_1)."""
    f = np.array(scores)
    threshold = np.log(np.exp(f).mean())
    kept = f[f > threshold]
    if len(kept) == 0:
        return
    own = float(f.max())
    assert expected_bound(own, kept, 3) <= expected_bound(own, f, 3) + 1e-12


def test_corollary_4_1_1_fails_below_its_threshold() -> None:
    """A bounded T that starts below log E[e^f] leaves the large scores out: the bound rises."""
    f = np.array([-3.0, -2.0, 2.9, 3.0])
    assert expected_bound(3.0, f[:2], 3) > expected_bound(3.0, f, 3)


@pytest.mark.parametrize("K", [2, 4])
def test_lemma_4_2_adds_log_k(K: int) -> None:
    """I^VINCE = L^T + log K: the constant between the mean and the sum in the denominator."""
    f = torch.from_numpy(np.random.default_rng(2).standard_normal((6, K)))
    objective = f[:, 0] - f.logsumexp(dim=1)
    assert_close(-infonce(f[:, 0], f[:, 1:], tau=1.0), objective)
    assert_close(objective + math.log(K), f[:, 0] - f.exp().mean(dim=1).log())
