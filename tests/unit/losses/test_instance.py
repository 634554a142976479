"""IR and LA as first written, and what close neighbours take off a loss (mutual-information)."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from bench.losses import dcl, infonce, ir, la, neighbour_gain
from tests.fakes.embeddings import random_similarities

X: Any = "x"
KAPPA = 2876934.2 / 1281167


def gradients(loss_N: Tensor, *of: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss_N.mean(), of)


def test_kappa_by_the_word_changes_no_gradient() -> None:
    """Whatever kappa is, IR's gradients are DCL's on the bank: no gap can come of it."""
    pos, neg = random_similarities(5, 7)
    own = ir(pos, neg, tau=0.07, kappa=KAPPA, normaliser="sampled")
    other = ir(pos, neg, tau=0.07, kappa=300.0, normaliser="sampled")
    assert_close(own - other, torch.full_like(own, math.log(KAPPA / 300)))
    plain = gradients(dcl(pos, neg, tau=0.07), pos, neg)
    assert_close(gradients(own, pos, neg), plain)
    assert_close(gradients(other, pos, neg), plain)


def test_a_constant_normaliser_changes_gradients() -> None:
    pos, neg = random_similarities(5, 7)
    found = [
        gradients(ir(pos, neg, tau=0.5, kappa=kappa, normaliser="constant"), pos, neg)
        for kappa in (KAPPA, 300.0)
    ]
    assert (found[0][0] - found[1][0]).abs().max() > 0.01


def test_the_constant_reading_is_noise_contrastive_estimation() -> None:
    """arXiv:1805.01978, Eqs. 4 to 7, in loops, with n entries: n cancels."""
    pos, neg = random_similarities(4, 3)
    for n in (50, 1000):
        for i in range(4):
            Z, K, tau = KAPPA * n, 3, 0.5

            def h(s: Tensor, Z: float = Z, K: int = K, tau: float = tau, n: int = n) -> Tensor:
                P = torch.exp(s / tau) / Z
                return P / (P + K / n)

            expected = -torch.log(h(pos[i])) - sum(torch.log(1 - h(s)) for s in neg[i])
            found = ir(pos, neg, tau=tau, kappa=KAPPA, normaliser="constant")[i]
            assert_close(found, expected)


def test_la_without_neighbours_is_ball() -> None:
    """Lemma 4.3: with C = {i} the difference of two logsumexp is InfoNCE over B."""
    pos, neg = random_similarities(5, 7)
    found = la(pos, neg, tau=0.2, normaliser="constant", own_entry="always")
    assert_close(found, infonce(pos, neg, tau=0.2))


def test_the_own_entry_counts_where_it_is_one_of_the_nearest() -> None:
    """Eq. 2 in loops: B the K nearest of all entries, C those of the own entry's cluster."""
    pos, neg = torch.tensor([0.5, 0.1, 0.0], dtype=torch.double), random_similarities(3, 4)[1]
    neg = neg.detach().clone()
    neg[:2] = torch.tensor([0.6, 0.4, 0.3, 0.2])
    neg[2] = torch.tensor([0.6, 0.4, 0.3, 0.2])
    close = torch.tensor([[False, True, False, True], [False, True, False, False], [False] * 4])
    found = la(pos, neg, tau=0.3, normaliser="constant", own_entry="if-near", close_NK=close)
    for i in range(3):
        entries = [(float(pos[i]), True)]
        entries += [(float(s), bool(c)) for s, c in zip(neg[i], close[i], strict=True)]
        nearest = sorted(entries, reverse=True)[:4]
        assert ((float(pos[i]), True) in nearest) == (i == 0)
        p = [(math.exp(s / 0.3), c) for s, c in nearest]
        share = sum(e for e, c in p if c) / sum(e for e, _ in p)
        assert float(found[i]) == pytest.approx(-math.log(share + 1e-7), rel=1e-6)


def test_without_a_close_neighbour_la_has_no_gradient() -> None:
    pos, neg = torch.tensor([-0.9], requires_grad=True), torch.tensor([[0.1, 0.2]])
    loss = la(
        pos, neg.requires_grad_(), tau=0.1, normaliser="constant", own_entry="if-near",
        close_NK=torch.zeros(1, 2, dtype=torch.bool),
    )  # fmt: skip
    assert loss.item() == pytest.approx(-math.log(1e-7))
    assert all(bool((g == 0).all()) for g in gradients(loss, pos, neg))


def test_before_neighbours_are_looked_for_la_is_instance_discrimination() -> None:
    pos, neg = random_similarities(5, 7)
    for own in ("always", "if-near"):
        found = la(pos, neg, tau=0.2, normaliser="constant", own_entry=own, kappa=3.0)
        assert_close(found, ir(pos, neg, tau=0.2, kappa=3.0, normaliser="constant"))


