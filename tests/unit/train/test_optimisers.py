"""LARS by hand and by a loop; which parameters are spared; what a checkpoint holds."""

import io
import re
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import Optimizer
from torch.testing import assert_close

from bench.networks.encoder import make_encoder
from bench.train.optimisers import LARS, OptimiserName, make_optimiser
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


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_sgd_and_adam_are_torchs(optimizer: OptimiserName) -> None:
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
            made = torch.optim.Adam(net.parameters(), betas=(0.8, 0.999), **hyper)
        for step in range(3):
            x = drawn(4, 3, 8, 8, seed=step).float().contiguous(memory_format=torch.channels_last)
            made.zero_grad()
            net(x).square().sum().backward()
            made.step()
        ends.append(list(net.parameters()))
    assert_close(ends[0], ends[1], rtol=1e-3, atol=1e-6)


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
        ({"optimizer": "adamw"}, "optimizer must be one of sgd, lars, adam, found 'adamw'"),
        (
            {"momentum": 1.0},
            "needs lr >= 0, 0 <= momentum < 1 and weight_decay >= 0, found 0.5, 1.0 and 0.01",
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


def test_biases_and_batch_norm_have_a_rate_of_their_own() -> None:
    training = training_of(small_cell(optimizer="lars", lr=0.4, lr_bias=0.1, exempt=True))
    training.step(0)
    training.step(1)
    rates = {
        parameter.ndim <= 1: group["lr"] / training.rate(1)
        for group in training.optimiser.param_groups
        for parameter in group["params"]
    }
    assert rates == pytest.approx({True: 0.25, False: 1.0})
