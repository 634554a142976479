"""Where negatives come from: who is compared with whom. Remembering is a separate call.

A source answers `similarities(query, positive, others, draw)` with the similarity of each query to
its positive, shape (N,), and to its K negatives, shape (N, K).
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from bench.methods.memory import Memory


class Negatives(Protocol):
    """A source of negatives."""

    def similarities(
        self,
        query_ND: Tensor,
        positive_ND: Tensor,
        own_ND: Tensor | None,
        draw: np.random.Generator,
    ) -> tuple[Tensor, Tensor]:
        """Return the similarities (N,) with the positives and (N, K) with the negatives.

        Args:
            query_ND: anchors of unit length.
            positive_ND: the key of the other view of each anchor's image.
            own_ND: the keys of the anchors' own view; None where the method makes none.
            draw: which K of them, where not all are taken.
        """

    def remember(self, keys: Sequence[Tensor], draw: np.random.Generator) -> None:
        """Take note of a batch's keys, after all of its directions are computed."""


class BatchNegatives(nn.Module):
    """The other images of the batch: their other views' keys, or the keys of both their views.

    SimCLR (DCL, Eq. 1) compares with both, 2(N - 1) of them; MoCo-like methods without a queue
    (EqCo, Sec. 3; dual-temperature, Sec. C) with keys of the other view alone, N - 1.
    """

    def __init__(self, *, both_views: bool, K: int | None) -> None:
        """Compare with K drawn for each query, without replacement; all of them for None."""
        super().__init__()
        self.both_views, self.K = both_views, K

    def similarities(
        self,
        query_ND: Tensor,
        positive_ND: Tensor,
        own_ND: Tensor | None,
        draw: np.random.Generator,
    ) -> tuple[Tensor, Tensor]:
        """See `Negatives`."""
        sim_NN = query_ND @ positive_ND.T
        parts = [off_diagonal(sim_NN)]
        if self.both_views:
            if own_ND is None:
                raise ValueError("negatives of both views need the keys of both views")
            parts.append(off_diagonal(query_ND @ own_ND.T))
        neg_NM = torch.cat(parts, dim=1)
        return sim_NN.diagonal(), at_most(self.K, neg_NM, draw)

    def remember(self, keys: Sequence[Tensor], draw: np.random.Generator) -> None:
        """Keep nothing: the batch ends with its step."""


class QueueNegatives(nn.Module):
    """The keys of earlier batches (MoCo), all of them or K drawn for each query."""

    def __init__(self, size: int, dim: int, *, K: int, start: np.random.Generator | None) -> None:
        """Keep `size` keys; begin with random unit vectors, or empty if `start` is None."""
        super().__init__()
        self.memory, self.K = Memory(size, dim, start=start), K

    def similarities(
        self,
        query_ND: Tensor,
        positive_ND: Tensor,
        own_ND: Tensor | None,
        draw: np.random.Generator,
    ) -> tuple[Tensor, Tensor]:
        """See `Negatives`; a queue still empty gives one negative opposite to each query."""
        pos_N = (query_ND * positive_ND).sum(dim=1)
        keys_MD = self.memory.content()
        if len(keys_MD) == 0:
            return pos_N, torch.full_like(pos_N[:, None], -1.0)
        return pos_N, at_most(self.K, query_ND @ keys_MD.T, draw)

    def remember(self, keys: Sequence[Tensor], draw: np.random.Generator) -> None:
        """Put the batch's keys in the place of the oldest."""
        self.memory.remember(torch.cat(list(keys)), draw)


def off_diagonal(sim_NN: Tensor) -> Tensor:
    """Return a square matrix without its diagonal, shape (N, N - 1)."""
    n = len(sim_NN)
    return sim_NN.reshape(-1)[1:].view(n - 1, n + 1)[:, :-1].reshape(n, n - 1)


def at_most(K: int | None, neg_NM: Tensor, draw: np.random.Generator) -> Tensor:
    """Return K negatives of each query where there are more; all for None."""
    if K is None or neg_NM.shape[1] <= K:
        return neg_NM
    return neg_NM.gather(1, drawn(K, neg_NM, draw))


def drawn(K: int, neg_NM: Tensor, draw: np.random.Generator) -> Tensor:
    """Return K columns for each row, drawn without replacement, shape (N, K)."""
    random_NM = draw.random(neg_NM.shape, dtype=np.float32)
    columns = np.argpartition(random_NM, K, axis=1)[:, :K]
    return torch.from_numpy(np.ascontiguousarray(columns)).to(neg_NM.device)
