"""The temperature falls and rises again while the network trains."""

import math

import torch
from torch import Tensor


def scheduled(
    pos_N: Tensor,
    neg_NK: Tensor,
    epoch: float,
    tau_low: float,
    tau_high: float,
    period_epochs: float,
) -> Tensor:
    """Return the loss of each query, shape (N,)."""
    share = (1 + math.cos(2 * math.pi * epoch / period_epochs)) / 2
    tau = tau_low + (tau_high - tau_low) * share
    logits_NM = torch.cat([pos_N[:, None], neg_NK], dim=1) / tau
    return logits_NM.logsumexp(dim=1) - logits_NM[:, 0]
