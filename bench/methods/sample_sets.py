"""Additional inputs of objectives over features: sample sets and correlation matrices.

Source: unigrad, Sec. 3. V_batch is the current batch, V_bank a queue, and V_inf all previous
outputs, of which only the correlation matrix F is stored.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from bench.losses import correlation, moving_average
from bench.methods.negatives import Memory


class Samples(NamedTuple):
    """Sample sets of one direction; those that the method lacks are None."""

    correlation_DD: Tensor | None = None
    samples_MD: Tensor | None = None
    allowed_NM: Tensor | None = None  # which samples count for which query


class Previous(nn.Module):
    """The correlation matrix F = sum_v rho_v v v^T of all outputs so far (`F-update-code`)."""

    matrix: Tensor
    begun: Tensor

    def __init__(self, dim: int, rho: float) -> None:
        """Begin with nothing seen."""
        super().__init__()
        self.rho = rho
        self.register_buffer("matrix", torch.zeros(dim, dim))
        self.register_buffer("begun", torch.tensor(False))

    def with_batch(self, outputs: Mapping[int, Tensor]) -> Tensor:
        """Return F updated with a batch's outputs, by view, without storing it."""
        current = correlation(*outputs.values())
        # `where` instead of `if`: a GPU is not waited for.
        return torch.where(self.begun, moving_average(self.matrix, current, self.rho), current)

    def remember(self, matrix: Tensor) -> None:
        """Store this F."""
        self.matrix.copy_(matrix)
        self.begun.fill_(True)


def of_batch(outputs: Mapping[int, Tensor], view: int, *, both_views: bool) -> Samples:
    """Return V_batch for the queries of a view: all outputs except the anchor's own.

    Args:
        outputs: detached outputs of the sampled branch, by view, (N, D) each.
        view: view of the queries, 0 or 1.
        both_views: whether samples include outputs of the queries' own view (unigrad, Table 2 (b)).
    """
    other_ND, own_ND = outputs[1 - view], outputs[view]
    everyone = torch.ones(len(own_ND), len(own_ND), dtype=torch.bool, device=own_ND.device)
    if not both_views:
        return Samples(correlation(own_ND), other_ND, everyone)
    diagonal = torch.eye(len(own_ND), dtype=torch.bool, device=own_ND.device)
    return Samples(
        correlation(own_ND), torch.cat([other_ND, own_ND]), torch.cat([everyone, ~diagonal], dim=1)
    )


def of_queue(key_ND: Tensor, memory: Memory) -> Samples:
    """Return V_bank, which contains the positive (unigrad, Eq. 17), for the queries of a view."""
    kept_MD = memory.content()
    diagonal = torch.eye(len(key_ND), dtype=torch.bool, device=key_ND.device)
    rest = torch.ones(len(key_ND), len(kept_MD), dtype=torch.bool, device=key_ND.device)
    return Samples(None, torch.cat([key_ND, kept_MD]), torch.cat([diagonal, rest], dim=1))
