"""Bounds on mutual information and gradient norms, and quantities monitored during training."""

import math

import numpy as np
import torch
from scipy.special import gammaln, ive
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from bench.losses.contrastive import at_least_float32, check_similarities, excess


def mi_lower_bound(loss: Tensor, *, candidates: float | Tensor) -> Tensor:
    """Return the empirical lower bound on mutual information, log(candidates) - loss.

    EqCo, Sec. 2.1: log(1 + K e^{m/tau}) - L. With K negatives and no margin `candidates` is
    1 + K, with EqCo's margin it is 1 + alpha.

    Args:
        loss: InfoNCE in nats, any shape.
        candidates: 1 + K e^{m/tau}, a number, or a tensor that broadcasts.

    Returns:
        Nats, in the shape of `loss`.
    """
    log = candidates.log() if isinstance(candidates, Tensor) else math.log(candidates)
    return log - loss


def gradient_norm_bound(
    *, positive: float, expected_negative_log: float, alpha: float, tau: float
) -> float:
    """Return EqCo's upper bound on E || dL/dq || for keys of unit norm (EqCo, Theorem 2, Eq. 7).

    (2/tau) (1 - s0 / (s0 + alpha E[s_i])), with s = exp(q.k/tau).

    Args:
        positive: q.k_0.
        expected_negative_log: log E[exp(q.k_i/tau)] over the negatives.
        alpha: alpha of the margin; K without a margin.
        tau: temperature > 0.
    """
    ratio = math.log(alpha) + expected_negative_log - positive / tau
    return 2 / tau / (1 + math.exp(-ratio))


def log_mean_exp_on_sphere(kappa: float, d: int) -> float:
    """Return log E[exp(kappa u.k)] for a unit vector u and k uniform on the unit sphere in R^d.

    The normaliser of the von Mises-Fisher distribution: Gamma(d/2) (2/kappa)^{d/2-1}
    I_{d/2-1}(kappa).
    """
    order = d / 2 - 1
    bessel = float(ive(order, kappa))
    return float(gammaln(d / 2) + order * np.log(2 / kappa) + np.log(bessel) + kappa)


@torch.no_grad()
def q_b(pos_N: Tensor, neg_NM: Tensor, *, tau: float | Tensor) -> Tensor:
    """Return q_B of each query: the factor that couples all gradients of InfoNCE.

    DCL, arXiv:2110.06848, Eq. 4: q_B = U / (e^{pos/tau} + U), U = sum_i e^{neg_i/tau}.

    Args:
        pos_N, neg_NM, tau: as for `infonce`.

    Returns:
        Values in [0, 1], shape (..., N), computed in float32 or wider.

    Raises:
        ValueError: tau is not above 0, or the shapes do not agree.
    """
    check_similarities(pos_N, neg_NM, tau=tau)
    # The exponential of logsigmoid, for sigmoid rounds differently at the end of a tensor.
    return logsigmoid(excess(at_least_float32(pos_N), at_least_float32(neg_NM), tau)).exp()


@torch.no_grad()
def histogram(values_N: Tensor, *, bins: int = 20) -> Tensor:
    """Return the number of values in each of `bins` equal bins of [0, 1], shape (..., bins).

    A bin includes its lower edge; the last one also includes 1. Values outside [0, 1] and NaN are
    not counted.
    """
    edges = torch.linspace(0, 1, bins + 1, dtype=values_N.dtype, device=values_N.device)
    at_least = (values_N.unsqueeze(-1) >= edges[:-1]).logical_and(values_N.unsqueeze(-1) <= 1)
    return -pad(at_least.sum(dim=-2), (0, 1)).diff(dim=-1)
