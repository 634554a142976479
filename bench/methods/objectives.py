"""Objectives by name: from a cell to a function of queries and keys, and their sample sets.

Sample sets (unigrad, Sec. 3): V_batch is the current batch, V_bank a queue, and V_inf all previous
outputs, of which only the correlation matrix F is stored.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

import torch
from torch import Tensor, nn

from bench.cells.losses import LOSSES, Sees
from bench.cells.pretrain import Pretrain
from bench.cells.speech import Speech
from bench.data.draws import Draw
from bench.losses import correlation, eqco_margin, moving_average, neighbour_gain
from bench.methods.negatives import Memory, Similarities


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


class Pair(NamedTuple):
    """One direction of a batch: anchors of one view, keys of the other."""

    query_ND: Tensor
    key_ND: Tensor
    probed_ND: Tensor  # what gradient norms are taken of: the side that learns from the other
    similarities: Similarities
    samples: Samples = Samples()
    draw: Draw | None = None  # of the direction
    labels_N: Tensor | None = None
    queued_KD: Tensor | None = None  # the keys of a queue
    epoch: float = 0  # of the training, with the part of it that is done

    @property
    def pos_N(self) -> Tensor:
        """Similarities with the positives."""
        return self.similarities.pos_N

    @property
    def neg_NK(self) -> Tensor:
        """Similarities with the negatives."""
        return self.similarities.neg_NK


Objective = Callable[[Pair], Tensor]
"""Function from a pair to the loss of each query, shape (N,), in nats (features: in its own
unit)."""


def make_objective(cell: Pretrain | Speech) -> Objective:
    """Return the cell's objective: a function of `bench.losses` with the cell's settings."""
    loss = LOSSES[cell.loss]
    module, function_name = loss.function.split(".")
    function: Callable[..., Tensor] = getattr(
        import_module(f"bench.losses.{module}"), function_name
    )
    names = [n for n in (*loss.needs, *loss.may) if n != "alpha"]  # alpha gives the margin
    settings = {name: getattr(cell, name) for name in names}
    margin = margin_of(cell)

    def seen(name: Sees, pair: Pair) -> Tensor | float | None:
        if name == "margin":
            return margin
        if name == "queued_NK":
            return pair.similarities.neg_NK if cell.negatives == "queue" else None
        if name == "kappa" and pair.similarities.kappa is None:
            return cell.kappa
        part = pair.similarities if name in Similarities._fields else pair.samples
        return getattr(part, name)  # type: ignore[no-any-return]

    def objective(pair: Pair) -> Tensor:
        more = settings | {name: seen(name, pair) for name in loss.sees}
        if loss.over == "features":
            return function(pair.query_ND, pair.key_ND, **more)
        value_N = function(pair.similarities.pos_N, pair.similarities.neg_NK, **more)
        return (
            value_N
            if pair.similarities.near_NL is None
            else value_N - _gain(cell, pair.similarities)
        )

    return objective


def _gain(cell: Pretrain | Speech, similarities: Similarities) -> Tensor:
    """Return what the close neighbours take off the loss."""
    assert cell.tau is not None
    assert cell.neighbour_sum is not None
    assert similarities.near_NL is not None
    return neighbour_gain(
        similarities.pos_N,
        similarities.near_NL,
        tau=cell.tau,
        where=cell.neighbour_sum,
        allowed_NL=similarities.allowed_NL,
    )


def margin_of(cell: Pretrain | Speech) -> float:
    """Return EqCo's margin of a cell, 0 without alpha (EqCo, Eq. 5)."""
    if cell.alpha is None or cell.tau is None:
        return 0.0
    return eqco_margin(cell.alpha, cell.count, cell.tau)
