"""What the ranks of `tests.crew` are asked to do."""

from pathlib import Path
from typing import Any

from torch import Tensor

from bench.ranks import Ranks
from bench.train.loop import Training
from bench.train.sources import open_source
from tests.pretraining import small_cell, weights

Numbers = dict[str, Tensor]


def training_on(ranks: Ranks, method: str, changes: dict[str, Any]) -> Training:
    """Return the training of a small cell."""
    cell = small_cell(method, **changes)
    return Training(cell, open_source(cell, Path(), "cpu"), "cpu", ranks)


def steps(ranks: Ranks, method: str, changes: dict[str, Any], count: int = 2) -> list[Numbers]:
    """Return, after each of some steps, everything that the training holds, and its gradients."""
    training = training_on(ranks, method, changes)
    training.online.train()
    found = []
    for step in range(count):
        training.step(step)
        named = training.online.named_parameters()
        gradients = {f"gradient.{k}": p.grad.clone() for k, p in named if p.grad is not None}
        heads = training.head.state_dict() if training.head else {}
        head = {f"head.{k}": v.clone() for k, v in heads.items()}
        found.append(weights(training) | gradients | head)
    return found


def apart(a: Tensor, b: Tensor) -> float:
    """Return the largest difference in shares of the largest value."""
    a, b = a.double(), b.double()
    scale = max(float(a.abs().max()), float(b.abs().max()), 1e-30) if a.numel() else 1.0
    return float((a - b).abs().max()) / scale if a.numel() else 0.0
