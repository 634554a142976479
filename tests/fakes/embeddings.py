"""Random similarities and views, with their gradients, for tests of losses."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, normalize

from bench.losses.siamese import (
    correlation,
    moving_average,
    predictor_matrix,
)


def random_similarities(n: int, m: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    both = 2 * torch.rand(n, m + 1, dtype=torch.float64, generator=generator) - 1
    return both[:, 0].requires_grad_(), both[:, 1:].clone().requires_grad_()


def two_views(n: int, d: int = 6, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Unit vectors of both views, each a leaf: the papers' gradients take them as free vectors."""
    generator = torch.Generator().manual_seed(seed)
    both = torch.randn(2, n, d, dtype=torch.float64, generator=generator)
    a, b = torch.nn.functional.normalize(both, dim=-1)
    return a.clone().requires_grad_(), b.clone().requires_grad_()


def simclr_similarities(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """DCL, Eqs. 1-2, anchor by anchor: (2N,) and (2N, 2(N-1)), first view's anchors first."""
    pos, neg = [], []
    for anchors in (a, b):
        for i, z in enumerate(anchors):
            pos.append(a[i] @ b[i])
            neg.append([z @ view[j] for view in (a, b) for j in range(len(a)) if j != i])
    return torch.stack(pos), torch.stack([torch.stack(row) for row in neg])


VICREG: dict[str, float] = {"cov_weight": 0.3, "var_weight": 0.7, "gamma": 1.1}


def raw_views(n: int = 6, d: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Outputs of both views, each a leaf, channels of different scale and mean."""
    generator = torch.Generator().manual_seed(seed)
    both = torch.randn(2, n, d, dtype=torch.float64, generator=generator)
    a, b = both * torch.linspace(0.5, 1.5, d) + torch.linspace(-1, 1, d)
    return a.clone().requires_grad_(), b.clone().requires_grad_()


def unit_views(n: int = 6, d: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    a, b = (normalize(x.detach(), dim=-1) for x in raw_views(n, d, seed))
    return a.requires_grad_(), b.requires_grad_()


def whitened(x: Tensor) -> Tensor:
    """Batch normalisation without affine, as its caller does it."""
    found: Tensor = batch_norm(x, None, None, training=True)
    return found


def whitened_views(n: int = 6, d: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    a, b = (whitened(x.detach()) for x in raw_views(n, d, seed))
    return a.requires_grad_(), b.requires_grad_()


def random_F(d: int = 4, seed: int = 5) -> Tensor:
    """A correlation matrix with distinct eigenvalues, the largest far from 1."""
    a, b = unit_views(9, d, seed)
    return moving_average(correlation(a), correlation(b), 0.7)


def gradient(loss: Tensor, leaf: Tensor) -> Tensor:
    return torch.autograd.grad(loss, leaf, retain_graph=True)[0]


def root(F: Tensor) -> Tensor:
    """F^(1/2)."""
    values, U = torch.linalg.eigh(F)
    found: Tensor = U @ values.sqrt().diag() @ U.T
    return found


def matrix(F: Tensor, eps: float, form: Any) -> Tensor:
    return predictor_matrix(F, eps=eps, form=form)


def vicreg_terms(a: Tensor) -> tuple[Tensor, Tensor]:
    """W' and std by their definitions."""
    n = len(a)
    centred = [v - sum(a) / n for v in a]
    W = torch.stack([torch.outer(v, v) for v in centred]).sum(dim=0) / (n - 1)
    return W, W.diagonal().sqrt()
