"""LARS by hand and by a loop; which parameters are spared; what a checkpoint holds."""

import io
import math
import re
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import Optimizer
from torch.testing import assert_close

from bench.networks.encoder import make_encoder
from bench.train.optimisers import LARS, OptimiserName, clip, make_optimiser
from tests.fakes.cells import small_cell, training_of

NAMES: tuple[OptimiserName, ...] = get_args(OptimiserName)


def optimiser(parameters: list[nn.Parameter], **change: Any) -> Optimizer:
    settings: dict[str, Any] = {
        "optimizer": "lars", "lr": 0.5, "momentum": 0.9, "weight_decay": 0.01, "exempt": True,
        "lars_trust": 0.02,
    }  # fmt: skip
    return make_optimiser([(str(i), p) for i, p in enumerate(parameters)], **(settings | change))


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def test_lars_by_hand() -> None:
    """|w| = 5, |g| = 10, r = 0.1 * 5 / (10 + 0.2 * 5) = 1/22; then momentum, then another lr."""
    w = nn.Parameter(torch.tensor([[3.0, 4.0]], dtype=torch.float64))
    lars = LARS([w], lr=2.2, momentum=0.5, weight_decay=0.2, trust=0.1)
    w.grad = torch.tensor([[6.0, 8.0]], dtype=torch.float64)
    lars.step()  # v = 2.2 / 22 * (6.6, 8.8)
    assert_close(w.data, torch.tensor([[2.34, 3.12]], dtype=torch.float64))
    lars.param_groups[0]["lr"] = 1.0
    w.grad = torch.zeros_like(w)
    lars.step()  # |w| = 3.9, r = 0.1 / 0.2; v = (0.33, 0.44) + 0.5 * 0.2 * w
    assert_close(w.data, torch.tensor([[1.776, 2.368]], dtype=torch.float64))


def loop_lars(w: np.ndarray, v: np.ndarray, g: np.ndarray, hyper: dict[str, float]) -> None:
    """arXiv:1708.03888, Alg. 1, element by element where it can be."""
    norm_w, norm_g = float(np.linalg.norm(w)), float(np.linalg.norm(g))
    decay = hyper["decay"]
    below = norm_g + decay * norm_w
    ratio = hyper["trust"] * norm_w / below if below > 0 and norm_w > 0 else 1.0
    ratio = ratio if hyper["adapt"] else 1.0
    for i in np.ndindex(w.shape):
        v[i] = hyper["momentum"] * v[i] + hyper["lr"] * ratio * (g[i] + decay * w[i])
        w[i] -= v[i]


@pytest.mark.parametrize("exempt", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.05])
def test_lars_matches_the_loop(exempt: bool, decay: float) -> None:
    """Weights, biases, a weight of norm 0 and a gradient of norm 0, at a falling rate."""
    starts = [drawn(3, 4), drawn(3), drawn(2, 3, 2, 2), torch.zeros(4, 2).double(), drawn(5, 2)]
    parameters = [nn.Parameter(start.clone()) for start in starts]
    lars = optimiser(parameters, exempt=exempt, weight_decay=decay)
    weights = [start.numpy().copy() for start in starts]
    moments = [np.zeros_like(w) for w in weights]
    for step in range(5):
        for group in lars.param_groups:
            group["lr"] = 0.5 / (step + 1)
        for i, parameter in enumerate(parameters):
            grad = drawn(*parameter.shape, seed=10 * step + i) * (i != 4)
            parameter.grad = grad
            spared = exempt and parameter.ndim == 1
            hyper = {
                "momentum": 0.9, "lr": 0.5 / (step + 1), "trust": 0.02,
                "decay": 0.0 if spared else decay, "adapt": not spared,
            }  # fmt: skip
            loop_lars(weights[i], moments[i], grad.numpy(), hyper)
        lars.step()
    for parameter, weight in zip(parameters, weights, strict=True):
        assert_close(parameter.data, torch.from_numpy(weight), rtol=1e-12, atol=1e-14)


def test_lars_leaves_alone_what_has_no_gradient() -> None:
    still, moving = nn.Parameter(drawn(2, 2)), nn.Parameter(drawn(2, 2))
    lars = LARS([still, moving], lr=0.1)
    moving.grad = drawn(2, 2, seed=1)
    lars.step()
    assert torch.equal(still.data, drawn(2, 2))
    assert not torch.equal(moving.data, drawn(2, 2))


