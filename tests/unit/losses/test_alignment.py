"""Alignment and uniformity by loops and by hand, as a loss and as metrics, beside DCL."""

import math
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from bench.losses import align, align_uniform, alignment, dcl, uniformity


def unit(n: int, d: int = 5, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(
        torch.randn(n, d, dtype=torch.float64, generator=generator), dim=1
    )


def loop_align(a: Tensor, b: Tensor, alpha: float) -> float:
    distances = [math.dist(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    return sum(float(d**alpha) for d in distances) / len(a)


def loop_uniformity(x: Tensor, t: float) -> float:
    points = x.tolist()
    potentials = [
        math.exp(-t * math.dist(p, q) ** 2)
        for i, p in enumerate(points)
        for j, q in enumerate(points)
        if i != j
    ]
    return math.log(sum(potentials) / len(potentials))


@pytest.mark.parametrize(("alpha", "t"), [(2.0, 2.0), (1.0, 0.5), (3.0, 7.0)])
def test_mean_of_the_loss_is_the_objective(alpha: float, t: float) -> None:
    a, b = unit(7, seed=1), unit(7, seed=2)
    loss = align_uniform(
        a, b, align_alpha=alpha, uniform_t=t, align_weight=0.98, uniform_weight=0.96
    )
    both = (loop_uniformity(a, t) + loop_uniformity(b, t)) / 2
    assert loss.shape == (7,)
    assert loss.mean().item() == pytest.approx(0.98 * loop_align(a, b, alpha) + 0.96 * both)
    first = 0.98 * math.dist(a[0].tolist(), b[0].tolist()) ** alpha + 0.96 * both
    assert loss[0].item() == pytest.approx(first)


@pytest.mark.parametrize("t", [2.0, 3.0])
def test_with_a_queue_pairs_with_its_keys_count_and_those_within(t: float) -> None:
    """arXiv:2005.10242, Eq. 18, in loops: each pair of the batch once."""
    a, b, queue = unit(5, seed=1), unit(5, seed=2), unit(8, seed=3)
    loss = align_uniform(
        a, b, uniform_t=t, align_weight=3.0, uniform_weight=0.7, queued_NK=a @ queue.T
    )
    pairs = [(x, y) for x in a.tolist() for y in queue.tolist()]
    pairs += [(x, y) for i, x in enumerate(a.tolist()) for y in a.tolist()[i + 1 :]]
    potentials = [math.exp(-t * math.dist(x, y) ** 2) for x, y in pairs]
    expected = 3 * loop_align(a, b, 2.0) + 0.7 * math.log(sum(potentials) / len(potentials))
    assert loss.shape == (5,)
    assert loss.mean().item() == pytest.approx(expected)


def test_gradient() -> None:
    a, b = (unit(5, seed=s).requires_grad_() for s in (1, 2))
    assert torch.autograd.gradcheck(
        lambda x, y: align_uniform(x, y, align_weight=1.0, uniform_weight=0.5), (a, b)
    )


@pytest.mark.parametrize("alpha", [1.0, 2.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_finite_where_all_points_are_one(alpha: float, dtype: torch.dtype) -> None:
    """Distance 0 between views and between images: alignment 0, uniformity 0, no gradient."""
    a, b = (torch.tensor([[0.6, 0.8]] * 3, dtype=dtype).requires_grad_() for _ in range(2))
    loss = align_uniform(a, b, align_alpha=alpha, align_weight=1.0, uniform_weight=1.0)
    loss.mean().backward()
    assert loss.dtype == torch.float32
    assert_close(loss, torch.zeros(3), atol=1e-6, rtol=0)
    for x in (a, b):
        assert x.grad is not None
        assert_close(x.grad, torch.zeros_like(x), atol=1e-2, rtol=0)


def test_stacked_cells_are_apart() -> None:
    a, b = unit(12, seed=1).reshape(2, 6, 5), unit(12, seed=2).reshape(2, 6, 5)
    stacked = align_uniform(a, b, align_weight=1.0, uniform_weight=2.0)
    for i in range(2):
        assert_close(stacked[i], align_uniform(a[i], b[i], align_weight=1.0, uniform_weight=2.0))


def test_metrics_by_hand() -> None:
    """Opposite points: distance 2. Orthogonal ones: squared distance 2."""
    poles = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    assert uniformity(poles, t=2.0).item() == pytest.approx(-8)
    assert uniformity(torch.eye(5), t=3.0).item() == pytest.approx(-6)
    assert align(poles, poles.flip(0)).item() == pytest.approx(4)
    assert align(poles, poles.flip(0), alpha=3.0).item() == pytest.approx(8)


@pytest.mark.parametrize("block", [1, 4, 5, 10, 100])
def test_uniformity_by_tiles_is_the_loop(block: int) -> None:
    x = unit(10)
    assert uniformity(x, t=2.0, block=block).item() == pytest.approx(loop_uniformity(x, 2.0))


def test_no_matrix_is_larger_than_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []

    def seen(real: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
        shapes.append(tuple(real(x, y).shape))
        return real(x, y)

    real = alignment.squared_distances
    monkeypatch.setattr(alignment, "squared_distances", lambda x, y: seen(real, x, y))
    uniformity(unit(25), block=10)
    assert sorted(set(shapes)) == [(5, 5), (10, 5), (10, 10)]
    assert len(shapes) == 6


def test_autocast_does_not_narrow_distances() -> None:
    x = unit(40).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = align_uniform(x, x, align_weight=0.0, uniform_weight=1.0)
    assert_close(found, align_uniform(x, x, align_weight=0.0, uniform_weight=1.0))


def test_narrow_embeddings_are_computed_wide() -> None:
    a, b = (unit(40, seed=s).bfloat16() for s in (1, 2))
    for measure in (
        lambda x, y: align_uniform(x, y, align_weight=1.0, uniform_weight=1.0),
        lambda x, _: uniformity(x).float(),
        align,
    ):
        assert_close(measure(a, b), measure(a.float(), b.float()), rtol=1e-6, atol=0)


def test_exponentials_of_cosine_and_of_distance() -> None:
    """exp-equivalence: the same up to a factor at half the temperature, not at the same one."""
    a, b = unit(6, seed=1), unit(6, seed=2)
    pos, neg = (a * b).sum(dim=1), a @ b.roll(1, dims=0).T
    far_pos, far_neg = (a - b).square().sum(dim=1), torch.cdist(a, b.roll(1, dims=0)).square()
    by_distance = dcl(-far_pos, -far_neg, tau=0.4)
    assert_close(by_distance, dcl(pos, neg, tau=0.2))
    assert not torch.allclose(by_distance, dcl(pos, neg, tau=0.4), atol=0.1)


def test_uniformity_couples_anchors_and_dcl_does_not() -> None:
    """negative-negative-coupling: three points, tau = 1 (t = 1/2), points 0 and 1 drawn together.

    The weight of <x_2, x_1> in the gradient of anchor 2 falls in eq-a5-uniform-n3 (read off the
    component that x_1 alone has), and stays 1/2 in eq-a5-dclneg-n3.
    """

    def sizes(angle: float) -> tuple[float, float]:
        x = torch.eye(3, dtype=torch.float64)
        x[1] = torch.tensor([math.cos(angle), math.sin(angle), 0], dtype=x.dtype)
        x.requires_grad_()
        loss = align_uniform(x, x, uniform_t=0.5, align_weight=0.0, uniform_weight=1.0)
        (uniform,) = torch.autograd.grad(loss.mean(), x)
        sim = x @ x.T
        own = torch.eye(3, dtype=torch.bool)
        rows = dcl(torch.zeros(3), sim.masked_fill(own, -torch.inf), tau=1.0)
        (decoupled,) = torch.autograd.grad(rows.sum(), sim)
        return uniform[2, 1].item() / math.sin(angle), decoupled[2, 1].item()

    apart, together = sizes(math.pi / 2), sizes(0.1)
    assert together[0] / apart[0] == pytest.approx(3 / (2 + math.exp(math.cos(0.1))), rel=1e-9)
    assert together[1] == pytest.approx(1 / 2)
    assert apart[1] == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: align(x, x, alpha=0.5), "alpha must be at least 1, found 0.5"),
        (
            lambda x: align(x, x[:2]),
            "both tensors must have the same shape (..., N, D), found (3, 5) and (2, 5)",
        ),
        (lambda x: uniformity(x, t=0.0), "t must be above 0, found 0.0"),
        (
            lambda x: uniformity(x[:1]),
            "the features must have a shape (..., N, D) with N >= 2, found (1, 5)",
        ),
        (
            lambda x: align_uniform(x[:1], x[:1], align_weight=1.0, uniform_weight=1.0),
            "the features must have a shape (..., N, D) with N >= 2, found (1, 5)",
        ),
    ],
)
def test_arguments_out_of_their_domain(call: Callable[[Tensor], Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(unit(3))
