"""q_B, the MI bound and the running statistics by hand, by numpy, by the gradients they name."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from bench.losses import histogram, infonce, q_b
from tests.fakes.embeddings import random_similarities


def test_q_b_by_hand() -> None:
    """K negatives as near as the positive: K / (1 + K); masked ones do not count."""
    neg = torch.tensor([[0.3, -torch.inf, -torch.inf], [0.3, 0.3, 0.3]], dtype=torch.float64)
    found = q_b(torch.full((2,), 0.3, dtype=torch.float64), neg, tau=0.07)
    assert_close(found, torch.tensor([1 / 2, 3 / 4], dtype=torch.float64))


def test_q_b_is_the_factor_of_infonces_gradient() -> None:
    """DCL, eq-3b: -dL/dpos = q_B / tau."""
    pos, neg = random_similarities(6, 9)
    infonce(pos, neg, tau=0.1).sum().backward()
    assert pos.grad is not None
    found = q_b(pos, neg, tau=0.1)
    assert_close(found, -0.1 * pos.grad)
    assert not found.requires_grad


@settings(deadline=None)
@given(st.floats(0.2, 1.0), st.floats(0.01, 0.5), st.integers(0, 10_000))
def test_q_b_in_easy_cases(tau: float, step: float, seed: int) -> None:
    """qb-easy-cases: it falls with a nearer positive, farther negatives, fewer negatives."""
    pos, neg = random_similarities(3, 5, seed)
    q = q_b(pos, neg, tau=tau)
    assert bool((q_b(pos + step, neg, tau=tau) < q).all())
    for column in range(5):
        farther = neg.detach().clone()
        farther[:, column] -= step
        fewer = neg.detach().clone()
        fewer[:, column] = -torch.inf
        assert bool((q_b(pos, farther, tau=tau) <= q).all())
        assert bool((q_b(pos, fewer, tau=tau) <= q_b(pos, farther, tau=tau)).all())
    assert bool((q_b(pos, neg - step, tau=tau) < q).all())
    assert bool((q_b(pos, neg[:, :4], tau=tau) <= q).all())
    assert bool((q_b(pos, torch.cat([neg, neg], dim=1), tau=tau) > q).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_q_b_at_small_tau(dtype: torch.dtype) -> None:
    pos = torch.tensor([1.0, -1.0, 0.5], dtype=dtype)
    neg = torch.tensor([[-1.0], [1.0], [0.5]], dtype=dtype)
    assert_close(q_b(pos, neg, tau=0.01), torch.tensor([0.0, 1.0, 0.5]))


def test_q_b_has_the_same_bits_at_every_place() -> None:
    pos, neg = (x.detach().float() for x in random_similarities(1003, 4))
    alone = torch.cat([q_b(p[None], n[None], tau=0.1) for p, n in zip(pos, neg, strict=True)])
    assert torch.equal(q_b(pos, neg, tau=0.1), alone)


def test_q_b_of_narrow_similarities_is_computed_wide() -> None:
    pos, neg = (x.detach().bfloat16() for x in random_similarities(50, 9))
    found = q_b(pos, neg, tau=0.01)
    assert found.dtype == torch.float32
    assert_close(found.double(), q_b(pos.double(), neg.double(), tau=0.01), atol=1e-4, rtol=0)


def test_q_b_checks_its_domain() -> None:
    pos, neg = random_similarities(2, 3)
    with pytest.raises(ValueError, match=r"^tau must be above 0, found 0\.0$"):
        q_b(pos, neg, tau=0.0)


def test_histogram_is_numpys() -> None:
    values = np.random.default_rng(0).random((3, 500))
    expected = np.stack([np.histogram(row, bins=20, range=(0, 1))[0] for row in values])
    found = histogram(torch.from_numpy(values))
    assert found.dtype == torch.int64
    assert found.tolist() == expected.tolist()


def test_histogram_at_the_edges() -> None:
    """A lower edge belongs to its bin, 1 to the last; what is no value in [0, 1] to none."""
    values = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0, math.nan, -0.1, 1.1])
    assert histogram(values, bins=4).tolist() == [1, 1, 1, 2]


def test_no_probe_waits_for_the_device() -> None:
    """On torch's device without values whatever would read one fails."""
    pos, neg = torch.empty(4, device="meta"), torch.empty(4, 5, device="meta")
    assert q_b(pos, neg, tau=0.1).shape == (4,)
    assert histogram(pos, bins=20).shape == (20,)
