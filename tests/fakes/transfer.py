"""What tests of experiments on encoders do: compute cells, take steps, see what learnt."""

from pathlib import Path

import torch
from torch import Tensor, nn

from bench.cells.pretrain import EncoderCell
from bench.experiments import EXPERIMENTS, Outcome, Result
from bench.results.store import Store
from bench.train.trainable import Trainable


def run(root: Path, *cells: EncoderCell) -> list[Outcome]:
    folders = Store(root).folders(list(cells), root / "sets")
    for folder in folders:
        folder.path.mkdir(parents=True, exist_ok=True)
    return EXPERIMENTS[cells[0].experiment](cells, folders, "cpu")


def result(root: Path, cell: EncoderCell) -> Result:
    (found,) = run(root, cell)
    assert isinstance(found, Result), found
    return found


def moved(before: dict[str, Tensor], after: nn.Module) -> set[str]:
    return {k for k, value in after.state_dict().items() if not torch.equal(value, before[k])}


def after_steps(training: Trainable, steps: int) -> dict[str, Tensor]:
    """Return the weights before, and do some steps as the loop does."""
    before = {k: v.clone() for k, v in training.online.state_dict().items()}
    training.online.train()
    for step in range(steps):
        training.step(step)
    return before
