"""f'(G) of positives, less alpha times f*(f'(G)) of other images, G = e^(-d^2 / 2 sigma^2)."""

import math

from torch import Tensor
from torch.nn.functional import softplus


def fmicl(
    query_ND: Tensor, key_ND: Tensor, divergence: str, alpha_f: float, sigma_f: float
) -> Tensor:
    """Return the loss of each query, shape (N,): others are the same view of other images.

    With f(u) = u log u (kl), u log u - (u + 1) log((u + 1) / 2) (js) or (u - 1)^2 (pearson).
    """
    count = len(query_ND)
    first_N = _slope((query_ND - key_ND).square().sum(dim=1) / (-2 * sigma_f**2), divergence)
    others_NN = (query_ND @ query_ND.T - 1) / sigma_f**2  # of unit vectors: -d^2 / 2 sigma^2
    conjugate_NN = _conjugate(others_NN, divergence)
    second_N = (conjugate_NN.sum(dim=1) - conjugate_NN.diagonal()) / (count - 1)
    return alpha_f * second_N - first_N


def _slope(log_G: Tensor, divergence: str) -> Tensor:
    """Return f'(G)."""
    if divergence == "kl":
        return log_G + 1
    if divergence == "js":
        return math.log(2) - softplus(-log_G)
    return 2 * (log_G.exp() - 1)


def _conjugate(log_G: Tensor, divergence: str) -> Tensor:
    """Return f*(f'(G)), which is G f'(G) - f(G)."""
    if divergence == "kl":
        return log_G.exp()
    if divergence == "js":
        return softplus(log_G) - math.log(2)
    return (2 * log_G).exp() - 1
