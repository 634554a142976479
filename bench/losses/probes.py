"""Quantities of similarity objectives monitored during training, without gradients."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from bench.losses.contrastive import at_least_float32, check_similarities, excess


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
