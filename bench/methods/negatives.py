"""Sources of negatives; updating a memory is a separate call.

`similarities(anchor)` of a source returns the similarities of each query with its candidates.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from bench.data.draws import Draw
from bench.methods.bank import Bank
from bench.methods.witness import Dot, Witness


class Memory(nn.Module):
    """Queue of the last `size` keys; they are buffers, so checkpoints contain them."""

    keys: Tensor
    place: Tensor  # of the next key; once the memory is full that of the oldest
    held: Tensor

    def __init__(self, size: int, dim: int, *, start: np.random.Generator | None) -> None:
        """Start with random unit vectors from the generator `start`, or empty without one."""
        super().__init__()
        drawn = np.zeros((size, dim)) if start is None else start.standard_normal((size, dim))
        norm = np.maximum(np.linalg.norm(drawn, axis=1, keepdims=True), 1e-12)
        self.register_buffer("keys", torch.from_numpy((drawn / norm).astype(np.float32)))
        self.register_buffer("place", torch.tensor(0))
        self.register_buffer("held", torch.tensor(0 if start is None else size))
        self.size, self.always_full = size, start is not None

    def content(self) -> Tensor:
        """Return the stored keys, shape (M, D); M < `size` until it is full."""
        return self.keys if self.always_full else self.keys[: int(self.held)]

    def by_age(self) -> Tensor:
        """Return the stored keys, oldest first, shape (M, D)."""
        if not self.always_full and int(self.held) < self.size:
            return self.keys[: int(self.held)]
        return self.keys[
            (self.place + torch.arange(self.size, device=self.keys.device)) % self.size
        ]

    @torch.no_grad()
    def remember(self, keys_ND: Tensor, draw: Draw) -> None:
        """Replace the oldest keys; of more than `size` new keys, a random subset is stored.

        If K < N, the queue has K random keys of the previous batch (EqCo, Sec. 2.3).
        """
        keys_ND = keys_ND.detach().to(self.keys.dtype)
        if len(keys_ND) > self.size:
            keys_ND = keys_ND[draw.subsets(1, len(keys_ND), self.size, keys_ND.device)[0]]
        rows = torch.arange(len(keys_ND), device=self.keys.device)
        self.keys[(self.place + rows) % self.size] = keys_ND
        self.place.copy_((self.place + len(keys_ND)) % self.size)
        self.held.copy_(torch.clamp(self.held + len(keys_ND), max=self.size))


class Anchor(NamedTuple):
    """One direction of a batch: queries of one view, their positives and context."""

    query_ND: Tensor
    positive_ND: Tensor  # the key of each query
    own_ND: Tensor | None  # the keys of the queries' own view; None where the method makes none
    draw: Draw  # which K, where not all are taken
    witness: Witness = Dot()
    bank: Bank | None = None  # the one that the positives are entries of
    rows_N: Tensor | None = None  # the queries' images, as rows of the bank
    epoch: float = 0


class Similarities(NamedTuple):
    """Similarities of each query."""

    pos_N: Tensor  # with its positive
    neg_NK: Tensor  # with its K negatives
    near_NL: Tensor | None = None  # with close neighbours
    allowed_NL: Tensor | None = None  # which of these count; None: all
    scalar_NK: Tensor | None = None  # with the negatives of the scalar component
    globals_2NK: Tensor | None = None  # with two uniform samples
    close_NK: Tensor | None = (
        None  # bool: which negatives are close, where the own entry may not be
    )
    kappa: float | None = None  # of IR's constant normaliser, where this batch has one


class Negatives(Protocol):
    """Interface of a source of negatives."""

    def similarities(self, anchor: Anchor) -> Similarities:
        """Return the similarities of each query with its candidates."""

    def remember(self, keys: Sequence[Tensor], draw: Draw) -> None:
        """Update the source with a batch's keys, after all directions are computed."""


class BatchNegatives(nn.Module):
    """Other images of the batch: keys of their other views, or of both views.

    SimCLR (DCL, Eq. 1) uses both views: 2(N - 1) negatives. MoCo-like methods without a queue
    (EqCo, Sec. 3; dual-temperature, Sec. C) use keys of the other view: N - 1 negatives.
    """

    def __init__(self, *, both_views: bool, K: int | None) -> None:
        """Compare with K drawn for each query, without replacement; all of them for None."""
        super().__init__()
        self.both_views, self.K = both_views, K

    def similarities(self, anchor: Anchor) -> Similarities:
        """Return similarities like `Negatives`.

        Raises:
            ValueError: keys of both views are required, and the anchor has keys of only one.
        """
        sim_NN = anchor.witness.scores(anchor.query_ND, anchor.positive_ND)
        parts = [off_diagonal(sim_NN)]
        if self.both_views:
            if anchor.own_ND is None:
                raise ValueError(
                    "negatives from both views need the keys of both views, "
                    "but one view has no keys"
                )
            parts.append(off_diagonal(anchor.witness.scores(anchor.query_ND, anchor.own_ND)))
        neg_NM = torch.cat(parts, dim=1)
        return Similarities(sim_NN.diagonal(), at_most(self.K, neg_NM, anchor.draw))

    def remember(self, keys: Sequence[Tensor], draw: Draw) -> None:
        """Do nothing: the batch provides all negatives."""


