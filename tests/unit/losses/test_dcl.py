"""DCL and DCLW by loops, by the paper's gradients and claims, at the edges of their domain."""

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from bench.losses import dcl, dclw, infonce, q_b
from tests.fakes.embeddings import random_similarities, simclr_similarities, two_views

VMF: dict[str, Any] = {"weight": "vmf", "sigma": 0.5}
EXP: dict[str, Any] = {"weight": "exp", "sigma": 0.5, "delta": 3.0}


def exp_sums(pos: Tensor, neg: Tensor, tau: float) -> tuple[Tensor, Tensor]:
    """e^{pos/tau} and U of each anchor."""
    return (pos.detach() / tau).exp(), (neg.detach() / tau).exp().sum(dim=1)


@pytest.mark.parametrize("tau", [0.07, 0.5])
def test_dcl_is_eq_5(tau: float) -> None:
    pos, neg = random_similarities(5, 7)
    top, U = exp_sums(pos, neg, tau)
    assert_close(dcl(pos, neg, tau=tau), -(top / U).log())


@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_gradients_of_proposition_1_and_2(tau: float) -> None:
    """DCL, eq-3a to eq-3c and eq-4; with DCL's loss q_B is replaced by 1."""
    n, i = 4, 1
    for loss in (infonce, dcl):
        a, b = two_views(n)
        pos, neg = simclr_similarities(a, b)
        loss(pos, neg, tau=tau)[i].backward()
        za, zb = a.detach(), b.detach()
        others = [(view, j) for view in (0, 1) for j in range(n) if j != i]
        keys = torch.stack([(za, zb)[v][j] for v, j in others])
        weight = (keys @ za[i] / tau).exp()
        U = weight.sum()
        q = U / ((za[i] @ zb[i] / tau).exp() + U) if loss is infonce else torch.tensor(1.0)
        assert a.grad is not None
        assert b.grad is not None
        assert_close(-a.grad[i], q / tau * (zb[i] - weight / U @ keys))  # eq-3a
        assert_close(-b.grad[i], q / tau * za[i])  # eq-3b
        for (v, j), w in zip(others, weight, strict=True):  # eq-3c
            assert_close(-(a.grad, b.grad)[v][j], -q / tau * w / U * za[i])


def test_dcl_has_infonces_gradient_over_q_b() -> None:
    """Prop. 2, on the similarities; the weights of the negatives sum to 1 (eq-4b)."""
    pos, neg = random_similarities(5, 7)
    coupled = torch.autograd.grad(infonce(pos, neg, tau=0.1).sum(), (pos, neg))
    free = torch.autograd.grad(dcl(pos, neg, tau=0.1).sum(), (pos, neg))
    q = q_b(pos, neg, tau=0.1)
    assert_close(free[0], coupled[0] / q)
    assert_close(free[1], coupled[1] / q[:, None])
    assert_close(free[1].sum(dim=1), torch.full((5,), 1 / 0.1, dtype=torch.float64))


@pytest.mark.parametrize("kind", [VMF, EXP])
def test_dclw_is_eq_7(kind: dict[str, Any]) -> None:
    pos, neg = random_similarities(5, 7)
    cosines = pos.tolist()
    if kind is VMF:
        mean = sum(math.exp(c / 0.5) for c in cosines) / 5
        w = torch.tensor([2 - math.exp(c / 0.5) / mean for c in cosines], dtype=torch.float64)
        assert w.mean().item() == pytest.approx(1)  # stated in Sec. 3
    else:
        w = torch.tensor([3 * math.exp(-0.5 * c) for c in cosines], dtype=torch.float64)
    expected = -w * pos / 0.1 + exp_sums(pos, neg, 0.1)[1].log()
    for through in (False, True):
        assert_close(dclw(pos, neg, tau=0.1, **kind, through_weight=through), expected)
    loss = dclw(pos, neg, tau=0.1, **kind, through_weight=False)
    assert_close(torch.autograd.grad(loss.sum(), pos)[0], -w / 0.1)


@pytest.mark.parametrize("kind", [VMF, EXP])
def test_gradient_through_the_weight(kind: dict[str, Any]) -> None:
    pos, neg = random_similarities(4, 5)
    assert torch.autograd.gradcheck(
        lambda p, n: dclw(p, n, tau=0.1, **kind, through_weight=True), (pos, neg)
    )


def test_dclw_tends_to_dcl() -> None:
    """Sec. 3: w -> 1 as sigma -> infinity."""
    pos, neg = random_similarities(6, 4)
    far = [
        (
            dclw(pos, neg, tau=0.1, weight="vmf", sigma=s, through_weight=False)
            - dcl(pos, neg, tau=0.1)
        )
        .abs()
        .max()
        .item()
        for s in (1, 10, 100, 1000)
    ]
    assert far == sorted(far, reverse=True)
    assert far[-1] < 0.02


def test_exponential_weight_of_three_cosines() -> None:
    """eq-7-exp: 1.82, 3 and 4.95 at cosine 1, 0 and -1; seen as the gradient, times -tau."""
    pos = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)
    neg = torch.zeros(3, 1, dtype=torch.float64)
    dclw(pos, neg, tau=1.0, **EXP, through_weight=False).sum().backward()
    assert pos.grad is not None
    assert_close(-pos.grad, torch.tensor([1.82, 3, 4.95], dtype=torch.float64), atol=5e-3, rtol=0)


