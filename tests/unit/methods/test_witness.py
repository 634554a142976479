"""Witness functions by loops over pairs, and where their gradients go."""

from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from bench.losses import infonce
from bench.methods.witness import (
    HIDDEN,
    Bilinear,
    Dot,
    Perceptron,
    Witness,
    WitnessName,
    make_witness,
)

N, M, D = 4, 5, 6
NAMES = get_args(WitnessName)


def vectors(key: int, *shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(key).standard_normal(shape))


def witness(name: WitnessName, seed: int = 0) -> Dot | Perceptron:
    made = make_witness(name, D, np.random.default_rng(seed)).double()
    if isinstance(made, Bilinear):  # away from its start, where it is the dot product
        with torch.no_grad():
            made.weight_DD.copy_(vectors(9, D, D))
    return made


def score(made: Witness, x: Tensor, y: Tensor) -> Tensor:
    """One pair by the paper's form, with [x; y] laid out."""
    if isinstance(made, Bilinear):
        return sum(
            (x[i] * made.weight_DD[i, j] * y[j] for i in range(D) for j in range(D)), x[0] * 0
        )
    if isinstance(made, Perceptron):
        hidden = torch.cat([x, y])
        layers = [made.first, *(layer for layer in made.rest if isinstance(layer, nn.Linear))]
        for layer in layers[:-1]:
            hidden = (layer.weight @ hidden + layer.bias).clamp(min=0)
        return (layers[-1].weight @ hidden + layers[-1].bias)[0]
    return (x * y).sum()


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_each_pair(name: WitnessName) -> None:
    made, query, keys = witness(name), vectors(1, N, D), vectors(2, M, D)
    own = vectors(3, N, 3, D)
    scores, of_own = made.scores(query, keys), made.per_query(query, own)
    assert scores.shape == (N, M)
    assert of_own.shape == (N, 3)
    for i, x in enumerate(query):
        assert_close(scores[i], torch.stack([score(made, x, y) for y in keys]))
        assert_close(of_own[i], torch.stack([score(made, x, y) for y in own[i]]))
    same = made.per_query(query, keys.expand(N, M, D))
    assert_close(same, scores)
    assert_close(made.pairs(query, keys[:N]), scores.diagonal())


def test_dot_is_the_plain_product_and_bilinear_starts_there() -> None:
    query, keys, own = (
        vectors(1, N, D).float(),
        vectors(2, M, D).float(),
        vectors(3, N, 3, D).float(),
    )
    for name in ("dot", "bilinear"):
        made = make_witness(name, D, np.random.default_rng(0))
        assert torch.equal(made.scores(query, keys), query @ keys.T)
        assert torch.equal(made.per_query(query, own), torch.einsum("nd,nkd->nk", query, own))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_true_and_reach_every_parameter(name: WitnessName) -> None:
    made = witness(name)
    query, keys = vectors(1, N, D).requires_grad_(), vectors(2, M, D).requires_grad_()
    assert torch.autograd.gradcheck(made.scores, (query, keys))
    made.scores(query, keys).square().sum().backward()
    for tensor in (query, keys, *made.parameters()):
        assert tensor.grad is not None
        assert bool(tensor.grad.ne(0).any())


@pytest.mark.parametrize("name", NAMES)
def test_a_linear_witness_gives_queries_no_gradient_through_infonce(name: WitnessName) -> None:
    made, query = witness(name), vectors(1, N, D).requires_grad_()
    pos = made.per_query(query, vectors(2, N, 1, D))[:, 0]
    infonce(pos, made.scores(query, vectors(3, M, D)), tau=0.5).mean().backward()
    assert query.grad is not None
    assert (query.grad.abs().max() < 1e-15) == (name == "linear")


def test_layers() -> None:
    shapes = {name: [tuple(p.shape) for p in witness(name).parameters()] for name in NAMES}
    first, hidden, last = (
        [(HIDDEN, 2 * D), (HIDDEN,)],
        [(HIDDEN, HIDDEN), (HIDDEN,)],
        [(1, HIDDEN), (1,)],
    )
    assert shapes == {
        "dot": [],
        "bilinear": [(D, D)],
        "linear": [(1, 2 * D), (1,)],
        "mlp-1": first + last,
        "mlp-2": first + hidden + last,
    }
    assert HIDDEN == 128


def test_numbers_come_from_the_generator_alone() -> None:
    def numbers(seed: int) -> Tensor:
        return nn.utils.parameters_to_vector(witness("mlp-2", seed).parameters())

    before = torch.get_rng_state()
    once = numbers(0)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(numbers(0), once)
    assert not torch.equal(numbers(1), once)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "dot"])
def test_narrow_inputs_are_widened(name: WitnessName) -> None:
    made = make_witness(name, D, np.random.default_rng(0))
    query, keys = vectors(1, N, D).bfloat16(), vectors(2, M, D).bfloat16()
    assert torch.equal(made.scores(query, keys), made.scores(query.float(), keys.float()))
    own = keys.expand(N, M, D)
    assert torch.equal(made.per_query(query, own), made.per_query(query.float(), own.float()))