def test_la_by_the_word_is_the_ratio_of_two_estimates() -> None:
    """Eq. 2 with p of Eq. 1 and `la-original`: each p over a kappa-scaled sample of its own."""
    pos, neg = random_similarities(3, 4)
    samples = torch.stack([random_similarities(3, 6, seed)[1] for seed in (1, 2)])
    tau, found = 0.3, []
    for i in range(3):
        e = torch.exp(torch.cat([pos[i : i + 1], neg[i]]) / tau)
        Z = [KAPPA * torch.exp(sample[i] / tau).sum() for sample in samples]
        found.append(-torch.log((e[0] / Z[0]) / (e.sum() / Z[1])))
    mine = la(pos, neg, tau=tau, normaliser="sampled", own_entry="always", globals_2NK=samples)
    assert_close(mine, torch.stack(found))


@pytest.mark.parametrize("allowed", [None, [[True, False, True], [False, False, False]]])
def test_neighbours_inside_the_logarithm(allowed: Any) -> None:
    """`neighbour-objective`: log sum_l e^{s_l} - log sum_j e^{s_j}, the own entry first in both."""
    pos, neg = random_similarities(2, 5)
    _, near = random_similarities(2, 3, 3)
    mask = None if allowed is None else torch.tensor(allowed)
    gain = neighbour_gain(pos, near, tau=0.4, where="inside", allowed_NL=mask)
    for i in range(2):
        kept = [near[i, j] for j in range(3) if allowed is None or allowed[i][j]]
        upper = torch.stack([pos[i], *kept]).div(0.4).logsumexp(0)
        lower = torch.cat([pos[i : i + 1], neg[i]]).div(0.4).logsumexp(0)
        assert_close(infonce(pos, neg, tau=0.4)[i] - gain[i], lower - upper)


def test_neighbours_outside_the_logarithm_gain_no_more() -> None:
    """`la-jensen`: log of the mean >= mean of the logs."""
    pos, _ = random_similarities(6, 4)
    _, near = random_similarities(6, 3, 3)
    inside = neighbour_gain(pos, near, tau=0.4, where="inside") - math.log(4)
    outside = neighbour_gain(pos, near, tau=0.4, where="outside")
    assert (inside >= outside - 1e-12).all()
    own = torch.cat([pos[:, None], near], dim=1) / 0.4
    assert_close(outside, own.mean(dim=1) - pos / 0.4)


def test_no_neighbours_gain_nothing() -> None:
    pos, near = torch.tensor([0.3]), torch.empty(1, 0)
    for where in ("inside", "outside"):
        assert_close(neighbour_gain(pos, near, tau=0.4, where=where), torch.zeros(1))


def test_finite_in_bfloat16_and_at_small_temperature() -> None:
    pos, neg = (x.detach().bfloat16() for x in random_similarities(50, 9))
    samples = torch.stack([neg, neg])
    for loss in (
        ir(pos, neg, tau=0.01, kappa=KAPPA, normaliser="sampled"),
        ir(pos, neg, tau=0.01, kappa=KAPPA, normaliser="constant"),
        la(pos, neg, tau=0.01, normaliser="sampled", own_entry="always", globals_2NK=samples),
        la(pos, neg, tau=0.01, normaliser="constant", own_entry="if-near", close_NK=neg > 0),
        neighbour_gain(pos, neg, tau=0.01, where="inside"),
    ):
        assert loss.dtype == torch.float32
        assert loss.isfinite().all()


MISTAKES: dict[str, Any] = {
    "kappa must be above 0, found 0.0": lambda p, n: ir(
        p, n, tau=0.1, kappa=0.0, normaliser="sampled"
    ),
    "normaliser must be 'sampled' or 'constant', found 'x'": lambda p, n: ir(
        p, n, tau=0.1, kappa=1.0, normaliser=X
    ),
    "own_entry 'if-near' needs the argument close_NK": lambda p, n: la(
        p, n, tau=0.1, normaliser="constant", own_entry="if-near"
    ),
    "`where` must be 'inside' or 'outside', found 'x'": lambda p, n: neighbour_gain(
        p, n, tau=0.1, where=X
    ),
    "tau must be above 0, found 0.0": lambda p, n: neighbour_gain(p, n, tau=0.0, where="inside"),
}


@pytest.mark.parametrize("told", MISTAKES)
def test_a_mistake_is_told(told: str) -> None:
    call = MISTAKES[told]
    with pytest.raises(ValueError, match=f"^{told}$"):
        call(*random_similarities(2, 3))
