"""Decoupled hyperspherical energy: alignment of views, and an energy within each view alone."""

import torch
from torch import Tensor


def dhel(query_ND: Tensor, key_ND: Tensor, tau: float) -> Tensor:
    """Return the loss of each query, shape (N,)."""
    itself_NN = torch.eye(len(query_ND), device=query_ND.device).bool()
    logits_NN = (query_ND @ query_ND.T / tau).masked_fill(itself_NN, -torch.inf)
    return logits_NN.logsumexp(dim=1) - (query_ND * key_ND).sum(dim=1) / tau
