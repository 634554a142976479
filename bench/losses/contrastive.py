"""Contrastive objectives over similarities, one value per query, in nats."""

import math

import torch
from torch import Tensor


def infonce(
    pos_N: Tensor, neg_NM: Tensor, *, tau: float | Tensor, margin: float | Tensor = 0.0
) -> Tensor:
    """Return the cross-entropy of finding the positive among 1 + M candidates.

    EqCo, Eq. 1: -log( e^{(pos - m)/tau} / (e^{(pos - m)/tau} + sum_i e^{neg_i/tau}) ). Without a
    margin this is InfoNCE; with `eqco_margin` it is EqCo's loss, Eq. 10.

    Args:
        pos_N: similarity of each query with its positive, shape (..., N).
        neg_NM: similarities with its M >= 1 negatives, shape (..., N, M); -inf marks an entry
            that is no negative.
        tau: temperature > 0, unit-free; a tensor of shape (..., 1) for one value a stacked cell.
        margin: m, in the unit of the similarities; a tensor as for tau.

    Returns:
        Loss of each query in nats, shape (..., N); the caller takes the mean.

    Raises:
        ValueError: tau is not above 0, or the shapes do not agree.
    """
    if not bool((torch.as_tensor(tau) > 0).all()):
        raise ValueError(f"tau must be above 0, found {tau}")
    if neg_NM.shape[:-1] != pos_N.shape or neg_NM.shape[-1] == 0:
        raise ValueError(
            f"needs shapes (..., N) and (..., N, M >= 1), found {tuple(pos_N.shape)} and "
            f"{tuple(neg_NM.shape)}"
        )
    logit_N = (pos_N - margin) / tau
    tau_NM = tau.unsqueeze(-1) if isinstance(tau, Tensor) else tau
    # log(1 + e^x) of a difference: no cancellation, so that small losses keep their digits. Of
    # torch's functions for it only logsigmoid rounds alike at every place of a tensor (softplus
    # and logaddexp do not), which keeps a stacked cell's numbers free of its neighbours.
    excess_N = (neg_NM / tau_NM).logsumexp(dim=-1) - logit_N
    return -torch.nn.functional.logsigmoid(-excess_N)


def eqco_margin(alpha: float, negatives: float, tau: float) -> float:
    """Return EqCo's margin m = tau log(alpha / K) (EqCo, Eq. 5).

    Args:
        alpha: how many negatives the loss shall behave as if it had, > 0.
        negatives: K, how many it has, > 0.
        tau: temperature > 0.

    Raises:
        ValueError: one of them is not above 0.
    """
    if not (alpha > 0 and negatives > 0 and tau > 0):
        raise ValueError(f"alpha, K and tau must be above 0, found {alpha}, {negatives} and {tau}")
    return tau * math.log(alpha / negatives)


def in_batch(sim_NN: Tensor) -> tuple[Tensor, Tensor]:
    """Return positives and negatives of similarities whose diagonal holds the positives.

    Args:
        sim_NN: similarities of N queries with the keys of all N pairs, shape (..., N, N).

    Returns:
        (..., N) and (..., N, N); a query's own key is masked with -inf among its negatives.
    """
    own_NN = torch.eye(sim_NN.shape[-1], dtype=torch.bool, device=sim_NN.device)
    return sim_NN.diagonal(dim1=-2, dim2=-1), sim_NN.masked_fill(own_NN, -torch.inf)


def infonce_gradient_in_batch(sim_NN: Tensor, margin_N: Tensor, *, tau: float) -> Tensor:
    """Return d(mean InfoNCE)/d(similarities) in closed form, overwriting `sim_NN`.

    The positives stand on the diagonal. From EqCo, Eq. 10 (its Eq. 11 as corrected in
    `published`): with p the softmax of the row's logits, the gradient is (p - 1)/tau at the
    positive and p/tau at each negative, over N queries. One pass and no second N x N buffer: this
    is the inner loop of `gaussian-mi`. Autograd of `infonce` over `in_batch` is its oracle.

    Args:
        sim_NN: similarities, shape (..., N, N); overwritten and returned.
        margin_N: margin of each query, broadcast against (..., N).
        tau: temperature > 0.
    """
    sim_NN.diagonal(dim1=-2, dim2=-1).sub_(margin_N)
    if tau != 1:
        sim_NN.div_(tau)
    torch.softmax(sim_NN, dim=-1, out=sim_NN)
    sim_NN.diagonal(dim1=-2, dim2=-1).sub_(1)
    return sim_NN.div_(tau * sim_NN.shape[-1])
