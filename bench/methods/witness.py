"""Witness functions: scores of two embeddings (mutual-information, App. I).

Shapes: N queries, M common keys, K keys per query, D dimensions.
"""

from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from bench.losses.contrastive import at_least_float32
from bench.networks.heads import Head, make_head

WitnessName = Literal["dot", "bilinear", "linear", "mlp-1", "mlp-2"]
HIDDEN = 128  # units of a hidden layer, App. I


class Dot(nn.Module):
    """Dot product g(x)^T g(y), design 1, before division by a temperature."""

    def scores(self, query_ND: Tensor, keys_MD: Tensor) -> Tensor:
        """Return the score of each query with each key, shape (N, M)."""
        return query_ND @ keys_MD.T

    def per_query(self, query_ND: Tensor, keys_NKD: Tensor) -> Tensor:
        """Return the score of each query with its own K keys, shape (N, K)."""
        return torch.einsum("nd,nkd->nk", query_ND, keys_NKD)

    def pairs(self, query_ND: Tensor, key_ND: Tensor) -> Tensor:
        """Return the score of each query with the key in the same row, shape (N,)."""
        return (query_ND * key_ND).sum(dim=1)


class Bilinear(Dot):
    """g(x)^T W g(y), design 2; W starts as the identity, which gives the dot product."""

    def __init__(self, dim: int) -> None:
        """Start with the identity of `dim` dimensions."""
        super().__init__()
        self.weight_DD = nn.Parameter(torch.eye(dim))

    def scores(self, query_ND: Tensor, keys_MD: Tensor) -> Tensor:
        """Return the score of each query with each key, shape (N, M)."""
        query_ND, keys_MD = at_least_float32(query_ND), at_least_float32(keys_MD)
        return super().scores(query_ND @ self.weight_DD, keys_MD)

    def per_query(self, query_ND: Tensor, keys_NKD: Tensor) -> Tensor:
        """Return the score of each query with its own K keys, shape (N, K)."""
        query_ND, keys_NKD = at_least_float32(query_ND), at_least_float32(keys_NKD)
        return super().per_query(query_ND @ self.weight_DD, keys_NKD)

    def pairs(self, query_ND: Tensor, key_ND: Tensor) -> Tensor:
        """Return the score of each query with the key in the same row, shape (N,)."""
        return self.per_query(query_ND, key_ND[:, None])[:, 0]


class Perceptron(nn.Module):
    """Perceptron from the concatenation [g(x); g(y)] to a score, designs 3 to 5.

    The two halves of the first layer are applied separately and added, so concatenations are never
    stored. Without hidden layers, the score is u.g(x) + w.g(y) + b. The query's part is then equal
    for all keys and cancels in InfoNCE, so queries get no gradient.
    """

    def __init__(self, head: Head) -> None:
        """Take a perceptron of 2D dimensions to 1 without batch norm."""
        super().__init__()
        first, *rest = head
        assert isinstance(first, nn.Linear)
        self.first, self.rest = first, nn.Sequential(*rest)

    def scores(self, query_ND: Tensor, keys_MD: Tensor) -> Tensor:
        """Return the score of each query with each key, shape (N, M)."""
        return self._joined(query_ND[:, None], keys_MD)

    def per_query(self, query_ND: Tensor, keys_NKD: Tensor) -> Tensor:
        """Return the score of each query with its own K keys, shape (N, K)."""
        return self._joined(query_ND[:, None], keys_NKD)

    def pairs(self, query_ND: Tensor, key_ND: Tensor) -> Tensor:
        """Return the score of each query with the key in the same row, shape (N,)."""
        return self.per_query(query_ND, key_ND[:, None])[:, 0]

    def _joined(self, query_N1D: Tensor, keys: Tensor) -> Tensor:
        of_query, of_key = self.first.weight.tensor_split(2, dim=1)
        x = linear(at_least_float32(query_N1D), of_query, self.first.bias)
        score: Tensor = self.rest(x + linear(at_least_float32(keys), of_key))
        return score.squeeze(-1)


Witness = Dot | Perceptron


def make_witness(name: WitnessName, dim: int, generator: np.random.Generator) -> Witness:
    """Return a witness for embeddings of `dim` dimensions (`witness-designs`).

    Args:
        name: `dot`; `bilinear`; `linear` on the concatenation; `mlp-1` and `mlp-2` with one and two
            hidden layers of 128 ReLU units. The paper does not specify the depths.
        dim: number D of dimensions.
        generator: source of the linear layers' weights.
    """
    if name == "dot":
        return Dot()
    if name == "bilinear":
        return Bilinear(dim)
    layers = {"linear": 1, "mlp-1": 2, "mlp-2": 3}[name]
    head = make_head(
        2 * dim,
        layers=layers,
        hidden_dim=HIDDEN,
        out_dim=1,
        bn="none",
        bn_groups=1,
        generator=generator,
    )
    return Perceptron(head)
