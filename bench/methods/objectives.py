"""Objectives by name: from a cell to a function of one direction's queries and keys."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from torch import Tensor

from bench.config.pretrain import Pretrain
from bench.losses import align_uniform, dcl, dclw, dual_temperature, eqco_margin, infonce


class Pair(NamedTuple):
    """One direction of a batch: anchors of one view, keys of the other."""

    query_ND: Tensor
    key_ND: Tensor
    pos_N: Tensor
    neg_NK: Tensor
    probed_ND: Tensor  # what gradient norms are taken of: the side that learns from the other


Value = TypeVar("Value")
Objective = Callable[[Pair], Tensor]
"""From a pair to the loss of each query, shape (N,), in nats (align-uniform: its own unit)."""


def _infonce(cell: Pretrain) -> Objective:
    margin = margin_of(cell)
    return lambda pair: infonce(pair.pos_N, pair.neg_NK, tau=cell.tau, margin=margin)


def _dcl(cell: Pretrain) -> Objective:
    return lambda pair: dcl(pair.pos_N, pair.neg_NK, tau=cell.tau)


def _dclw(cell: Pretrain) -> Objective:
    weighted = partial(
        dclw,
        tau=cell.tau,
        weight=given(cell.weight),
        sigma=given(cell.sigma),
        delta=cell.delta,
        through_weight=given(cell.through_weight),
    )
    return lambda pair: weighted(pair.pos_N, pair.neg_NK)


def _dual_temperature(cell: Pretrain) -> Objective:
    weighted = partial(
        dual_temperature,
        tau=cell.tau,
        tau_beta=given(cell.tau_beta),
        form=given(cell.form),
        margin=margin_of(cell),
    )
    return lambda pair: weighted(pair.pos_N, pair.neg_NK)


def _align_uniform(cell: Pretrain) -> Objective:
    weighted = partial(
        align_uniform,
        align_alpha=given(cell.align_alpha),
        uniform_t=given(cell.uniform_t),
        align_weight=given(cell.align_weight),
        uniform_weight=given(cell.uniform_weight),
    )
    return lambda pair: weighted(pair.query_ND, pair.key_ND)


OBJECTIVES: dict[str, Callable[[Pretrain], Objective]] = {
    "infonce": _infonce,
    "eqco": _infonce,  # the margin is what alpha says
    "dcl": _dcl,
    "dclw": _dclw,
    "dual-temperature": _dual_temperature,
    "align-uniform": _align_uniform,
}


def margin_of(cell: Pretrain) -> float:
    """Return EqCo's margin of a cell, 0 without alpha (EqCo, Eq. 5)."""
    return 0.0 if cell.alpha is None else eqco_margin(cell.alpha, cell.count, cell.tau)


def given(value: Value | None) -> Value:
    """Return a field that its record has checked to be there."""
    if value is None:
        raise ValueError("the cell lacks a field that one of its others needs")
    return value
