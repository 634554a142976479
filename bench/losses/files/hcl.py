"""As debiased contrast, with a mean over negatives in which near ones weigh more."""

import math

from torch import Tensor


def hcl(pos_N: Tensor, neg_NK: Tensor, tau: float, tau_plus: float, beta: float) -> Tensor:
    """Return the loss of each query, shape (N,); gradients flow through the weights."""
    pos, count = (pos_N / tau).exp(), neg_NK.shape[1]
    weight_NK = (beta * neg_NK / tau).softmax(dim=1)
    mean = (weight_NK * (neg_NK / tau).exp()).sum(dim=1)
    without = ((mean - tau_plus * pos) / (1 - tau_plus)).clamp(min=math.exp(-1 / tau))
    return (pos + count * without).log() - pos_N / tau
