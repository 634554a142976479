"""Bounds related to the objectives: mutual information and gradient norms."""

import math

import numpy as np
from scipy.special import gammaln, ive
from torch import Tensor


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
