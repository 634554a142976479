"""The objectives in `examples/losses` are those of their papers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pytorch_metric_learning.losses import SupConLoss
from scipy.special import log_expit
from torch import Tensor

from bench.loss_files import read_loss_file
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.embeddings import two_views
from tests.fakes.paths import ROOT

FOLDER = ROOT / "examples" / "losses"
LABELS = torch.tensor([0, 1, 0, 2, 1, 0])
LEARNED = {"log_scale": torch.tensor(1.5), "bias": torch.tensor(-2.0)}


def function(name: str) -> Callable[..., Tensor]:
    names: dict[str, Any] = {}
    exec((FOLDER / f"{name}.py").read_text(), names)
    found: Callable[..., Tensor] = names[name]
    return found


@pytest.fixture(params=[(torch.float32, 1e-6), (torch.float64, 1e-10)], ids=["float32", "float64"])
def views(request: pytest.FixtureRequest) -> tuple[Tensor, Tensor, float]:
    dtype, tolerance = request.param
    query, key = (view.detach().to(dtype) for view in two_views(6, 4))
    return query, key, tolerance


def test_siglip_is_its_equation(views: tuple[Tensor, Tensor, float]) -> None:
    query, key, tolerance = views
    learned = {name: value.to(query.dtype) for name, value in LEARNED.items()}
    mean = function("siglip")(query, key, **learned).mean()
    x, y = query.double().numpy(), key.double().numpy()
    total = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            z = 1 if i == j else -1
            total -= log_expit(z * (np.exp(1.5) * x[i] @ y[j] - 2.0))
    assert mean.item() == pytest.approx(total / len(x), rel=tolerance)


def test_supcon_is_that_of_pytorch_metric_learning(views: tuple[Tensor, Tensor, float]) -> None:
    query, key, tolerance = views
    loss = function("supcon")
    both = torch.cat([loss(query, key, LABELS, 0.3), loss(key, query, LABELS, 0.3)])
    theirs = SupConLoss(temperature=0.3)(torch.cat([query, key]), LABELS.repeat(2))
    assert both.mean().item() == pytest.approx(theirs.item(), rel=tolerance)


def test_their_gradients_are_those_of_finite_differences() -> None:
    query, key = two_views(5, 3)
    log_scale, bias = (value.double().requires_grad_() for value in LEARNED.values())
    assert torch.autograd.gradcheck(function("siglip"), (query, key, log_scale, bias))
    supcon = function("supcon")
    assert torch.autograd.gradcheck(lambda q, k: supcon(q, k, LABELS[:5], 0.3), (query, key))


def test_siglip_begins_as_its_paper_says() -> None:
    learned = read_loss_file(FOLDER / "siglip.yaml").declared.learned
    starts = {name: one.start for name, one in learned.items()}
    assert starts == {"log_scale": np.log(10), "bias": -10}


def test_each_example_is_in_a_suite_that_is_one() -> None:
    path = ROOT / "examples" / "own-losses.yaml"
    losses = [cell.settings["loss"] for cell in expand(load_suite(path), "smoke", path)]
    assert set(losses) >= {file.stem for file in FOLDER.glob("*.yaml")}
