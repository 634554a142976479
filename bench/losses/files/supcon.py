"""The mean over all positives of a query, outside of the logarithm (L_out)."""

import torch
from torch import Tensor


def supcon(query_ND: Tensor, key_ND: Tensor, labels_N: Tensor, tau: float) -> Tensor:
    """Return the loss of each query, shape (N,): all other views of the batch are compared."""
    itself_NM = torch.eye(len(query_ND), device=query_ND.device).repeat(1, 2).bool()
    itself_NM[:, : len(key_ND)] = False
    cosine_NM = query_ND @ torch.cat([key_ND, query_ND]).T
    logits_NM = (cosine_NM / tau).masked_fill(itself_NM, -torch.inf)
    positive_NM = (labels_N[:, None] == labels_N.repeat(2)) & ~itself_NM
    log_share_NM = logits_NM.log_softmax(dim=1).masked_fill(~positive_NM, 0)
    return -log_share_NM.sum(dim=1) / positive_NM.sum(dim=1)