class Onlookers(BatchNegatives):
    """No negatives: similarities with other images of the batch are only monitored."""

    def __init__(self) -> None:
        """Look at the keys of the other views."""
        super().__init__(both_views=False, K=None)

    @torch.no_grad()
    def similarities(self, anchor: Anchor) -> Similarities:
        """Return cosine similarities, for outputs of any norm."""
        query_ND, positive_ND = (
            nn.functional.normalize(x.float(), dim=1) for x in (anchor.query_ND, anchor.positive_ND)
        )
        return super().similarities(anchor._replace(query_ND=query_ND, positive_ND=positive_ND))


class ScalarDictionary(NamedTuple):
    """Separate keys for the scalar component of dual temperature (supplement, Sec. B)."""

    K: int
    size: int  # the newest keys, of which K are taken
    drawn: Literal["earliest", "random", "newest"]


class QueueNegatives(nn.Module):
    """Keys of earlier batches (MoCo): all, or K per query."""

    def __init__(
        self,
        size: int,
        dim: int,
        *,
        K: int,
        start: np.random.Generator | None,
        drawn: Literal["uniform", "earliest", "newest"] = "uniform",
        scalar: ScalarDictionary | None = None,
    ) -> None:
        """Keep `size` keys; begin with random unit vectors, or empty if `start` is None.

        Args:
            size: keys that the K are taken from, the newest.
            dim: D.
            K: negatives per query.
            start: gives the first keys.
            drawn: K at random for each query, or the same earliest or newest for all.
            scalar: another dictionary of the same keys, for the scalar component.
        """
        super().__init__()
        kept = max(size, scalar.size if scalar else 0)
        self.memory = Memory(kept, dim, start=start)
        self.size, self.K, self.drawn, self.scalar = size, K, drawn, scalar

    def similarities(self, anchor: Anchor) -> Similarities:
        """Return similarities like `Negatives`; an empty queue gives one opposite negative."""
        query_ND, score = anchor.query_ND, anchor.witness
        pos_N = score.pairs(query_ND, anchor.positive_ND)
        keys_MD = self.memory.content()
        if len(keys_MD) == 0:
            return Similarities(pos_N, torch.full_like(pos_N[:, None], -1.0))
        if self.scalar is None and self.drawn == "uniform":
            return Similarities(
                pos_N, at_most(self.K, score.scores(query_ND, keys_MD), anchor.draw)
            )
        neg_NM = score.scores(query_ND, self.memory.by_age())  # oldest first
        neg_NK = _by_age(neg_NM[:, -self.size :], self.K, self.drawn, anchor.draw)
        if self.scalar is None:
            return Similarities(pos_N, neg_NK)
        newest = neg_NM[:, -self.scalar.size :]
        return Similarities(
            pos_N,
            neg_NK,
            scalar_NK=_by_age(newest, self.scalar.K, self.scalar.drawn, anchor.draw.of(1)).detach(),
        )

    def remember(self, keys: Sequence[Tensor], draw: Draw) -> None:
        """Replace the oldest keys by the batch's keys."""
        self.memory.remember(torch.cat(list(keys)), draw)


def _by_age(neg_NM: Tensor, K: int, drawn: str, draw: Draw) -> Tensor:
    """Return K of the negatives, which come oldest first."""
    if drawn == "earliest":
        return neg_NM[:, :K]
    return neg_NM[:, -K:] if drawn == "newest" else at_most(K, neg_NM, draw)


def off_diagonal(sim_NN: Tensor) -> Tensor:
    """Return a square matrix without its diagonal, shape (N, N - 1)."""
    n = len(sim_NN)
    return sim_NN.reshape(-1)[1:].view(n - 1, n + 1)[:, :-1].reshape(n, n - 1)


def at_most(K: int | None, neg_NM: Tensor, draw: Draw) -> Tensor:
    """Return at most K negatives per query, sampled without replacement.

    Args:
        K: negatives per query; None means all.
        neg_NM: similarities with M candidates, shape (N, M).
        draw: the generator of the batch.

    Returns:
        Similarities, shape (N, K), or neg_NM if M <= K.
    """
    N, M = neg_NM.shape
    if K is None or M <= K:
        return neg_NM
    return neg_NM.gather(1, draw.subsets(N, M, K, neg_NM.device))