def loss_named(name: str, pos: Tensor, neg: Tensor, tau: float) -> Tensor:
    if name == "dcl":
        return dcl(pos, neg, tau=tau)
    return dclw(pos, neg, tau=tau, **(VMF if name == "vmf" else EXP), through_weight=True)


@pytest.mark.parametrize("name", ["dcl", "vmf", "exp"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_finite_at_small_tau(name: str, dtype: torch.dtype) -> None:
    """A perfect positive, the worst one, one like its negatives, all similarities equal."""
    pos = torch.tensor([1.0, -1.0, 0.5, 1.0], dtype=dtype, requires_grad=True)
    rows = [[-1.0, -1.0], [1.0, 1.0], [0.5, -torch.inf], [1.0, 1.0]]
    neg = torch.tensor(rows, dtype=dtype, requires_grad=True)
    loss = loss_named(name, pos, neg, 0.01)
    loss.mean().backward()
    assert loss.dtype == torch.float32
    wide = loss_named(name, pos.detach().double(), neg.detach().double(), 0.01)
    assert_close(loss.double(), wide, rtol=1e-6, atol=1e-4)
    assert pos.grad is not None
    assert neg.grad is not None
    assert bool(pos.grad.isfinite().all() and neg.grad.isfinite().all())


@settings(deadline=None)
@given(
    st.sampled_from(["dcl", "vmf", "exp"]),
    st.integers(1, 6),
    st.integers(1, 9),
    st.floats(0.01, 2.0),
    st.integers(0, 10_000),
)
def test_invariances(name: str, n: int, m: int, tau: float, seed: int) -> None:
    """Order of the negatives, order of the queries, and masked entries change nothing."""
    pos, neg = random_similarities(n, m, seed)
    loss = loss_named(name, pos, neg, tau)
    shuffle = np.random.default_rng(seed).permutation
    columns, rows = torch.from_numpy(shuffle(m)), torch.from_numpy(shuffle(n))
    masked = torch.cat([neg, torch.full((n, 2), -torch.inf, dtype=torch.float64)], dim=1)
    assert_close(loss_named(name, pos, neg[:, columns], tau), loss)
    assert_close(loss_named(name, pos[rows], neg[rows], tau), loss[rows])
    assert_close(loss_named(name, pos, masked, tau), loss)


@settings(deadline=None)
@given(st.floats(0.01, 2.0), st.floats(-1.0, 1.0), st.integers(0, 10_000))
def test_a_shift_of_all_similarities_changes_nothing(tau: float, shift: float, seed: int) -> None:
    """Of the weights, the von Mises-Fisher one is free of it as well."""
    pos, neg = random_similarities(4, 5, seed)
    shifted = dcl(pos + shift, neg + shift, tau=tau)
    assert_close(shifted, dcl(pos, neg, tau=tau), rtol=1e-6, atol=1e-9)
    w = [
        torch.autograd.grad(
            dclw(p, neg, tau=1.0, **VMF, through_weight=False).sum(), p, retain_graph=True
        )[0]
        for p in (pos, (pos + shift).detach().requires_grad_())
    ]
    assert_close(*w)


def test_stacked_cells_have_their_own_tau() -> None:
    pos, neg = random_similarities(6, 4)
    tau = torch.tensor([[0.1], [0.5]], dtype=torch.float64)
    stacked = dcl(pos.reshape(2, 3), neg.reshape(2, 3, 4), tau=tau)
    assert_close(stacked[0], dcl(pos[:3], neg[:3], tau=0.1))
    assert_close(stacked[1], dcl(pos[3:], neg[3:], tau=0.5))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tau": 0.0}, "tau must be above 0, found 0.0"),
        ({"sigma": -1.0}, "sigma must be above 0, found -1.0"),
        (
            {"delta": 3.0},
            "weight must be 'vmf' with delta None, or 'exp' with delta above 0, found weight 'vmf'",
        ),
        (
            {"weight": "exp"},
            "weight must be 'vmf' with delta None, or 'exp' with delta above 0, found weight 'exp'",
        ),
        (
            {"weight": "exp", "delta": 0.0},
            "weight must be 'vmf' with delta None, or 'exp' with delta above 0, found weight 'exp'",
        ),
        (
            {"weight": "cos"},
            "weight must be 'vmf' with delta None, or 'exp' with delta above 0, found weight 'cos'",
        ),
    ],
)
def test_arguments_out_of_their_domain(wrong: dict[str, Any], message: str) -> None:
    pos, neg = random_similarities(2, 3)
    arguments: dict[str, Any] = {"tau": 0.1, **VMF, "through_weight": False, **wrong}
    if "weight" in message:
        message += f" with delta {arguments.get('delta')}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        dclw(pos, neg, **arguments)


def test_shapes_that_do_not_agree() -> None:
    message = (
        "positives and negatives must have shapes (..., N) and (..., N, M) with M >= 1, found "
        "(2,) and (3, 4)"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        dcl(torch.zeros(2), torch.zeros(3, 4), tau=0.1)
