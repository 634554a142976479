"""Alignment and uniformity of embeddings: as an objective, and as metrics of a frozen encoder."""

import math

import torch
from torch import Tensor

from bench.losses.contrastive import at_least_float32


def align_uniform(
    a_ND: Tensor,
    b_ND: Tensor,
    *,
    align_alpha: float = 2.0,
    uniform_t: float = 2.0,
    align_weight: float,
    uniform_weight: float,
    queued_NK: Tensor | None = None,
) -> Tensor:
    """Return the alignment and uniformity loss of Wang and Isola, one value per query.

    arXiv:2005.10242, Sec. 4: align_weight E ||a - b||^alpha + uniform_weight U, with U the mean
    over both views of log E_{i != j} exp(-t ||x_i - x_j||^2). The mean over the N queries is the
    objective: each query has its own alignment, and all have the same U. With a queue (App. D, Eq.
    18, which includes pairs within the batch), U uses only the first views. It averages over their
    N K pairs with queue keys and the N (N - 1) / 2 pairs among them.

    Args:
        a_ND: unit embeddings of the first views, shape (..., N, D), N >= 2.
        b_ND: unit embeddings of the second views, in the same order.
        align_alpha: power of the distance, >= 1. Below 1, the gradient of two equal views is
            infinite.
        uniform_t: t > 0; exp(-t ||x - y||^2) is e^{-2t} times exp(x.y/tau) at tau = 1/(2t).
        align_weight: factor of the alignment.
        uniform_weight: factor of the uniformity.
        queued_NK: similarities of the first views with the queue's keys, shape (..., N, K); None
            without a queue.

    Returns:
        Loss of each query, shape (..., N), computed in float32 or wider.

    Raises:
        ValueError: align_alpha < 1, t not above 0, N < 2, or the shapes do not match.
    """
    check_pairs(a_ND, b_ND, align_alpha)
    distance_N = distances(a_ND, b_ND)
    if queued_NK is not None:
        uniform = _log_mean_with_queue(a_ND, queued_NK, uniform_t)
        return align_weight * distance_N.pow(align_alpha) + uniform_weight * uniform.unsqueeze(-1)
    uniform = (log_mean_potential(a_ND, uniform_t) + log_mean_potential(b_ND, uniform_t)) / 2
    return align_weight * distance_N.pow(align_alpha) + uniform_weight * uniform.unsqueeze(-1)


def _log_mean_with_queue(x_ND: Tensor, queued_NK: Tensor, t: float) -> Tensor:
    """Return log of the mean potential over pairs with a queue and pairs within, shape (...)."""
    n, pairs = x_ND.shape[-2], queued_NK.shape[-2] * queued_NK.shape[-1]
    within = log_mean_potential(x_ND, t) + log_pairs(x_ND) - math.log(2)  # each pair once
    queued = (2 * t * (at_least_float32(queued_NK) - 1)).logsumexp(dim=(-2, -1))
    return torch.logaddexp(within, queued) - math.log(pairs + n * (n - 1) / 2)


def log_mean_potential(x_ND: Tensor, t: float) -> Tensor:
    """Return log mean_{i != j} exp(-t ||x_i - x_j||^2), shape (...), with its N x N matrix."""
    check_points(x_ND, t)
    x_ND = at_least_float32(x_ND)
    own_NN = torch.eye(x_ND.shape[-2], dtype=torch.bool, device=x_ND.device)
    logit_NN = (-t * squared_distances(x_ND, x_ND)).masked_fill(own_NN, -torch.inf)
    return logit_NN.logsumexp(dim=(-2, -1)) - log_pairs(x_ND)


@torch.no_grad()
def align(a_ND: Tensor, b_ND: Tensor, *, alpha: float = 2.0) -> Tensor:
    """Return the mean of ||a - b||^alpha over N pairs of unit embeddings (arXiv:2005.10242, Eq. 1).

    Args:
        a_ND: embeddings of unit length, shape (N, D).
        b_ND: embeddings of the paired views, shape (N, D).
        alpha: power of the distance, at least 1.

    Raises:
        ValueError: alpha < 1, or the shapes do not match.
    """
    check_pairs(a_ND, b_ND, alpha)
    return distances(a_ND, b_ND).pow(alpha).mean(dim=-1)


@torch.no_grad()
def uniformity(x_ND: Tensor, *, t: float = 2.0, block: int = 1024) -> Tensor:
    """Return log mean_{i != j} exp(-t ||x_i - x_j||^2) in nats (arXiv:2005.10242, Eq. 2).

    The computation uses tiles of block x block distances, so memory does not grow with N. Tiles are
    summed in float64.

    Args:
        x_ND: unit embeddings, shape (N, D), N >= 2.
        t: > 0.
        block: number of rows of a tile.

    Raises:
        ValueError: t is not above 0, or N < 2.
    """
    check_points(x_ND, t)
    blocks = at_least_float32(x_ND).split(block)
    tiles = []
    for i, row in enumerate(blocks):
        for column in blocks[i:]:
            logit = -t * squared_distances(row, column)
            if column is row:
                logit.fill_diagonal_(-torch.inf)
            twice = 0.0 if column is row else math.log(2)
            tiles.append(logit.flatten().logsumexp(dim=0).double() + twice)
    return torch.stack(tiles).logsumexp(dim=0) - log_pairs(x_ND)


def distances(a_ND: Tensor, b_ND: Tensor) -> Tensor:
    """Return ||a - b|| of each pair, shape (..., N); its gradient at 0 is 0."""
    difference: Tensor = torch.linalg.vector_norm(
        at_least_float32(a_ND) - at_least_float32(b_ND), dim=-1
    )
    return difference


def squared_distances(x_ND: Tensor, y_MD: Tensor) -> Tensor:
    """Return ||x_i - y_j||^2, shape (..., N, M), from inner products, in full precision."""
    norms = x_ND.square().sum(dim=-1).unsqueeze(-1) + y_MD.square().sum(dim=-1).unsqueeze(-2)
    with torch.autocast(x_ND.device.type, enabled=False):
        return norms - 2 * x_ND @ y_MD.mT


def log_pairs(x_ND: Tensor) -> float:
    """Return log(N (N - 1)), the logarithm of the number of ordered pairs."""
    n = x_ND.shape[-2]
    return math.log(n * (n - 1))


def check_pairs(a_ND: Tensor, b_ND: Tensor, alpha: float) -> None:
    """Check the arguments of `align`.

    Args:
        a_ND: embeddings, shape (N, D).
        b_ND: embeddings of the paired views, shape (N, D).
        alpha: power of the distance.

    Raises:
        ValueError: alpha is below 1, or the shapes do not match.
    """
    if not alpha >= 1:
        raise ValueError(f"alpha must be at least 1, found {alpha}")
    if a_ND.shape != b_ND.shape or a_ND.ndim < 2:
        raise ValueError(
            "both tensors must have the same shape (..., N, D), found "
            f"{tuple(a_ND.shape)} and {tuple(b_ND.shape)}"
        )


def check_points(x_ND: Tensor, t: float) -> None:
    """Check the arguments of `uniformity`.

    Raises:
        ValueError: t is not above 0, or there are fewer than two embeddings.
    """
    if not t > 0:
        raise ValueError(f"t must be above 0, found {t}")
    if x_ND.ndim < 2 or x_ND.shape[-2] < 2:
        raise ValueError(
            f"the features must have a shape (..., N, D) with N >= 2, found {tuple(x_ND.shape)}"
        )
