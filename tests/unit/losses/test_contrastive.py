"""InfoNCE and EqCo by hand, by a loop, by the papers' gradients, by their invariances."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from bench.losses import (
    eqco_margin,
    in_batch,
    infonce,
    infonce_gradient_in_batch,
    mi_lower_bound,
)
from tests.fakes.embeddings import random_similarities


def loop_infonce(pos: Tensor, neg: Tensor, tau: float, margin: float) -> list[float]:
    """EqCo, Eq. 1, query by query with Python floats."""
    losses = []
    for p, row in zip(pos.tolist(), neg.tolist(), strict=True):
        top = math.exp((p - margin) / tau)
        losses.append(-math.log(top / (top + sum(math.exp(n / tau) for n in row))))
    return losses


def test_hand_value() -> None:
    """One negative as near as the positive: two equal candidates, log 2."""
    pos, neg = torch.tensor([0.3]), torch.tensor([[0.3]])
    assert infonce(pos, neg, tau=0.07).item() == pytest.approx(math.log(2))


def test_hand_value_of_eqco() -> None:
    """All similarities equal: the loss is log(1 + alpha) whatever K (EqCo, Eq. 10)."""
    for k in (1, 7, 300):
        loss = infonce(
            torch.zeros(1, dtype=torch.float64),
            torch.zeros(1, k, dtype=torch.float64),
            tau=0.2,
            margin=eqco_margin(512, k, 0.2),
        )
        assert loss.item() == pytest.approx(math.log(513), rel=1e-12)


@pytest.mark.parametrize("tau", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("alpha", [1.0, 7.0, 65536.0])
def test_matches_the_loop(tau: float, alpha: float) -> None:
    pos, neg = random_similarities(5, 7)
    margin = eqco_margin(alpha, 7, tau)
    expected = torch.tensor(loop_infonce(pos, neg, tau, margin), dtype=torch.float64)
    assert_close(infonce(pos, neg, tau=tau, margin=margin), expected)


@pytest.mark.parametrize("tau", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("alpha", [3.0, 512.0])
def test_gradient_is_eq_11_as_corrected(tau: float, alpha: float) -> None:
    """EqCo, eq-11-corrected: the printed numerator s_0 of the sum must read s_i."""
    generator = torch.Generator().manual_seed(1)
    keys = torch.nn.functional.normalize(
        torch.randn(9, 6, dtype=torch.float64, generator=generator), dim=1
    )
    query = keys[0].clone().requires_grad_()
    k0, ki, count = keys[1], keys[2:], len(keys) - 2
    margin = eqco_margin(alpha, count, tau)
    loss = infonce((query @ k0)[None], (ki @ query)[None], tau=tau, margin=margin).sum()
    loss.backward()

    s0, si = (query.detach() @ k0 / tau).exp(), (ki @ query.detach() / tau).exp()
    total = s0 + alpha / count * si.sum()
    expected = -(1 - s0 / total) * k0 / tau + alpha / (tau * count) * (si / total) @ ki
    as_printed = -(1 - s0 / total) * k0 / tau + alpha / (tau * count) * (s0 / total) * ki.sum(0)
    assert query.grad is not None
    assert_close(query.grad, expected)
    assert not torch.allclose(query.grad, as_printed, rtol=1e-3)


@pytest.mark.parametrize("tau", [0.05, 1.0])
@pytest.mark.parametrize("margin", [0.0, 0.7])
def test_closed_gradient_is_autograds(tau: float, margin: float) -> None:
    generator = torch.Generator().manual_seed(2)
    sim = torch.randn(3, 8, 8, dtype=torch.float64, generator=generator).requires_grad_()
    m = torch.full((3, 1), margin, dtype=torch.float64)
    infonce(*in_batch(sim), tau=tau, margin=m).mean(dim=1).sum().backward()
    assert sim.grad is not None
    assert_close(infonce_gradient_in_batch(sim.detach().clone(), m, tau=tau), sim.grad)


def test_gradcheck() -> None:
    pos, neg = random_similarities(4, 5)
    assert torch.autograd.gradcheck(lambda p, n: infonce(p, n, tau=0.1, margin=0.2), (pos, neg))


@given(
    st.integers(1, 6),
    st.integers(1, 12),
    st.floats(0.01, 2.0),
    st.floats(-1.0, 1.0),
    st.integers(0, 10_000),
)
def test_invariances(n: int, m: int, tau: float, shift: float, seed: int) -> None:
    """Order of the negatives, a shift of all similarities, and masked entries change nothing."""
    pos, neg = random_similarities(n, m, seed)
    loss = infonce(pos, neg, tau=tau)
    order = np.random.default_rng(seed).permutation(m)
    masked = torch.cat([neg, torch.full((n, 2), -torch.inf, dtype=torch.float64)], dim=1)
    assert bool((loss >= 0).all())
    assert_close(infonce(pos, neg[:, torch.from_numpy(order)], tau=tau), loss)
    assert_close(infonce(pos + shift, neg + shift, tau=tau), loss, rtol=1e-6, atol=1e-9)
    assert_close(infonce(pos, masked, tau=tau), loss)


def test_margin_repeats_each_negative() -> None:
    """alpha = 3 K is the loss with every negative given three times (EqCo, Eq. 10)."""
    pos, neg = random_similarities(5, 4)
    thrice = infonce(pos, neg.repeat(1, 3), tau=0.2)
    assert_close(infonce(pos, neg, tau=0.2, margin=eqco_margin(12, 4, 0.2)), thrice)


def test_alpha_of_k_is_infonce() -> None:
    pos, neg = random_similarities(5, 4)
    assert_close(
        infonce(pos, neg, tau=0.2, margin=eqco_margin(4, 4, 0.2)), infonce(pos, neg, tau=0.2)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_finite_at_small_tau(dtype: torch.dtype) -> None:
    pos = torch.tensor([1.0, -1.0], dtype=dtype)
    neg = torch.tensor([[1.0, -1.0], [1.0, 1.0]], dtype=dtype)
    assert_close(
        infonce(pos, neg, tau=0.01).float(),
        torch.tensor([math.log(2), 200 + math.log(2)]),
        rtol=1e-2,
        atol=1e-2,
    )


def test_narrow_similarities_are_computed_wide() -> None:
    generator = torch.Generator().manual_seed(0)
    pos = torch.rand(8, generator=generator).bfloat16().requires_grad_()
    neg = (torch.rand(8, 4096, generator=generator) * 2 - 1).bfloat16()
    loss, wide = infonce(pos, neg, tau=0.01), infonce(pos.double(), neg.double(), tau=0.01)
    assert loss.dtype == torch.float32
    assert_close(loss.double(), wide, rtol=1e-5, atol=1e-5)
    (found,) = torch.autograd.grad(loss.sum(), pos)
    (expected,) = torch.autograd.grad(wide.sum(), pos)
    assert_close(found, expected)


def test_no_gradient_reaches_a_masked_entry() -> None:
    sim = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    _, neg = in_batch(sim)
    infonce(torch.zeros(4, dtype=torch.float64), neg, tau=0.1).sum().backward()
    assert sim.grad is not None
    assert_close(sim.grad.diagonal(), torch.zeros(4, dtype=torch.float64))


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan])
def test_tau_out_of_its_domain(tau: float) -> None:
    pos, neg = random_similarities(2, 3)
    with pytest.raises(ValueError, match=f"^tau must be above 0, found {re.escape(str(tau))}$"):
        infonce(pos, neg, tau=tau)


@pytest.mark.parametrize("shape", [(3, 4), (2, 0), (2,)])
def test_shapes_that_do_not_agree(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^positives and negatives must have shapes"):
        infonce(torch.zeros(2), torch.zeros(shape), tau=0.1)


def test_margin_out_of_its_domain() -> None:
    with pytest.raises(
        ValueError, match=re.escape("alpha, K and tau must be above 0, found 0, 3 and 0.1")
    ):
        eqco_margin(0, 3, 0.1)


def test_bound_is_never_above_log_of_the_candidates() -> None:
    pos, neg = random_similarities(50, 9)
    bound = mi_lower_bound(infonce(pos, neg, tau=0.1), candidates=10)
    assert bool((bound <= math.log(10)).all())
    assert_close(
        mi_lower_bound(torch.tensor([0.5]), candidates=torch.tensor([10.0])),
        torch.tensor([math.log(10) - 0.5]),
    )
