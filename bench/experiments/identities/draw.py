"""What an identity is tried on, and what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

LEAST_TAU, MOST_TAU = 0.05, 1.0


class Deviations(NamedTuple):
    """What became of an identity in one draw."""

    differences: Sequence[Tensor] = ()  # of sides that should be equal
    margins: Sequence[Tensor] = ()  # of sides of which one should be larger: by how much it is


@dataclass(frozen=True)
class Draw:
    """Random features in float64, all of one stream: N samples of d dimensions, a temperature."""

    random: np.random.Generator
    N: int
    d: int
    tau: float = field(init=False)  # uniform in its logarithm

    def __post_init__(self) -> None:
        """Draw the temperature."""
        low, high = np.log([LEAST_TAU, MOST_TAU])
        object.__setattr__(self, "tau", float(np.exp(self.random.uniform(low, high))))

    def normal(self, *shape: int) -> Tensor:
        """Return independent standard normal numbers."""
        return torch.from_numpy(self.random.standard_normal(shape))

    def units(self, count: int | None = None) -> Tensor:
        """Return unit vectors of all directions, N where no count is given, as a leaf."""
        return leaf(normalize(self.normal(count or self.N, self.d), dim=-1))

    def similarities(self, negatives: int | None = None) -> tuple[Tensor, Tensor]:
        """Return N positives and N rows of negatives, uniform in (-1, 1), as leaves."""
        shapes: tuple[tuple[int, ...], ...] = ((self.N,), (self.N, negatives or 2 * self.N - 2))
        pos, neg = (torch.from_numpy(self.random.uniform(-1, 1, shape)) for shape in shapes)
        return leaf(pos), leaf(neg)


def leaf(x: Tensor) -> Tensor:
    """Return `x` as a free vector, of which gradients are taken."""
    return x.detach().clone().requires_grad_()


def gradient(value: Tensor, of: Tensor) -> Tensor:
    """Return the gradient of the sum of `value`."""
    (slope,) = torch.autograd.grad(value.sum(), of, retain_graph=True)
    return slope


def two_view_similarities(a_ND: Tensor, b_ND: Tensor) -> tuple[Tensor, Tensor]:
    """Return SimCLR's positives, (2N,), and negatives, (2N, 2N - 2), of two views (DCL, Eq. 1)."""
    n = len(a_ND)
    z_ND = torch.cat([a_ND, b_ND])
    sim_NN = z_ND @ z_ND.mT
    image_N = torch.arange(2 * n) % n
    others_NN = image_N[:, None] != image_N[None]
    pos_N = (a_ND * b_ND).sum(dim=-1).repeat(2)
    return pos_N, sim_NN[others_NN].reshape(2 * n, 2 * n - 2)
