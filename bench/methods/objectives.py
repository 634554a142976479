"""Objectives by name: from a cell to a function of queries and keys."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from torch import Tensor

from bench.cells.losses import LOSSES, Sees
from bench.cells.pretrain import Pretrain
from bench.cells.speech import Speech
from bench.data.draws import Draw
from bench.losses import eqco_margin, neighbour_gain
from bench.methods.negatives import Similarities
from bench.methods.sample_sets import Samples


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
