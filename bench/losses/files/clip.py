"""The factor of similarities is learned by its logarithm."""

import math

import torch
from torch import Tensor

LARGEST = 100.0


def clip(pos_N: Tensor, neg_NK: Tensor, log_scale: Tensor) -> Tensor:
    """Return the loss of each query, shape (N,); beyond 100 the factor is 100, with a gradient."""
    over = (log_scale - math.log(LARGEST)).clamp(min=0).detach()
    logits_NM = (log_scale - over).exp() * torch.cat([pos_N[:, None], neg_NK], dim=1)
    return logits_NM.logsumexp(dim=1) - logits_NM[:, 0]
