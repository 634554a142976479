"""The closed bounds against sampling and autograd."""

import math

import numpy as np
import pytest
import torch

from bench.losses import eqco_margin, gradient_norm_bound, infonce
from bench.losses.bounds import log_mean_exp_on_sphere


@pytest.mark.parametrize("d", [2, 3, 16])
@pytest.mark.parametrize("kappa", [0.5, 5.0])
def test_mean_exp_on_the_sphere_is_what_sampling_gives(d: int, kappa: float) -> None:
    keys = np.random.default_rng(0).standard_normal((400_000, d))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    sampled = math.log(np.exp(kappa * keys[:, 0]).mean())
    assert log_mean_exp_on_sphere(kappa, d) == pytest.approx(sampled, abs=0.02)


def test_mean_exp_on_the_three_dimensional_sphere_by_hand() -> None:
    """u.k is uniform on [-1, 1] in three dimensions: E[exp(kappa t)] = sinh(kappa) / kappa."""
    assert log_mean_exp_on_sphere(2.0, 3) == pytest.approx(math.log(math.sinh(2) / 2))


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_norm_is_below_the_bound_of_theorem_2(tau: float) -> None:
    """EqCo, Theorem 2, on keys whose E[s_i] is known because they are all the keys there are."""
    generator = torch.Generator().manual_seed(0)
    keys = torch.nn.functional.normalize(
        torch.randn(64, 8, dtype=torch.float64, generator=generator), dim=1
    )
    query, positive, negatives = keys[0].clone().requires_grad_(), keys[1], keys[2:]
    alpha = 100.0
    margin = eqco_margin(alpha, len(negatives), tau)
    loss = infonce((query @ positive)[None], (negatives @ query)[None], tau=tau, margin=margin)
    (gradient,) = torch.autograd.grad(loss.sum(), query)
    at = query.detach()
    log_mean = (negatives @ at / tau).logsumexp(0) - math.log(len(negatives))
    bound = gradient_norm_bound(
        positive=float(at @ positive),
        expected_negative_log=float(log_mean),
        alpha=alpha,
        tau=tau,
    )
    assert 0 < float(gradient.norm()) <= bound


def test_bound_by_hand() -> None:
    """s0 = E[s_i] and alpha = 1: (2/tau)(1 - 1/2)."""
    found = gradient_norm_bound(positive=0.0, expected_negative_log=0.0, alpha=1.0, tau=0.5)
    assert found == pytest.approx(2.0)
