"""Contrastive objectives over similarities, one value per query, in nats."""

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def check_similarities(pos_N: Tensor, neg_NM: Tensor, **temperatures: float | Tensor) -> None:
    """Check that each named temperature is above 0 and shapes are (..., N) and (..., N, M >= 1).

    Raises:
        ValueError: a temperature or shape is invalid.
    """
    for name, value in temperatures.items():
        if not (bool((value > 0).all()) if isinstance(value, Tensor) else value > 0):
            raise ValueError(f"{name} must be above 0, found {value}")
    if neg_NM.shape[:-1] != pos_N.shape or neg_NM.shape[-1] == 0:
        raise ValueError(
            "positives and negatives must have shapes (..., N) and (..., N, M) with M "
            f">= 1, found {tuple(pos_N.shape)} and {tuple(neg_NM.shape)}"
        )


def at_least_float32(x: Tensor) -> Tensor:
    """Cast to float32 unless the tensor is float64; near 100, bfloat16 resolves only 0.5."""
    return x if x.dtype == torch.float64 else x.float()


def excess(
    pos_N: Tensor, neg_NM: Tensor, tau: float | Tensor, margin: float | Tensor = 0.0
) -> Tensor:
    """Return log U - (pos - m)/tau, shape (..., N): the log-odds against the positive.

    U = sum_i e^{neg_i/tau} (DCL, Eq. 2). DCL is this number, InfoNCE its softplus, q_B its sigmoid.

    Args:
        pos_N: similarity of each query with its positive, shape (..., N).
        neg_NM: similarity of each query with its negatives, shape (..., N, M).
        tau: temperature, above 0, unit-free.
        margin: m, subtracted from the positive.
    """
    tau_NM = tau.unsqueeze(-1) if isinstance(tau, Tensor) else tau
    return (neg_NM / tau_NM).logsumexp(dim=-1) - (pos_N - margin) / tau


def infonce(
    pos_N: Tensor, neg_NM: Tensor, *, tau: float | Tensor, margin: float | Tensor = 0.0
) -> Tensor:
    """Return InfoNCE: the cross-entropy of the positive among 1 + M candidates.

    EqCo, Eq. 1: -log( e^{(pos - m)/tau} / (e^{(pos - m)/tau} + sum_i e^{neg_i/tau}) ). Without a
    margin this is InfoNCE; with `eqco_margin` it is EqCo's loss, Eq. 10.

    Args:
        pos_N: similarity of each query with its positive, shape (..., N).
        neg_NM: similarity of each query with its M >= 1 negatives, shape (..., N, M). -inf excludes
            an entry.
        tau: temperature > 0, unit-free; a tensor of shape (..., 1) for one value per stacked cell.
        margin: m, in the unit of the similarities; a tensor has shape (..., 1), as for tau.

    Returns:
        Loss of each query in nats, shape (..., N), computed in float32 or wider; not averaged.

    Raises:
        ValueError: tau is not above 0, or the shapes do not agree.
    """
    check_similarities(pos_N, neg_NM, tau=tau)
    # log(1 + e^x) of a difference: no cancellation, so that small losses keep their digits. Of
    # torch's functions for it only logsigmoid rounds alike at every place of a tensor (softplus
    # and logaddexp do not), which keeps a stacked cell's numbers free of its neighbours.
    x_N = excess(at_least_float32(pos_N), at_least_float32(neg_NM), tau, margin)
    return -logsigmoid(-x_N)


def dcl(pos_N: Tensor, neg_NM: Tensor, *, tau: float | Tensor) -> Tensor:
    """Return the decoupled contrastive loss: InfoNCE without the positive in its denominator.

    DCL, arXiv:2110.06848, Eq. 6: -pos/tau + log sum_i e^{neg_i/tau}. The loss may be negative. Its
    gradients equal those of InfoNCE divided by q_B (Prop. 2).

    Args:
        pos_N: similarity of each query with its positive, shape (..., N).
        neg_NM: similarity of each query with its M >= 1 negatives, shape (..., N, M). -inf excludes
            an entry; each query needs at least one finite entry.
        tau: temperature > 0, unit-free; a tensor of shape (..., 1) for one value per stacked cell.

    Returns:
        Loss of each query in nats, shape (..., N), computed in float32 or wider.

    Raises:
        ValueError: tau is not above 0, or the shapes do not agree.
    """
    check_similarities(pos_N, neg_NM, tau=tau)
    return excess(at_least_float32(pos_N), at_least_float32(neg_NM), tau)


