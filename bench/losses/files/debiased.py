"""The mean over negatives, less the share of it that is of the query's own class."""

import math

from torch import Tensor


def debiased(pos_N: Tensor, neg_NK: Tensor, tau: float, tau_plus: float) -> Tensor:
    """Return the loss of each query, shape (N,); one positive estimates its class (M = 1)."""
    pos, count = (pos_N / tau).exp(), neg_NK.shape[1]
    mean = (neg_NK / tau).exp().mean(dim=1)
    without = ((mean - tau_plus * pos) / (1 - tau_plus)).clamp(min=math.exp(-1 / tau))
    return (pos + count * without).log() - pos_N / tau
