"""What the training loop drives, its means over an epoch, and the check of its losses."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bench.errors import Diverged
from bench.evaluate.plateau import Plateau
from bench.train.probes import Probes


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


class EpochMeans(nn.Module):
    """Sums over an epoch; they are a buffer, and so go on after a stop."""

    sums: Tensor

    def __init__(
        self, names: Sequence[str], more: Callable[[], dict[str, float]] = lambda: {}
    ) -> None:
        """Take what is summed up of each image, and what more is reported, asked once an epoch."""
        super().__init__()
        self.names, self._more = names, more
        self.register_buffer("sums", torch.zeros(1 + len(names), dtype=torch.float64))

    def add(self, values: Tensor) -> None:
        """Take note of a batch: what is summed up of its images, shape (names, N)."""
        self.sums[0] += values.shape[1]
        self.sums[1:] += values.double().sum(dim=1)

    def line(self) -> dict[str, float]:
        """Return the epoch's means over images, and what more is reported now."""
        means = (self.sums[1:] / self.sums[0]).tolist()
        return dict(zip(self.names, means, strict=True)) | self._more()

    def reset(self) -> None:
        """Begin an epoch."""
        self.sums.zero_()


class Trainable(ABC):
    """A cell in the middle of its training: all that its next step depends on.

    What `bench.train.loop.train` drives. Of its parts, `state` returns what goes into a checkpoint.
    """

    cell: Any  # its `epochs` are read, with a watch its `knn_every_epochs`
    device: str
    fingerprint: str  # of the images
    steps: int
    steps_an_epoch: int
    losses: FiniteLosses
    optimiser: Optimizer
    online: nn.Module
    """The network that learns."""
    probes: EpochMeans | Probes
    """What is recorded."""
    plateau: Plateau | None = None
    """When the learning rate drops because accuracy does not improve; None: never."""

    @abstractmethod
    def step(self, step: int) -> None:
        """Do one optimiser step.

        Raises:
            Diverged: the loss is read at once and not finite; the weights are as they were before.
        """

    @abstractmethod
    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""

    def descend(self, step: int, loss: Tensor) -> None:
        """Do an optimiser step on a loss.

        Args:
            step: counted from 0.
            loss: a scalar, differentiable in the network's weights.

        Raises:
            Diverged: the loss is read at once and not finite; the weights are as they were before.
        """
        self.losses.add(step, loss)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.move(step)

    def move(self, step: int) -> None:
        """Move the weights by their gradients, at the step's learning rate."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate(step) * group.get("lr_share", 1.0)
        self.optimiser.step()

    def parts(self) -> dict[str, Any]:
        """Return everything with a state, by name."""
        return {"online": self.online, "optimiser": self.optimiser, "probes": self.probes}

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on, and the images' fingerprint."""
        state: dict[str, Any] = {"images": self.fingerprint}
        state |= {name: part.state_dict() for name, part in self.parts().items()}
        return state | ({"plateau": self.plateau.state()} if self.plateau else {})

    def load(self, state: dict[str, Any]) -> None:
        """Restore `state()`."""
        for name, part in self.parts().items():
            part.load_state_dict(state[name])
        if self.plateau is not None:
            self.plateau.load(state["plateau"])
