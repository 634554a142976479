"""The step of static shapes, traced on a device without values: the host never waits for it."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from bench.cells.step_kinds import why_no_graph
from bench.methods.objectives import Pair
from bench.train.static_step import StaticTraining
from tests.fakes.cells import METHODS, small_cell, static_training_of
from tests.fakes.tracing import HostWaits, warm_up, watched, without_values

MOST_UNSETTLED = 12  # steps after which no method's host decides anything new, but while it anneals

RECORDED = [m for m in METHODS if why_no_graph(small_cell(m), streamed=False) is None]


def settled(method: str, **changes: Any) -> tuple[StaticTraining, float]:
    """Return a training late enough that steps are recorded, and how much of it is done."""
    training = static_training_of(small_cell(method, batch_size=8, epochs=3, **changes))
    training.online.train()
    last = training.steps - 1
    begun = last - MOST_UNSETTLED if training.cell.loss in ("ir", "la") else last - 1
    for step in range(begun, training.steps):
        training.step(step)
    done = last / training.steps_an_epoch
    assert training.method.decided(done) == training.method.decided(last + 0.5)
    return training, done


@pytest.mark.parametrize("method", RECORDED)
def test_the_host_never_waits_for_a_step(method: str) -> None:
    training, done = settled(method)
    with without_values(training):
        warm_up(training, done)
        assert watched(training, done) > 100


FURTHER: dict[str, tuple[str, dict[str, Any]]] = {
    "published views": ("simclr", {"views": "simclr", "optimizer": "lars", "exempt": True}),
    "accumulated, drawn": ("simclr", {"N": 16, "K": 3, "optimizer": "adam"}),
    "lab views": ("simclr", {"views": "lab-filters", "online_linear": True}),
    "cutmix, two sizes": (
        "unigrad", {"cutmix": True, "negative_branch": "target"},
    ),
    "multi-crop, resized": (
        "unigrad",
        {
            "views": "multi-crop", "local_size": 6, "negative_branch": "target", "resized_to": 12,
        },
    ),
    "two dictionaries, rising momentum": (
        "moco-v2",
        {
            "loss": "dual-temperature", "tau_beta": 0.2, "K_scalar": 8, "scalar_size": 60,
            "scalar_drawn": "random", "momentum_schedule": "cosine", "bn": "shuffling",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("method", "changes"), FURTHER.values(), ids=FURTHER)
def test_so_it_is_with_every_option(method: str, changes: dict[str, Any]) -> None:
    training, done = settled(method, **changes)
    with without_values(training):
        warm_up(training, done)
        assert watched(training, done) > 100


DEFECTS: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "item": (lambda loss_N: loss_N.mean().item(), "_local_scalar_dense is waited for"),
    "bool": (lambda loss_N: bool(loss_N.max() > 0), "_local_scalar_dense is waited for"),
    "cpu": (lambda loss_N: loss_N.cpu(), "_to_copy copies from the device to the host"),
    "nonzero": (lambda loss_N: loss_N.nonzero(), "nonzero is waited for"),
    "mask": (lambda loss_N: loss_N[loss_N > 0], "index is waited for"),
    "host tensor": (lambda loss_N: loss_N * torch.ones(()), "mul takes a tensor of the host"),
    "sent": (lambda loss_N: torch.ones(3).to(loss_N.device), "_to_copy copies from the host"),
    "constant": (
        lambda loss_N: torch.tensor([1.0], device=loss_N.device),
        "lift_fresh copies from the host",
    ),
    "decomposition": (
        lambda loss_N: torch.linalg.eigh(torch.outer(loss_N, loss_N)),
        "_linalg_eigh",
    ),
}


@pytest.mark.parametrize(("defect", "told"), DEFECTS.values(), ids=DEFECTS)
def test_the_watch_sees_a_defect(defect: Callable[[Tensor], Any], told: str) -> None:
    training, done = settled("simclr")
    objective = training.method.objective

    def with_defect(pair: Pair) -> Tensor:
        loss_N = objective(pair)
        defect(loss_N.detach())
        return loss_N

    with without_values(training):
        warm_up(training, done)
        object.__setattr__(training.method, "objective", with_defect)
        with pytest.raises(HostWaits, match=f"^{told}"):
            watched(training, done)


def test_a_method_that_cannot_be_recorded_is_seen() -> None:
    """What `why_no_graph` refuses by its settings, the watch finds in the step."""
    cell = small_cell("directpred", batch_size=8)
    with patch("bench.train.static_step.why_no_graph", return_value=None):
        training = static_training_of(cell)
    training.online.train()
    training.step(0)
    with pytest.raises((HostWaits, RuntimeError)), without_values(training):
        watched(training, 1.0)
