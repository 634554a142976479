"""Which entries of a bank are negatives and close neighbours of a query (mutual-information).

Every draw is i.i.d., with replacement, and uniform over the images it may fall on. BALL draws from
the nearest entries, RING leaves out the innermost of them, CAVE those of the query's clusters.

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
    """Shares of the bank in an epoch, in [0, 1]: of the ball, and of the inner ball of a ring."""

    outer: float
    inner: float


def annealed(
    epoch: float, *, start: float, end: float, from_epoch: float, to_epoch: float
) -> float:
    """Return the share of an epoch: `start`, then on a line from from_epoch to to_epoch, `end`.

    `anneal-negatives`: 1 to p over epochs 0 to 100; `anneal-ring`, inner: 0 to 0.01 over epochs 10
    to 100. A fraction of an epoch anneals by steps (Sec. 4.3).

    Args:
        epoch: how much of the training is done, in epochs.
        start: share of the bank in the beginning, 0 to 1.
        end: share of the bank in the end, 0 to 1.
        from_epoch: the ramp begins here.
        to_epoch: the ramp ends here.

    Raises:
        ValueError: to_epoch is before from_epoch.
    """
    if to_epoch < from_epoch:
        raise ValueError(f"to_epoch must be at least {from_epoch}, from_epoch, found {to_epoch}")
    if epoch >= to_epoch:
        return end
    if epoch <= from_epoch:
        return start
    return start + (epoch - from_epoch) / (to_epoch - from_epoch) * (end - start)


def count(share: float, n: int) -> int:
    """Return how many of the n - 1 others a share in [0, 1] is: 0 for 0, else at least 1.

    Raises:
        ValueError: the share is not within 0 and 1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be 0 to 1, found {share}")
    return max(1, round(share * (n - 1))) if share else 0


@torch.no_grad()
def ranked(bank_nD: Tensor, centre_ND: Tensor, own_N: Tensor, most: int) -> Tensor:
    """Return the nearest entries of each query, nearest first, shape (N, most).

    `negative-distribution-ball`: by inner product, which for unit vectors is by distance. Exact;
    besides the answer it holds `BLOCK_NUMBERS` similarities (those of one query if n is more).

    Args:
        bank_nD: the entries.
        centre_ND: what they are near to: the embedding of the view, or its entry.
        own_N: the entry of each query's own image, which is left out.
        most: how many, 1 to n - 1.

    Raises:
        ValueError: `most` is none of these.
    """
    n = len(bank_nD)
    if not 1 <= most < n:
        raise ValueError(f"most must be 1 to {n - 1}, the other entries, found {most}")
    bank_nD, block = at_least_float32(bank_nD), max(1, BLOCK_NUMBERS // n)
    nearest = []
    for centre, entry in zip(centre_ND.split(block), own_N.split(block), strict=True):
        sim_Bn = centre.to(bank_nD.dtype) @ bank_nD.T
        sim_Bn.scatter_(1, entry[:, None], -torch.inf)
        nearest.append(sim_Bn.topk(most, dim=1).indices)
    return torch.cat(nearest)


def draw_uniform(n: int, own_N: Tensor, K: int, draw: Draw) -> Tensor:
    """Return K of the other n - 1 entries for each query, shape (N, K).

    `negative-distribution-uniform`, without the query's own entry.

    Args:
        n: entries of the bank.
        own_N: the entry of each query's own image, int64.
        K: negatives per query.
        draw: the generator of the batch.

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
    """Return K of the candidates behind the `inner` nearest for each query, shape (N, K).

    Args:
        order_Nm: candidates, nearest first, as `ranked` gives them.
        inner: 0 for BALL and CAVE and for close neighbours; for RING those of the inner ball.
        K: how many.
        draw: the generator.
        banned_Nm: bool, candidates never drawn (CAVE: `same_cluster`), unless all from `inner` on
            are banned: then none is.

    Raises:
        ValueError: no candidate is behind the inner ones.
    """
    m = order_Nm.shape[1]
    if not 0 <= inner < m:
        raise ValueError(f"inner must be 0 or more and below {m}, the candidates, found {inner}")
    if banned_Nm is None:
        column_NK = draw.places(torch.full_like(order_Nm[:, 0], m - inner), K)
    else:
        allowed = ~banned_Nm[:, inner:]
        allowed |= ~allowed.any(dim=1, keepdim=True)
        column_NK = _nth(allowed, draw.places(allowed.sum(dim=1), K))
    return order_Nm.gather(1, inner + column_NK)


def same_cluster(bank: Bank, own_N: Tensor, index_NM: Tensor) -> Tensor:
    """Return whether entries share a cluster with their query, in any clustering, bool (N, M).

    Args:
        bank: the bank with its clusterings.
        own_N: the entry of each query's own image, int64.
        index_NM: M entries per query, int64.
    """
    same_NM = torch.zeros_like(index_NM, dtype=torch.bool)
    for cluster_n in bank.clusters.T:
        same_NM |= cluster_n[index_NM] == cluster_n[own_N, None]
    return same_NM


def draw_from_cluster(bank: Bank, own_N: Tensor, L: int, draw: Draw) -> Tensor:
    """Return L entries of the union of each query's clusters, its own included, shape (N, L).

    K-neighbours (`neighbour-distributions`); how several clusterings combine the paper leaves open.
    Without clusterings it is the query's own entry. Memory is bounded as in `ranked`.

    Args:
        bank: the bank with its clusterings.
        own_N: the entry of each query's own image, int64.
        L: neighbours per query.
        draw: the generator of the batch.
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
