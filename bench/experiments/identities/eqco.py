"""EqCo's prior (arXiv:2010.01929, after Eq. 5)."""

import torch
from torch import Tensor

from bench.experiments.identities.draw import Deviations, Draw
from bench.losses import eqco_margin, infonce

ALPHA = 256.0
COUNTS = (1, 4, 16, 64, 256, 1024)  # K


def prior_under_eqco(draw: Draw) -> Deviations:
    """Return the posterior where similarities tell nothing against P+ = 1/(1 + alpha), any K."""
    margins = [eqco_margin(ALPHA, K, draw.tau) for K in COUNTS]
    return Deviations([_posteriors(draw, margins) - 1 / (1 + ALPHA)])


def prior_without_margin(draw: Draw) -> Deviations:
    """Return the same without a margin against P+ = 1/(K + 1)."""
    priors = torch.tensor([1 / (K + 1) for K in COUNTS], dtype=torch.float64)
    return Deviations([_posteriors(draw, [0.0] * len(COUNTS)) - priors])


def _posteriors(draw: Draw, margins: list[float]) -> Tensor:
    alike = torch.tanh(draw.normal(1))
    return torch.cat(
        [
            (-infonce(alike, alike.expand(1, K), tau=draw.tau, margin=margin)).exp()
            for K, margin in zip(COUNTS, margins, strict=True)
        ]
    )
