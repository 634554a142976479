"""Each pair of a query and a key is classified by itself: of one image, or not."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def siglip(query_ND: Tensor, key_ND: Tensor, log_scale: Tensor, bias: Tensor) -> Tensor:
    """Return the sum of the losses of a query's pairs, shape (N,)."""
    logits_NN = log_scale.exp() * query_ND @ key_ND.T + bias
    sign_NN = 2 * torch.eye(len(query_ND), device=query_ND.device) - 1
    return -logsigmoid(sign_NN * logits_NN).sum(dim=1)
