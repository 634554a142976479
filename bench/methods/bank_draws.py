"""Sampling of negatives and close neighbours from a memory bank (mutual-information).

Samples are i.i.d., with replacement and uniform over the allowed images. BALL samples from the
nearest entries. RING excludes the innermost of them. CAVE excludes the query's clusters.

Shapes: n entries, D dimensions, N queries, m or M candidates per query, K negatives, L neighbours.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.data.draws import Draw
from bench.losses.contrastive import at_least_float32
from bench.methods.bank import Bank

BLOCK_NUMBERS = 2**26  # similarities held at once: 256 MB


class Shares(NamedTuple):
    """Shares of the bank in an epoch, in [0, 1]: of the ball and of a ring's inner ball."""

    outer: float
    inner: float


def annealed(
    epoch: float, *, start: float, end: float, from_epoch: float, to_epoch: float
) -> float:
    """Return the share at an epoch: `start`, a linear ramp, then `end`.

    Examples are `anneal-negatives`, 1 to p over epochs 0 to 100, and the inner ball of
    `anneal-ring`, 0 to 0.01 over epochs 10 to 100. Fractions of epochs anneal per step (Sec. 4.3).

    Args:
        epoch: progress of the training, in epochs.
        start: initial share of the bank, 0 to 1.
        end: final share of the bank, 0 to 1.
        from_epoch: start of the ramp.
        to_epoch: end of the ramp.

    Raises:
        ValueError: to_epoch is before from_epoch.
    """
    if to_epoch < from_epoch:
        raise ValueError(f"to_epoch must be at least {from_epoch} (from_epoch), found {to_epoch}")
    if epoch >= to_epoch:
        return end
    if epoch <= from_epoch:
        return start
    return start + (epoch - from_epoch) / (to_epoch - from_epoch) * (end - start)


def count(share: float, n: int) -> int:
    """Return the number of entries in a share of the n - 1 others: 0 for 0, else at least 1.

    Raises:
        ValueError: the share is not in [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be 0 to 1, found {share}")
    return max(1, round(share * (n - 1))) if share else 0


@torch.no_grad()
def ranked(bank_nD: Tensor, centre_ND: Tensor, own_N: Tensor, most: int) -> Tensor:
    """Return the nearest entries of each query, nearest first, shape (N, most), int64.

    Entries are sorted by inner product, which equals sorting by distance for unit vectors
    (`negative-distribution-ball`). The search is exact and uses memory for `BLOCK_NUMBERS`
    similarities, or n if n is larger.

    Args:
        bank_nD: entries of the bank.
        centre_ND: query points: embeddings of views, or entries.
        own_N: index of each query's own entry, which is excluded.
        most: number of entries per query, 1 to n - 1.

    Raises:
        ValueError: `most` is out of range.
    """
    n = len(bank_nD)
    if not 1 <= most < n:
        raise ValueError(f"`most` must be 1 to {n - 1} (the number of other entries), found {most}")
    bank_nD, block = at_least_float32(bank_nD), max(1, BLOCK_NUMBERS // n)
    nearest = []
    for centre, entry in zip(centre_ND.split(block), own_N.split(block), strict=True):
        sim_Bn = centre.to(bank_nD.dtype) @ bank_nD.T
        sim_Bn.scatter_(1, entry[:, None], -torch.inf)
        nearest.append(sim_Bn.topk(most, dim=1).indices)
    return torch.cat(nearest)


def draw_uniform(n: int, own_N: Tensor, K: int, draw: Draw) -> Tensor:
    """Return K of the other n - 1 entries for each query, shape (N, K), int64.

    This is `negative-distribution-uniform` without the query's own entry.

    Args:
        n: number of entries of the bank.
        own_N: index of each query's own entry, int64.
        K: negatives per query.
        draw: random draw of the batch.

    Raises:
        ValueError: n is below 2.
    """
    if n < 2:
        raise ValueError(f"n must be at least 2, found {n}")
    place_NK = draw.places(torch.full_like(own_N, n - 1), K)
    return place_NK + (place_NK >= own_N[:, None])


def draw_between(
    order_Nm: Tensor,
    inner: int,
    K: int,
    draw: Draw,
    *,
    banned_Nm: Tensor | None,
) -> Tensor:
    """Return K of the candidates after the `inner` nearest for each query, shape (N, K).

    Args:
        order_Nm: candidates, nearest first: result of `ranked`.
        inner: number of nearest candidates to exclude: the inner ball for RING, otherwise 0.
        K: number of samples per query.
        draw: random draw of the batch.
        banned_Nm: candidates to exclude, bool (CAVE: `same_cluster`). If all candidates after
            `inner` are excluded, the mask is ignored.

    Raises:
        ValueError: there are no candidates after the inner ones.
    """
    m = order_Nm.shape[1]
    if not 0 <= inner < m:
        raise ValueError(
            f"inner must be 0 or more and below {m} (the number of candidates), found {inner}"
        )
    if banned_Nm is None:
        column_NK = draw.places(torch.full_like(order_Nm[:, 0], m - inner), K)
    else:
        allowed = ~banned_Nm[:, inner:]
        allowed |= ~allowed.any(dim=1, keepdim=True)
        column_NK = _nth(allowed, draw.places(allowed.sum(dim=1), K))
    return order_Nm.gather(1, inner + column_NK)


def same_cluster(bank: Bank, own_N: Tensor, index_NM: Tensor) -> Tensor:
    """Return whether entries share a cluster with their query in any clustering, bool (N, M).

    Args:
        bank: the bank with its clusterings.
        own_N: index of each query's own entry, int64.
        index_NM: indices of M entries per query, int64.
    """
    same_NM = torch.zeros_like(index_NM, dtype=torch.bool)
    for cluster_n in bank.clusters.T:
        same_NM |= cluster_n[index_NM] == cluster_n[own_N, None]
    return same_NM


def draw_from_cluster(bank: Bank, own_N: Tensor, L: int, draw: Draw) -> Tensor:
    """Return L entries from the union of each query's clusters, shape (N, L).

    These are the K-neighbours of `neighbour-distributions`, possibly the query's own entry. The
    paper does not specify how to combine several clusterings. Without clusterings, the query's own
    entry is returned. Memory is bounded as in `ranked`.

    Args:
        bank: the bank with its clusterings.
        own_N: index of each query's own entry, int64.
        L: neighbours per query.
        draw: random draw of the batch.
    """
    n, drawn = len(bank.entries), []
    block = max(1, BLOCK_NUMBERS // n)
    for i, entry in enumerate(own_N.split(block)):
        member_Bn = torch.zeros(len(entry), n, dtype=torch.bool, device=entry.device)
        member_Bn.scatter_(1, entry[:, None], True)
        for cluster_n in bank.clusters.T:
            member_Bn |= cluster_n == cluster_n[entry, None]
        place_BL = draw.from_row(i * block).places(member_Bn.sum(dim=1), L)
        drawn.append(_nth(member_Bn, place_BL))
    return torch.cat(drawn)


def _nth(allowed_NM: Tensor, place_NK: Tensor) -> Tensor:
    """Return the column of the True at each place (from 0) of its row, shape (N, K)."""
    seen_NM = allowed_NM.cumsum(dim=1, dtype=torch.int32)
    return torch.searchsorted(seen_NM, place_NK.int() + 1)
