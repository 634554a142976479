"""Interface of the training loop, means over an epoch, and checks of losses."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bench.errors import Diverged
from bench.evaluate.plateau import Plateau
from bench.train.optimisers import rate_of
from bench.train.probes import Probes


class FiniteLosses:
    """Check of each step's loss; the first one that is not finite ends the training.

    On a CPU, losses are checked immediately. On a GPU, they are checked by `check`, before anything
    is written, to avoid synchronisation.
    """

    def __init__(self, device: str, *, at_once: bool) -> None:
        """Begin without a loss."""
        self.at_once = at_once
        self._first = torch.zeros(2, dtype=torch.float64, device=device)  # step from 1; its loss

    def add(self, step: int, loss: Tensor) -> None:
        """Add the loss of a step.

        Args:
            step: step, counted from 0.
            loss: scalar loss.

        Raises:
            Diverged: the loss is checked immediately and not finite.
        """
        if self.at_once:
            _refuse(step + 1, loss.item())
            return
        loss = loss.detach().double()
        pair = torch.stack([torch.full_like(loss, step + 1), loss])
        new = (self._first[0] == 0) & ~loss.isfinite()
        self._first.copy_(torch.where(new, pair, self._first))

    def check(self) -> None:
        """Check all added losses.

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
    """Sums over an epoch; they are a buffer, so they survive a restart."""

    sums: Tensor

    def __init__(
        self, names: Sequence[str], more: Callable[[], dict[str, float]] = lambda: {}
    ) -> None:
        """Take what is summed up of each image, and what more is reported, asked once an epoch."""
        super().__init__()
        self.names, self._more = names, more
        self.register_buffer("sums", torch.zeros(1 + len(names), dtype=torch.float64))

    def add(self, values: Tensor) -> None:
        """Add a batch of values per image, shape (names, N)."""
        self.sums[0] += values.shape[1]
        self.sums[1:] += values.double().sum(dim=1)

    def line(self) -> dict[str, float]:
        """Return the epoch's means over images, with additional values."""
        means = (self.sums[1:] / self.sums[0]).tolist()
        return dict(zip(self.names, means, strict=True)) | self._more()

    def reset(self) -> None:
        """Start an epoch."""
        self.sums.zero_()


class Trainable(ABC):
    """Training state of a cell: everything that its next step depends on.

    `bench.train.loop.train` trains it. `state` returns the content of a checkpoint.
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
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return rate_of(
            self.cell,
            step,
            steps=self.steps,
            steps_an_epoch=self.steps_an_epoch,
            dropped=self.plateau.dropped if self.plateau else 0,
        )

    def descend(self, step: int, loss: Tensor) -> None:
        """Do an optimiser step on a loss.

        Args:
            step: step, counted from 0.
            loss: scalar loss, differentiable in the network's weights.

        Raises:
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """
        self.losses.add(step, loss)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.move(step)

    def move(self, step: int) -> None:
        """Update the weights with their gradients and the step's learning rate."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate(step) * group.get("lr_share", 1.0)
        self.optimiser.step()

    def parts(self) -> dict[str, Any]:
        """Return all objects with state, by name."""
        return {"online": self.online, "optimiser": self.optimiser, "probes": self.probes}

    def state(self) -> dict[str, Any]:
        """Return the state that the next step depends on, and the images' fingerprint."""
        state: dict[str, Any] = {"images": self.fingerprint}
        state |= {name: part.state_dict() for name, part in self.parts().items()}
        return state | ({"plateau": self.plateau.state()} if self.plateau else {})

    def load(self, state: dict[str, Any]) -> None:
        """Restore the result of `state()`."""
        for name, part in self.parts().items():
            part.load_state_dict(state[name])
        if self.plateau is not None:
            self.plateau.load(state["plateau"])