@pytest.mark.parametrize("optimizer", NAMES)
def test_exempt_parameters_do_not_decay(optimizer: OptimiserName) -> None:
    """Without a gradient, decay alone moves a parameter."""
    for exempt in (True, False):
        weight, bias = nn.Parameter(drawn(3, 2)), nn.Parameter(drawn(3))
        weight.grad, bias.grad = torch.zeros_like(weight), torch.zeros_like(bias)
        optimiser([weight, bias], optimizer=optimizer, exempt=exempt).step()
        assert not torch.equal(weight.data, drawn(3, 2))
        assert torch.equal(bias.data, drawn(3)) == exempt


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_sgd_and_both_adams_are_torchs(optimizer: OptimiserName) -> None:
    """A channels-last network, as the loop trains it, against torch's plainest variants."""
    ends = []
    for mine in (True, False):
        net = make_encoder(
            "small", stem="cifar", width=4, bn_groups=1, generator=np.random.default_rng(0)
        ).to(memory_format=torch.channels_last)
        hyper: dict[str, Any] = {"lr": 0.01, "weight_decay": 0.1, "foreach": False}
        if mine:
            made = optimiser(
                list(net.parameters()), optimizer=optimizer, lr=0.01, momentum=0.8,
                weight_decay=0.1, exempt=False,
            )  # fmt: skip
        elif optimizer == "sgd":
            made = torch.optim.SGD(net.parameters(), momentum=0.8, **hyper)
        else:
            adam = torch.optim.Adam if optimizer == "adam" else torch.optim.AdamW
            made = adam(net.parameters(), betas=(0.8, 0.999), **hyper)
        for step in range(3):
            x = drawn(4, 3, 8, 8, seed=step).float().contiguous(memory_format=torch.channels_last)
            made.zero_grad()
            net(x).square().sum().backward()
            made.step()
        ends.append(list(net.parameters()))
    assert_close(ends[0], ends[1], rtol=1e-3, atol=1e-6)


def gradients(weight: torch.Tensor, steps: int) -> list[torch.Tensor]:
    return [torch.empty_like(weight).copy_(drawn(*weight.shape, seed=1 + k)) for k in range(steps)]


def moved(made: Optimizer, weight: nn.Parameter, grads: list[torch.Tensor]) -> torch.Tensor:
    for grad in grads:
        weight.grad = grad.clone()
        made.step()
    return weight.detach()


def test_nesterov_by_its_equation() -> None:
    """v <- m v + g + d w; w <- w - lr (g + d w + m v)."""
    w, v, weight = drawn(3, 2), torch.zeros(3, 2).double(), nn.Parameter(drawn(3, 2))
    grads = gradients(w, 4)
    hyper: dict[str, Any] = {"lr": 0.2, "momentum": 0.7, "weight_decay": 0.05, "exempt": False}
    found = moved(optimiser([weight], optimizer="sgd", nesterov=True, **hyper), weight, grads)
    for g in grads:
        whole = g + 0.05 * w
        v = 0.7 * v + whole
        w = w - 0.2 * (whole + 0.7 * v)
    assert_close(found, w)


