"""What the loop drives: something that trains step by step."""

from typing import Any, Protocol

from torch import nn

from bench.evaluate.plateau import Plateau
from bench.train.finite import FiniteLosses


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
