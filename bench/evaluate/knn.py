"""k-nearest-neighbour classification (Wu et al., arXiv:1805.01978, Sec. 3.4).

Shapes: n bank entries (training images), B queries (a block of the m test images), k neighbours, C
classes, T temperatures.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from bench.evaluate.features import Accuracy, Features, check_labels, of_positions

Metric = Literal["cosine", "euclidean"]

BLOCK_NUMBERS = 2**26  # similarities held at once: 256 MB
QUERIES = 1024  # at most, in a block
FAISS_FROM = 200_000  # bank entries from which a CPU searches with faiss
NO_GUESS = 2**30  # position of a class without a vote


def knn_top1(
    features: Features,
    *,
    k: Sequence[int],
    tau: Sequence[float | None],
    metric: Metric = "cosine",
    classes: int,
) -> dict[tuple[int, float | None], Accuracy]:
    """Return the accuracy of kNN for each k and tau, in percent.

    A neighbour votes for its class with weight exp(sim / tau), or 1 if tau is None. Ties go to the
    class of the nearest neighbour. Classes without votes are not predicted, so top-5 equals top-1
    at k = 1. `sim` is the cosine, or minus half the squared Euclidean distance, which equals the
    cosine minus 1 for unit-length features. One exact search serves all k. With k = 200, tau = 0.1
    and cosine, this matches the released code of unigrad (`released-code-knn`).

    Args:
        features: labelled features of the training and test part.
        k: numbers of neighbours, each 1 to n.
        tau: temperatures of the votes, above 0; None means equal votes.
        metric: similarity, `cosine` or `euclidean`.
        classes: number of classes.

    Raises:
        ValueError: k is not in 1 to n, tau is not above 0, or a label is not a class.
    """
    n = len(features.train)
    if not k or min(k) < 1 or max(k) > n:
        raise ValueError(f"k must be 1 to {n} (the number of training images), found {list(k)}")
    if not tau or any(t is not None and not t > 0 for t in tau):
        raise ValueError(f"tau must be above 0, or None for a plain vote, found {list(tau)}")
    check_labels(features, classes)
    bank, queries = _ready(features, metric)
    positions_of: dict[tuple[int, float | None], list[Tensor]] = {
        (a, t): [] for a in k for t in tau
    }
    block = max(1, min(QUERIES, BLOCK_NUMBERS // n))
    for part, labels in zip(queries.split(block), features.test_labels.split(block), strict=True):
        sim_Bk, index_Bk = nearest(bank, part, max(k), metric)
        voters_Bk = features.train_labels[index_Bk]
        for at, positions in _positions(sim_Bk, voters_Bk, labels, k, tau, classes).items():
            for t, position in zip(tau, positions, strict=True):
                positions_of[at, t].append(position)
    return {key: of_positions(torch.cat(positions)) for key, positions in positions_of.items()}


def nearest(bank: Tensor, queries: Tensor, k: int, metric: Metric) -> tuple[Tensor, Tensor]:
    """Return similarities and indices of each query's k nearest entries, sorted, (B, k) each.

    For the cosine, entries and queries must have unit length. faiss searches large banks on a CPU.

    Args:
        bank: entries, shape (n, D).
        queries: shape (B, D).
        k: number of neighbours, 1 to n.
        metric: similarity, `cosine` or `euclidean`.
    """
    if bank.device.type == "cpu" and len(bank) >= FAISS_FROM:
        return _by_faiss(bank, queries, k, metric)
    sim_Bn = queries @ bank.T
    if metric == "euclidean":
        sim_Bn -= 0.5 * bank.square().sum(dim=1)
    sim_Bk, index_Bk = sim_Bn.topk(k, dim=1)
    if metric == "euclidean":
        sim_Bk -= 0.5 * queries.square().sum(dim=1, keepdim=True)
    return sim_Bk, index_Bk


def _by_faiss(bank: Tensor, queries: Tensor, k: int, metric: Metric) -> tuple[Tensor, Tensor]:
    import faiss  # slow to import, and needed for large banks only

    by = faiss.METRIC_INNER_PRODUCT if metric == "cosine" else faiss.METRIC_L2
    value, index = faiss.knn(queries.contiguous().numpy(), bank.contiguous().numpy(), k, metric=by)
    sim_Bk = torch.from_numpy(value)
    return sim_Bk if metric == "cosine" else -0.5 * sim_Bk, torch.from_numpy(index)


def _ready(features: Features, metric: Metric) -> tuple[Tensor, Tensor]:
    """Return bank and queries, of unit length or centred (which changes no distance)."""
    if metric == "cosine":
        return normalize(features.train, dim=1), normalize(features.test, dim=1)
    mean = features.train.mean(dim=0)
    return features.train - mean, features.test - mean


def _positions(
    sim_Bk: Tensor,
    voters_Bk: Tensor,
    labels_B: Tensor,
    ks: Sequence[int],
    taus: Sequence[float | None],
    classes: int,
) -> dict[int, Tensor]:
    """Return for each of `ks` how many classes stand before the label's, shape (T, B).

    The votes between one k and the next are added to the sums before, so one pass serves every k.
    """
    queries, most = voters_Bk.shape
    rank_Bk = torch.arange(most, device=sim_Bk.device).expand(queries, most)
    first_BC = torch.full((queries, classes), most, device=sim_Bk.device)
    first_BC.scatter_reduce_(1, voters_Bk, rank_Bk, "amin")  # rank of a class's nearest neighbour
    first_B1 = first_BC.gather(1, labels_B[:, None])
    below_Bk = sim_Bk.double() - sim_Bk[:, :1]  # less the nearest: exp cannot overflow
    weight_TBk = torch.stack(
        [(below_Bk / t).exp() if t else torch.ones_like(below_Bk) for t in taus]
    )
    votes_TBC = torch.zeros(len(taus), queries, classes, dtype=torch.double, device=sim_Bk.device)
    rows_B, positions, counted = torch.arange(queries, device=sim_Bk.device), {}, 0
    for k in sorted(set(ks)):
        _add_votes(votes_TBC, voters_Bk[:, counted:k], weight_TBk[:, :, counted:k])
        own_TB1, counted = votes_TBC[:, rows_B, labels_B].unsqueeze(2), k
        tie_TBC = (votes_TBC == own_TB1) & (first_BC < first_B1)
        before_TB = ((votes_TBC > own_TB1) | tie_TBC).sum(dim=2)
        positions[k] = before_TB.masked_fill(k <= first_B1.T, NO_GUESS)
    return positions


def _add_votes(votes_TBC: Tensor, voters_Bk: Tensor, weight_TBk: Tensor) -> None:
    """Add each neighbour's weight to its class, nearest first, the same sums on every run.

    On a CPU a row is added by one thread, in order. On a GPU scatter_add_ adds in any order; there
    index_put_ sorts the places, stably, and adds in that order.
    """
    place_TBk = voters_Bk.expand(weight_TBk.shape)
    if votes_TBC.device.type == "cpu":
        votes_TBC.scatter_add_(2, place_TBk, weight_TBk)
        return
    T, B, C = votes_TBC.shape
    row_TB1 = torch.arange(T * B, device=votes_TBC.device).view(T, B, 1) * C
    where = (row_TB1 + place_TBk).flatten()
    votes_TBC.view(-1).index_put_((where,), weight_TBk.flatten(), accumulate=True)