def dclw(
    pos_N: Tensor,
    neg_NM: Tensor,
    *,
    tau: float | Tensor,
    weight: Literal["vmf", "exp"],
    sigma: float,
    delta: float | None = None,
    through_weight: bool,
) -> Tensor:
    """Return DCL with a weighted positive term: -w pos/tau + log sum_i e^{neg_i/tau}.

    Source: DCL, Eq. 7, in the interpretation that w multiplies only the positive term.

    Args:
        pos_N, neg_NM, tau: as for `dcl`.
        weight: "vmf", w = 2 - e^{pos/sigma} / mean_N e^{pos/sigma} (eq-7-vmf), of mean 1 over the N
            queries given; "exp", w = delta e^{-sigma pos} (App. 8).
        sigma: width > 0 for "vmf", rate > 0 for "exp".
        delta: factor > 0, required for "exp"; None for "vmf".
        through_weight: whether the gradient flows through w. The paper does not specify this.

    Returns:
        Loss of each query in nats, shape (..., N), computed in float32 or wider.

    Raises:
        ValueError: as for `dcl`, or sigma, delta or weight is invalid.
    """
    check_similarities(pos_N, neg_NM, tau=tau, sigma=sigma)
    pos_N, neg_NM = at_least_float32(pos_N), at_least_float32(neg_NM)
    w_N = positive_weight(pos_N if through_weight else pos_N.detach(), weight, sigma, delta)
    return excess(w_N * pos_N, neg_NM, tau)


def positive_weight(
    pos_N: Tensor, weight: Literal["vmf", "exp"], sigma: float, delta: float | None
) -> Tensor:
    """Return DCLW's weight of each query's positive, shape (..., N); see `dclw`.

    Args:
        pos_N: similarity of each query with its positive, shape (..., N).
        weight: "vmf" (DCLW) or "exp".
        sigma: width for "vmf" or rate for "exp", above 0.
        delta: factor for "exp", above 0; None for "vmf".

    Raises:
        ValueError: delta is missing or not allowed for the weight.
    """
    if weight == "vmf" and delta is None:
        return 2 - pos_N.shape[-1] * torch.softmax(pos_N / sigma, dim=-1)
    if weight == "exp" and delta is not None and delta > 0:
        return delta * torch.exp(-sigma * pos_N)
    raise ValueError(
        "weight must be 'vmf' with delta None, or 'exp' with delta above 0, found "
        f"weight {weight!r} with delta {delta}"
    )


