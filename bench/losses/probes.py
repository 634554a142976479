"""What is measured of a similarity objective while it trains, without a gradient."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from bench.losses.contrastive import at_least_float32, check_similarities, excess


@torch.no_grad()
def q_b(pos_N: Tensor, neg_NM: Tensor, *, tau: float | Tensor) -> Tensor:
    """Return the coupling multiplier of each query, the factor of all of InfoNCE's gradients.

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
    """Return how many values fall in each of `bins` equal bins of [0, 1], shape (..., bins).

    A bin holds its lower edge, the last one 1 as well; a value outside [0, 1] or nan is in none.
    """
    edges = torch.linspace(0, 1, bins + 1, dtype=values_N.dtype, device=values_N.device)
    at_least = (values_N.unsqueeze(-1) >= edges[:-1]).logical_and(values_N.unsqueeze(-1) <= 1)
    return -pad(at_least.sum(dim=-2), (0, 1)).diff(dim=-1)
