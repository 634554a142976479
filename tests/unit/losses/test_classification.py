"""Cross-entropy and its relatives: torch's values, the papers' formulas, edges of the domain."""

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from bench.losses.classification import (
    cross_entropy,
    decoupled,
    dual_temperature_cross_entropy,
    one_against_rest,
)


def dual(logits: Tensor, labels: Tensor) -> Tensor:
    return dual_temperature_cross_entropy(logits, labels, tau=0.5, tau_beta=10.0)


LOSSES: list[Callable[[Tensor, Tensor], Tensor]] = [cross_entropy, decoupled, dual]


def batch(n: int = 7, classes: int = 5) -> tuple[Tensor, Tensor]:
    draw = np.random.default_rng(0)
    logits = torch.from_numpy(3 * draw.standard_normal((n, classes))).requires_grad_()
    return logits, torch.from_numpy(draw.integers(0, classes, n))


@pytest.mark.parametrize("tau", [0.1, 1.0, 4.0])
def test_cross_entropy_is_infonce_with_classes_as_keys(tau: float) -> None:
    """ce-is-special-case: value and gradient of torch's cross-entropy of o/tau."""
    logits, labels = batch()
    mine = cross_entropy(logits, labels, tau=tau)
    theirs = functional.cross_entropy(logits / tau, labels, reduction="none")
    assert_close(mine, theirs)
    grads = [torch.autograd.grad(loss.sum(), logits)[0] for loss in (mine, theirs)]
    assert_close(*grads)


def test_decoupled_is_eq_a7() -> None:
    logits, labels = batch()
    rows = zip(logits.tolist(), labels.tolist(), strict=True)
    expected = [
        -row[y] + np.log(sum(np.exp(s) for c, s in enumerate(row) if c != y)) for row, y in rows
    ]
    assert_close(decoupled(logits, labels), torch.tensor(expected, dtype=torch.float64))
    assert_close(decoupled(logits, labels, tau=0.5), decoupled(2 * logits, labels))


def test_decoupled_has_cross_entropys_gradient_without_the_coupling() -> None:
    logits, labels = batch()
    coupled, free = (
        torch.autograd.grad(loss(logits, labels).sum(), logits)[0]
        for loss in (cross_entropy, decoupled)
    )
    probability = logits.softmax(dim=1).gather(1, labels[:, None])
    assert_close(free * (1 - probability), coupled)


def test_dual_temperature_weighs_cross_entropy() -> None:
    """ce-dual-temperature: the weight is (1 - p_beta)/(1 - p_alpha), without a gradient."""
    logits, labels = batch()
    p_alpha, p_beta = (
        (logits.detach() / tau).softmax(dim=1).gather(1, labels[:, None])[:, 0]
        for tau in (0.5, 10.0)
    )
    expected = (1 - p_beta) / (1 - p_alpha) * cross_entropy(logits, labels, tau=0.5)
    assert_close(dual(logits, labels), expected)
    grads = [
        torch.autograd.grad(loss.sum(), logits)[0] for loss in (dual(logits, labels), expected)
    ]
    assert_close(*grads)
    alike = dual_temperature_cross_entropy(logits, labels, tau=0.5, tau_beta=0.5)
    assert_close(alike, cross_entropy(logits, labels, tau=0.5))


@pytest.mark.parametrize("loss", [cross_entropy, decoupled])
def test_gradients(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    logits, labels = batch(3)
    assert torch.autograd.gradcheck(lambda o: loss(o, labels), logits)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_finite_for_large_logits(
    loss: Callable[[Tensor, Tensor], Tensor], dtype: torch.dtype
) -> None:
    """Right by far, wrong by far, and all alike; bf16 is computed in float32."""
    rows = [[300.0, -300.0, 0.0], [-300.0, 300.0, 0.0], [1.0, 1.0, 1.0]]
    logits = torch.tensor(rows, dtype=dtype, requires_grad=True)
    labels = torch.zeros(3, dtype=torch.int64)
    found = loss(logits, labels)
    found.mean().backward()
    assert found.dtype == torch.float32
    assert found.isfinite().all()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert_close(found.double(), loss(logits.detach().double(), labels), rtol=1e-5, atol=1e-4)


def test_one_against_rest_leaves_the_logits_alone() -> None:
    logits, labels = batch()
    before = logits.detach().clone()
    pos, neg = one_against_rest(logits, labels)
    assert torch.equal(logits, before)
    assert pos.shape == (7,)
    assert neg.isinf().sum(dim=1).tolist() == [1] * 7


@pytest.mark.parametrize(
    ("logits", "labels"), [((3, 1), (3,)), ((3, 4), (2,)), ((4,), (4,)), ((3, 4), (3, 1))]
)
def test_shapes_that_do_not_agree(logits: tuple[int, ...], labels: tuple[int, ...]) -> None:
    text = (
        "logits and labels must have shapes (N, C) with C >= 2 and (N,), found "
        f"{logits} and {labels}"
    )
    for loss in LOSSES:
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            loss(torch.zeros(logits), torch.zeros(labels, dtype=torch.int64))


def test_a_temperature_must_be_above_0() -> None:
    logits, labels = batch()
    for loss in (cross_entropy, decoupled):
        with pytest.raises(ValueError, match=r"^tau must be above 0, found 0\.0$"):
            loss(logits, labels, tau=0.0)
    with pytest.raises(ValueError, match=r"^tau_beta must be above 0, found -1\.0$"):
        dual_temperature_cross_entropy(logits, labels, tau=1.0, tau_beta=-1.0)