def dual_temperature(
    pos_N: Tensor,
    neg_NM: Tensor,
    *,
    tau: float | Tensor,
    tau_beta: float | Tensor,
    form: Literal["released", "printed"],
    margin: float | Tensor = 0.0,
    scalar_NK: Tensor | None = None,
) -> Tensor:
    """Return InfoNCE times the detached weight W_beta/W_alpha of each query.

    Source: dual temperature, Algorithm 1, with explicit negatives instead of the batch's keys.
    W_alpha and W_beta are 1 - P(positive) at tau and at tau_beta. "released" weights InfoNCE at
    tau, so its gradient is W_beta times the gradient of log U - pos/tau. "printed" weights InfoNCE
    at temperature 1, and W_alpha does not cancel.

    EqCo's margin is a prior: a factor e^{m/tau} on every negative (EqCo, Eq. 10), equal at all
    temperatures. Therefore the positive is reduced by m at tau, by m tau_beta/tau at tau_beta and
    by m/tau at 1. Then alpha = n K counts each negative n times, and tau_beta = tau gives w = 1.

    Args:
        pos_N, neg_NM: as for `dcl`.
        tau: temperature > 0 of the loss and of the weights among negatives (tau_alpha).
        tau_beta: temperature > 0 of the query's weight.
        form: "released" follows the authors' code, "printed" the paper.
        margin: m at tau, as for `infonce`.
        scalar_NK: similarities with separate negatives for W_beta, shape (..., N, K): a dictionary
            for the scalar component only (supplement, Sec. B). None uses neg_NM.

    Returns:
        Loss of each query in nats, shape (..., N), computed in float32 or wider.

    Raises:
        ValueError: as for `dcl`, tau_beta is not above 0, or form is invalid.
    """
    check_similarities(pos_N, neg_NM, tau=tau, tau_beta=tau_beta)
    if form not in ("released", "printed"):
        raise ValueError(f"form must be 'released' or 'printed', found '{form}'")
    pos_N, neg_NM, prior = at_least_float32(pos_N), at_least_float32(neg_NM), margin / tau
    x_N = excess(pos_N, neg_NM, tau, margin)
    with torch.no_grad():
        scalar = neg_NM if scalar_NK is None else at_least_float32(scalar_NK)
        log_beta_N = logsigmoid(excess(pos_N, scalar, tau_beta, prior * tau_beta))
    if form == "released":
        return log_beta_N.exp() * softplus_over_sigmoid(x_N)
    # w overflows for a perfect positive at a small tau: it stops at the root of the largest number.
    largest = math.log(torch.finfo(x_N.dtype).max) / 2
    w_N = (log_beta_N - logsigmoid(x_N.detach())).clamp(max=largest).exp()
    return -w_N * logsigmoid(-excess(pos_N, neg_NM, 1.0, prior))


def softplus_over_sigmoid(x: Tensor) -> Tensor:
    """Return log(1 + e^x) / sg(sigmoid(x)), with gradient 1, without underflow.

    For x = `excess`, it is InfoNCE divided by its detached 1 - P(positive). Below -40 the quotient
    is 1.
    """
    low = x.detach().clamp(min=-40)
    quotient = -logsigmoid(-low) / logsigmoid(low).exp()
    return quotient + (x - x.detach())


def eqco_margin(alpha: float, negatives: float, tau: float) -> float:
    """Return EqCo's margin m = tau log(alpha / K) (EqCo, Eq. 5).

    Args:
        alpha: effective number of negatives, > 0.
        negatives: actual number K of negatives, > 0.
        tau: temperature > 0.

    Raises:
        ValueError: an argument is not above 0.
    """
    if not (alpha > 0 and negatives > 0 and tau > 0):
        raise ValueError(f"alpha, K and tau must be above 0, found {alpha}, {negatives} and {tau}")
    return tau * math.log(alpha / negatives)


def in_batch(sim_NN: Tensor) -> tuple[Tensor, Tensor]:
    """Return positives and negatives from similarities with the positives on the diagonal.

    Args:
        sim_NN: similarities of N queries with the keys of all N pairs, shape (..., N, N).

    Returns:
        Positives (..., N) and negatives (..., N, N), with -inf at each query's own key.
    """
    own_NN = torch.eye(sim_NN.shape[-1], dtype=torch.bool, device=sim_NN.device)
    return sim_NN.diagonal(dim1=-2, dim2=-1), sim_NN.masked_fill(own_NN, -torch.inf)


def infonce_gradient_in_batch(sim_NN: Tensor, margin_N: Tensor, *, tau: float) -> Tensor:
    """Return d(mean InfoNCE)/d(similarities) in closed form, overwriting `sim_NN`.

    The positives are on the diagonal. Source: EqCo, Eq. 10 (and Eq. 11, corrected). With p the
    softmax of the row's logits, the gradient is (p - 1)/tau at the positive and p/tau at each
    negative, divided by N. It needs no second N x N buffer.

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
