"""What the training loop drives, and the check that its losses are finite."""

import math
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from bench.errors import Diverged
from bench.evaluate.plateau import Plateau


class FiniteLosses:
    """Takes note of each step's loss; the first that is not finite ends the training.

    Read at once, where that costs nothing. On a GPU, which would be waited for, it is read when
    `check` is asked: before anything of the training is written.
    """

    def __init__(self, device: str, *, at_once: bool) -> None:
        """Begin without a loss."""
        self.at_once = at_once
        self._first = torch.zeros(2, dtype=torch.float64, device=device)  # step from 1; its loss

    def add(self, step: int, loss: Tensor) -> None:
        """Take note of the loss of a step.

        Args:
            step: counted from 0.
            loss: a scalar.

        Raises:
            Diverged: it is read at once, and not finite.
        """
        if self.at_once:
            _refuse(step + 1, loss.item())
            return
        loss = loss.detach().double()
        pair = torch.stack([torch.full_like(loss, step + 1), loss])
        new = (self._first[0] == 0) & ~loss.isfinite()
        self._first.copy_(torch.where(new, pair, self._first))

    def check(self) -> None:
        """Read what was taken note of.

        Raises:
            Diverged: a loss was not finite.
        """
        if not self.at_once:
            step, value = self._first.tolist()
            _refuse(int(step), value)


def _refuse(step: int, value: float) -> None:
    if not math.isfinite(value):
        raise Diverged(f"step {step}: loss is {value}")


class Epoch(Protocol):
    """What is recorded of an epoch."""

    def line(self) -> dict[str, float]:
        """Return means and the like, by name."""

    def reset(self) -> None:
        """Begin an epoch."""


class Trainable(Protocol):
    """What the loop drives: something that trains step by step and has a state."""

    cell: Any  # its `epochs` are read, with a watch its `knn_every_epochs`
    device: str
    fingerprint: str  # of the images
    steps: int
    steps_an_epoch: int
    plateau: Plateau | None
    losses: FiniteLosses

    @property
    def online(self) -> nn.Module:
        """The network that learns."""

    @property
    def probes(self) -> Epoch:
        """What is recorded."""

    def step(self, step: int) -> None:
        """Do one optimiser step."""

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on."""

    def load(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
