"""Each positive of a class stands alone against the images of other classes."""

import torch
from torch import Tensor
from torch.nn.functional import softplus


def sincere(query_ND: Tensor, key_ND: Tensor, labels_N: Tensor, tau: float) -> Tensor:
    """Return the mean over a query's positives, shape (N,): all other views are compared."""
    itself_NM = torch.eye(len(query_ND), device=query_ND.device).repeat(1, 2).bool()
    itself_NM[:, : len(key_ND)] = False
    logits_NM = query_ND @ torch.cat([key_ND, query_ND]).T / tau
    same_NM = labels_N[:, None] == labels_N.repeat(2)
    least = torch.finfo(logits_NM.dtype).min  # not -inf: a batch may be of one class
    others_N1 = logits_NM.masked_fill(same_NM, least).logsumexp(dim=1, keepdim=True)
    positive_NM = same_NM & ~itself_NM
    loss_NM = softplus(others_N1 - logits_NM).masked_fill(~positive_NM, 0)
    return loss_NM.sum(dim=1) / positive_NM.sum(dim=1)
