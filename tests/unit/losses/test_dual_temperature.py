"""Dual temperature in both forms: by a loop, by its gradient, with EqCo's margin, at the edges."""

import math
import re
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from bench.losses import dual_temperature, eqco_margin, in_batch, infonce
from tests.fakes.embeddings import random_similarities

Form = Literal["released", "printed"]
FORMS: tuple[Form, ...] = ("released", "printed")


def shares(p: float, row: list[float], tau: float) -> tuple[float, float]:
    """p_ii and 1 - p_ii of Algorithm 1."""
    top, rest = math.exp(p / tau), sum(math.exp(n / tau) for n in row)
    return top / (top + rest), rest / (top + rest)


def loop(pos: Tensor, neg: Tensor, tau: float, tau_beta: float, form: Form) -> Tensor:
    """Algorithm 1 query by query with Python floats."""
    losses = []
    for p, row in zip(pos.tolist(), neg.tolist(), strict=True):
        w = shares(p, row, tau_beta)[1] / shares(p, row, tau)[1]
        losses.append(-w * math.log(shares(p, row, tau if form == "released" else 1.0)[0]))
    return torch.tensor(losses, dtype=torch.float64)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("tau", "tau_beta"), [(0.1, 1.0), (0.5, 0.1), (0.2, 0.2)])
def test_matches_the_loop(form: Form, tau: float, tau_beta: float) -> None:
    pos, neg = random_similarities(5, 7)
    found = dual_temperature(pos, neg, tau=tau, tau_beta=tau_beta, form=form)
    assert_close(found, loop(pos, neg, tau, tau_beta, form))


def test_released_gradient() -> None:
    """algorithm-1-released-code, over a batch: (W_beta/tau) (-1, p_intra_ij/W_alpha)."""
    generator = torch.Generator().manual_seed(3)
    sim = (2 * torch.rand(6, 6, dtype=torch.float64, generator=generator) - 1).requires_grad_()
    tau, tau_beta = 0.1, 0.7
    loss = dual_temperature(*in_batch(sim), tau=tau, tau_beta=tau_beta, form="released")
    loss.sum().backward()
    intra, inter = (torch.softmax(sim.detach() / t, dim=1) for t in (tau, tau_beta))
    w_alpha, w_beta = 1 - intra.diagonal(), 1 - inter.diagonal()
    expected = (w_beta / tau / w_alpha)[:, None] * intra
    expected.diagonal().copy_(-w_beta / tau)
    assert sim.grad is not None
    assert_close(sim.grad, expected)


def test_printed_gradient_keeps_its_weight_detached() -> None:
    pos, neg = random_similarities(5, 7)
    dual_temperature(pos, neg, tau=0.1, tau_beta=0.7, form="printed").sum().backward()
    p = torch.softmax(torch.cat([pos[:, None], neg], dim=1).detach(), dim=1)
    w = torch.tensor(
        [
            shares(q, row, 0.7)[1] / shares(q, row, 0.1)[1]
            for q, row in zip(pos.tolist(), neg.tolist(), strict=True)
        ],
        dtype=torch.float64,
    )
    assert pos.grad is not None
    assert neg.grad is not None
    assert_close(pos.grad, w * (p[:, 0] - 1))
    assert_close(neg.grad, w[:, None] * p[:, 1:])


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_equal_temperatures_are_infonce(margin: float) -> None:
    """mocov2-single-temperature: w = 1, in value and in gradient."""
    pos, neg = random_similarities(5, 7)
    dual = dual_temperature(pos, neg, tau=0.1, tau_beta=0.1, form="released", margin=margin)
    plain = infonce(pos, neg, tau=0.1, margin=margin)
    assert_close(dual, plain)
    found, expected = (torch.autograd.grad(x.sum(), (pos, neg)) for x in (dual, plain))
    assert_close(found, expected)


@pytest.mark.parametrize("form", FORMS)
def test_margin_repeats_each_negative_at_both_temperatures(form: Form) -> None:
    """alpha = 3 K is the loss with every negative given three times, as for InfoNCE."""
    pos, neg = random_similarities(5, 4)
    once = dual_temperature(
        pos, neg, tau=0.1, tau_beta=0.6, form=form, margin=eqco_margin(12, 4, 0.1)
    )
    thrice = dual_temperature(pos, neg.repeat(1, 3), tau=0.1, tau_beta=0.6, form=form)
    assert_close(once, thrice)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_finite_at_small_tau(form: Form, dtype: torch.dtype) -> None:
    """A perfect positive, the worst one, one like its negatives, all similarities equal."""
    pos = torch.tensor([1.0, -1.0, 0.5, 1.0], dtype=dtype, requires_grad=True)
    rows = [[-1.0, -1.0], [1.0, 1.0], [0.5, -torch.inf], [1.0, 1.0]]
    neg = torch.tensor(rows, dtype=dtype, requires_grad=True)
    loss = dual_temperature(pos, neg, tau=0.01, tau_beta=1.0, form=form)
    loss.mean().backward()
    assert loss.dtype == torch.float32
    expected = loop(pos[1:].double(), neg[1:].double(), 0.01, 1.0, form)
    assert_close(loss[1:].double(), expected, rtol=1e-5, atol=1e-5)
    assert pos.grad is not None
    assert neg.grad is not None
    assert bool(loss.isfinite().all())
    assert bool(pos.grad.isfinite().all() and neg.grad.isfinite().all())


