"""The written-out step against autograd, and a cell that diverges."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from bench.cells.toys import GaussianMI
from bench.data.streams import Purpose
from bench.experiments.gaussian_mi import Critics, run
from bench.losses import in_batch, infonce, infonce_gradient_in_batch
from bench.results.folder import CellFolder

SMALL: dict[str, Any] = {
    "experiment": "gaussian-mi",
    "d": 20,
    "K": 16,
    "steps": 200,
    "optimizer": "adam",
    "lr": 5e-4,
    "eval_repeats": 5,
    "hidden_layers": 1,
    "hidden_units": 32,
    "activation": "relu",
    "embedding_dim": 16,
    "output_relu": True,
    "tau": 1.0,
    "margin_count": "negatives",
    "bound_constant": "one-plus-alpha",
}


def make_cells(**changes: Any) -> list[GaussianMI]:
    return [
        GaussianMI(
            **(SMALL | {"mi_true": mi, "loss": loss, "alpha": alpha, "seed": seed} | changes)
        )
        for seed in (0, 1)
        for mi in (2.0, 10.0)
        for loss, alpha in (("infonce", None), ("eqco", 512.0))
    ]


def folders(root: Path, cells: list[GaussianMI]) -> list[CellFolder]:
    made = [CellFolder(root / cell.id) for cell in cells]
    for folder in made:
        folder.path.mkdir(parents=True)
    return made


@pytest.mark.parametrize("output_relu", [True, False])
@pytest.mark.parametrize("tau", [1.0, 0.1])
def test_backward_is_autograds(output_relu: bool, tau: float) -> None:
    critics = Critics(make_cells(output_relu=output_relu, tau=tau), "cpu")
    x = critics.inputs(Purpose.TRAIN, 0)
    out = critics.net(x)
    sim = out[: len(critics.cells)] @ out[len(critics.cells) :].mT
    pos, neg = in_batch(sim)
    loss = infonce(pos, neg, tau=tau, margin=critics.margin).mean(dim=1).sum()
    expected = torch.autograd.grad(loss, list(critics.net.parameters()))

    with torch.no_grad():
        grad = infonce_gradient_in_batch(critics.similarities(x), critics.margin, tau=tau)
        critics.backward(x, grad)
    for parameter, gradient in zip(critics.net.parameters(), expected, strict=True):
        assert_close(parameter.grad, gradient, rtol=2e-4, atol=2e-6)


def test_a_cell_that_diverges_harms_no_neighbour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = make_cells()
    whole = run(cells, folders(tmp_path / "whole", cells), "cpu")
    inputs = Critics.inputs

    def torn_inputs(self: Critics, purpose: Purpose, step: int) -> torch.Tensor:
        x = inputs(self, purpose, step)
        if purpose == Purpose.TRAIN and step == 120:
            x[2] = torch.inf
        return x

    monkeypatch.setattr(Critics, "inputs", torn_inputs)
    outcomes = run(cells, folders(tmp_path / "torn", cells), "cpu")
    assert str(outcomes[2]) == "step 200: mi_lower_bound is nan"
    assert [o for i, o in enumerate(outcomes) if i != 2] == [
        o for i, o in enumerate(whole) if i != 2
    ]