def test_adamw_by_its_equations() -> None:
    """arXiv:1711.05101, Algorithm 2: the decay lies outside of the adaptive step."""
    w, weight = drawn(3, 2), nn.Parameter(drawn(3, 2))
    m, v = torch.zeros_like(w), torch.zeros_like(w)
    grads = gradients(w, 4)
    hyper: dict[str, Any] = {"lr": 0.2, "momentum": 0.7, "weight_decay": 0.05, "exempt": False}
    found = moved(optimiser([weight], optimizer="adamw", **hyper), weight, grads)
    for t, g in enumerate(grads, start=1):
        m, v = 0.7 * m + 0.3 * g, 0.999 * v + 0.001 * g.square()
        step = (m / (1 - 0.7**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
        w = w - 0.2 * 0.05 * w - 0.2 * step
    assert_close(found, w)


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("norm", [0.5, 2.5, 100.0])
def test_gradients_are_clipped_as_torch_clips_them(norm: float, each: bool) -> None:
    ours, torchs = ([nn.Parameter(drawn(*s)) for s in ((3, 2), (4,), (2,))] for _ in range(2))
    for weights in (ours, torchs):
        for k, weight in enumerate(weights[:2]):  # the last one has no gradient
            weight.grad = drawn(*weight.shape, seed=k) / (1 + k)
    clip(optimiser(ours), norm, each=each)
    for group in [[weight] for weight in torchs] if each else [torchs]:
        nn.utils.clip_grad_norm_(group, norm)
    assert_close([w.grad for w in ours[:2]], [w.grad for w in torchs[:2]])
    assert ours[2].grad is None


@pytest.mark.parametrize("optimizer", NAMES)
def test_weight_decay_may_change_at_any_step(optimizer: OptimiserName) -> None:
    ends = []
    for begun_with in (0.5, 0.01):
        weight, bias = nn.Parameter(drawn(3, 2)), nn.Parameter(drawn(2))
        made = optimiser([weight, bias], optimizer=optimizer, weight_decay=begun_with, exempt=False)
        for group in made.param_groups:
            group["weight_decay"] = 0.5
        for k, parameter in enumerate((weight, bias)):
            parameter.grad = drawn(*parameter.shape, seed=k)
        made.step()
        ends.append([weight, bias])
    assert_close(ends[0], ends[1])


@pytest.mark.slow
def test_weight_decay_goes_by_a_cosine_but_for_what_is_exempt() -> None:
    changes = {"exempt": True, "weight_decay": 0.1, "weight_decay_end": 0.4}
    training = training_of(small_cell("simclr", **changes))
    decays = []
    for step in range(training.steps):
        training.step(step)
        decays.append([group["weight_decay"] for group in training.optimiser.param_groups])
    shares = [(math.cos(math.pi * k / training.steps) + 1) / 2 for k in range(training.steps)]
    assert decays == [[pytest.approx(0.4 - 0.3 * share), 0.0] for share in shares]


@pytest.mark.parametrize("shape", [(8, 3, 3, 3), (4, 30), (30, 4)])
def test_muon_moves_by_a_nearly_orthogonal_matrix(shape: tuple[int, ...]) -> None:
    """In the singular vectors of the first gradient its step is diagonal, between 0.6 and 1.3.

    These are the bounds of five steps with the published coefficients; bfloat16 adds 0.03.
    """
    weight = nn.Parameter(drawn(*shape).float())
    (grad,) = gradients(weight.detach(), 1)
    moved(optimiser([weight], optimizer="muon", lr=0.5, weight_decay=0.0), weight, [grad])
    rows, columns = shape[0], weight.numel() // shape[0]
    step = (drawn(*shape).float() - weight.detach()).flatten(1)
    step /= 0.5 * max(1.0, rows / columns) ** 0.5
    u, _, vh = torch.linalg.svd(grad.flatten(1), full_matrices=False)
    within = u.T @ step @ vh.T
    assert within.diag().min() > 0.6
    assert within.diag().max() < 1.3
    assert_close(within - within.diag().diag(), torch.zeros_like(within), rtol=0, atol=0.03)
    assert_close(u @ within @ vh, step, rtol=0, atol=0.03)  # nothing outside of their span


def test_muon_is_torchs_on_the_weight_as_a_matrix() -> None:
    convolution, matrix = (
        nn.Parameter(drawn(8, 3, 3, 3)),
        nn.Parameter(drawn(8, 3, 3, 3).flatten(1)),
    )
    grads = gradients(convolution.detach(), 3)
    hyper: dict[str, Any] = {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.02}
    found = moved(optimiser([convolution], optimizer="muon", **hyper), convolution, grads)
    plain = moved(torch.optim.Muon([matrix], **hyper), matrix, [g.flatten(1) for g in grads])
    assert torch.equal(found.flatten(1), plain)


def test_muon_moves_a_channels_last_convolution_alike() -> None:
    """The order of a matrix's columns changes bfloat16's rounding alone."""
    weights = [nn.Parameter(drawn(8, 3, 3, 3).float()), nn.Parameter(drawn(8, 3, 3, 3).float())]
    weights[1].data = weights[1].data.contiguous(memory_format=torch.channels_last)
    ends = [
        moved(optimiser([w], optimizer="muon", lr=0.1), w, gradients(w.detach(), 3))
        for w in weights
    ]
    assert not weights[1].is_contiguous()
    assert_close(ends[0], ends[1].contiguous(), rtol=0, atol=0.01)


def test_with_muon_vectors_move_by_sgd_at_half_the_rate() -> None:
    weight, bias, alone = (nn.Parameter(drawn(*shape)) for shape in ((3, 2), (3,), (3,)))
    made = optimiser([weight, bias], optimizer="muon", lr=0.2, exempt=False)
    weight.grad = torch.ones_like(weight)
    grads = gradients(bias.detach(), 3)
    sgd = torch.optim.SGD([alone], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
    assert torch.equal(moved(made, bias, grads), moved(sgd, alone, grads))


@pytest.mark.parametrize("optimizer", NAMES)
def test_state_goes_through_a_file_bit_for_bit(optimizer: OptimiserName) -> None:
    """Saved and loaded with weights only, channels-last moments keep their places."""

    def begin() -> tuple[list[nn.Parameter], Optimizer]:
        weight = drawn(4, 3, 3, 3).float().contiguous(memory_format=torch.channels_last)
        parameters = [nn.Parameter(weight), nn.Parameter(drawn(4).float())]
        return parameters, optimiser(parameters, optimizer=optimizer, lr=0.01)

    def go(parameters: list[nn.Parameter], made: Optimizer, steps: range) -> None:
        for step in steps:
            for p in parameters:
                grad = drawn(*p.shape, seed=step).float()
                p.grad = torch.empty_like(p).copy_(grad)
            made.step()

    whole, straight = begin()
    go(whole, straight, range(6))
    stopped, first = begin()
    go(stopped, first, range(3))
    file = io.BytesIO()
    torch.save({"weights": [p.data for p in stopped], "state": first.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    resumed, second = begin()
    for p, weight in zip(resumed, saved["weights"], strict=True):
        p.data.copy_(weight)
    second.load_state_dict(saved["state"])
    go(resumed, second, range(3, 6))
    for p, expected in zip(resumed, whole, strict=True):
        assert torch.equal(p, expected)


def test_closure_is_evaluated_with_gradients() -> None:
    w = nn.Parameter(drawn(2, 2))
    lars = LARS([w], lr=0.1)

    def closure() -> float:
        lars.zero_grad()
        loss = w.square().sum()
        loss.backward()
        return loss.item()

    assert lars.step(closure) == pytest.approx(drawn(2, 2).square().sum().item())
    assert not torch.equal(w.data, drawn(2, 2))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"momentum": 1.0},
            "the optimizer needs lr >= 0, 0 <= momentum < 1 and weight_decay >= 0, "
            "found 0.5, 1.0 and 0.01",
        ),
        ({"lars_trust": 0.0}, "trust must be above 0, found 0.0"),
    ],
)
def test_arguments_out_of_their_domain(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        optimiser([nn.Parameter(drawn(2, 2))], **change)


@pytest.mark.parametrize("optimizer", NAMES)
def test_no_parameters(optimizer: OptimiserName) -> None:
    with pytest.raises(ValueError, match=r"^optimizer got an empty parameter list$"):
        optimiser([], optimizer=optimizer)


@pytest.mark.parametrize(
    ("optimizer", "changes", "share"),
    [
        ("lars", {"lr_bias": 0.1, "exempt": True}, 0.25),
        ("muon", {"lr_bias": 0.1}, 0.25),
        ("muon", {"lr_bias": 0.1, "exempt": True}, 0.25),
        ("muon", {"lr_bias": 0.4}, 1.0),
        ("muon", {}, 0.5),
    ],
)
def test_biases_and_batch_norm_have_a_rate_of_their_own(
    optimizer: str, changes: dict[str, Any], share: float
) -> None:
    training = training_of(small_cell(optimizer=optimizer, lr=0.4, **changes))
    training.step(0)
    training.step(1)
    rates = {
        parameter.ndim <= 1: group["lr"] / training.rate(1)
        for group in training.optimiser.param_groups
        for parameter in group["params"]
    }
    assert rates == pytest.approx({True: share, False: 1.0})