def test_perfect_positive_weighs_w_beta() -> None:
    """InfoNCE and W_alpha vanish together: value W_beta, gradient -W_beta/tau (released form)."""
    for dtype in (torch.float32, torch.float64):
        pos = torch.ones(1, dtype=dtype, requires_grad=True)
        neg = torch.tensor([[-1.0, 0.0]], dtype=dtype)
        loss = dual_temperature(pos, neg, tau=0.01, tau_beta=0.5, form="released")
        loss.sum().backward()
        w_beta = shares(1.0, [-1.0, 0.0], 0.5)[1]
        assert loss.item() == pytest.approx(w_beta, rel=1e-6)
        assert pos.grad is not None
        assert pos.grad.item() == pytest.approx(-w_beta / 0.01, rel=1e-6)


def test_printed_weight_stops_at_the_root_of_the_largest_number() -> None:
    """The true weight is about e^198: float64 has it, float32 has not."""
    pos, neg = torch.ones(1), torch.tensor([[-1.0, -1.0]])
    narrow = dual_temperature(pos, neg, tau=0.01, tau_beta=1.0, form="printed")
    wide = dual_temperature(pos.double(), neg.double(), tau=0.01, tau_beta=1.0, form="printed")
    at_one = infonce(pos, neg, tau=1.0)
    assert_close(
        narrow / at_one, torch.tensor([torch.finfo(torch.float32).max ** 0.5]), rtol=1e-4, atol=0.0
    )
    assert_close(wide, loop(pos.double(), neg.double(), 0.01, 1.0, "printed"), rtol=1e-9, atol=0.0)


@settings(deadline=None)
@given(
    st.sampled_from(FORMS),
    st.integers(1, 5),
    st.integers(1, 9),
    st.floats(0.05, 2.0),
    st.floats(0.05, 2.0),
    st.integers(0, 10_000),
)
def test_invariances(form: Form, n: int, m: int, tau: float, tau_beta: float, seed: int) -> None:
    """Order of the negatives, a shift of all similarities, and masked entries change nothing."""
    pos, neg = random_similarities(n, m, seed)

    def loss(p: Tensor, n: Tensor) -> Tensor:
        return dual_temperature(p, n, tau=tau, tau_beta=tau_beta, form=form)

    plain = loss(pos, neg)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(m))
    masked = torch.cat([neg, torch.full((n, 2), -torch.inf, dtype=torch.float64)], dim=1)
    assert bool((plain >= 0).all())
    assert_close(loss(pos, neg[:, order]), plain)
    assert_close(loss(pos + 0.7, neg + 0.7), plain, rtol=1e-6, atol=1e-9)
    assert_close(loss(pos, masked), plain)


@pytest.mark.parametrize("form", FORMS)
def test_stacked_cells_have_their_own_temperatures(form: Form) -> None:
    pos, neg = random_similarities(6, 4)
    first, second = torch.tensor([[[0.1], [0.5]], [[1.0], [0.2]]], dtype=torch.float64)
    stacked = dual_temperature(
        pos.reshape(2, 3), neg.reshape(2, 3, 4), tau=first, tau_beta=second, form=form, margin=0.2
    )
    for i, rows in enumerate((slice(3), slice(3, 6))):
        alone = dual_temperature(
            pos[rows],
            neg[rows],
            tau=first[i].item(),
            tau_beta=second[i].item(),
            form=form,
            margin=0.2,
        )
        assert_close(stacked[i], alone)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tau": -1.0}, "tau must be above 0, found -1.0"),
        ({"tau_beta": math.nan}, "tau_beta must be above 0, found nan"),
        ({"form": "both"}, "form must be 'released' or 'printed', found 'both'"),
    ],
)
def test_arguments_out_of_their_domain(wrong: dict[str, Any], message: str) -> None:
    pos, neg = random_similarities(2, 3)
    arguments: dict[str, Any] = {"tau": 0.1, "tau_beta": 1.0, "form": "released", **wrong}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        dual_temperature(pos, neg, **arguments)
