"""The step of `pretrain` on tensors of static shapes, which the host does not wait for.

It computes what the plain step computes, from the same draws. Numbers that the plain step takes
from the host (which images, the parameters of their views, which negatives, learning rate and
momentum) lie on the device, and nothing is read back within an epoch. The flag of a loss that is
not finite keeps SGD and Adam from moving; the loop reads it after an epoch and before a checkpoint.
LARS has no such flag: of its weights nothing is written then.

What the host does between steps: clusters of a bank, once an epoch. What it reads: the normaliser
of a bank, once its first batches are over, and checkpoints.
"""

from typing import Any

import torch
from torch import Tensor

from bench.cells.pretrain import Pretrain
from bench.cells.step_kinds import why_no_graph
from bench.environment import StepKind
from bench.errors import DataFailure
from bench.train.batches import Turn
from bench.train.drawing import Drawing
from bench.train.feeding import Feeding
from bench.train.finite import FiniteLosses
from bench.train.graphs import Recorded
from bench.train.loop import Training
from bench.train.sources import InMemory, Source


class StaticTraining(Training):
    """A training whose steps are recorded as a CUDA graph where there is a GPU."""

    step_kind: StepKind = "graph"

    def __init__(self, cell: Pretrain, source: Source, device: str) -> None:
        """Initialise as `Training` does, alone.

        Raises:
            DataFailure: the step of this cell cannot be recorded.
        """
        why = why_no_graph(cell, streamed=not isinstance(source, InMemory))
        if why is not None or not isinstance(source, InMemory):
            raise DataFailure(f"BENCH_STEP=graph: {why}")
        super().__init__(cell, source, device)
        self.losses = FiniteLosses(device, at_once=False)
        self.drawing = Drawing(cell, self.batches, source)
        self.feeding = Feeding(self.drawing, self._of_step, self.steps, device)
        self.recorded = Recorded(device)
        self._prepare()

    def step(self, step: int) -> None:
        """Do one optimiser step on N queries, from a graph where one is recorded."""
        epoch, index = divmod(step, self.steps_an_epoch)
        if index == 0:
            self.method.begin_epoch(epoch)
        done = step / self.steps_an_epoch
        self.recorded.run(
            lambda: self.static_step(done),
            self.method.decided(done),
            lambda: self.feeding.go_to(step),
        )

    def static_step(self, done: float) -> None:
        """Do the present step of `feeding`: the same work on the same memory each time.

        Args:
            done: how much of the training is done, in epochs; no more of it than
                `Method.decided` says enters the step.
        """
        numbers = self.feeding.numbers()
        momentum = numbers.get("momentum", self.cell.momentum)
        self.update(
            Turn(self.drawing.shown(numbers), numbers["step"], done, numbers["rate"], momentum)
        )

    def _of_step(self, step: int) -> dict[str, Tensor]:
        """Return the numbers of a step that are not drawn; a fixed momentum is none of them."""
        numbers = {"step": torch.tensor(step), "rate": torch.tensor(self.rate(step))}
        if self.cell.momentum_schedule != "fixed":
            numbers["momentum"] = torch.tensor(self.momentum(step), dtype=torch.float64)
        return numbers

    def _prepare(self) -> None:
        """Have the optimiser read its numbers on the device."""
        self.optimiser.found_inf = self.losses.found_inf  # type: ignore[attr-defined]
        for group in self.optimiser.param_groups:
            if "capturable" in group:  # torch refuses to record Adam without it
                group["capturable"] = self.device == "cuda"

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on, the images' fingerprint and the kind of step."""
        return super().state() | {"step_kind": self.step_kind}

    def load(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        super().load(state)
        self._prepare()
