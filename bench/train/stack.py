"""Training loop for stacks of cells: history, divergence, checkpoints and resuming."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from bench.data.streams import Purpose, stream
from bench.environment import seconds_between_checkpoints
from bench.errors import Diverged
from bench.results.folder import CellFolder
from bench.signals import listening
from bench.train.checkpoints import Checkpoint, divergence, load_checkpoint, save_checkpoint

TensorsByName = dict[str, Tensor]


def stacked(arrays: Iterable[np.ndarray[Any, Any]], device: str) -> Tensor:
    """Return one array per cell as one tensor on a device."""
    return torch.from_numpy(np.stack(list(arrays))).to(device)


def shuffled(
    seeds: Iterable[int], count: int, epoch: int, batch: slice
) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the indices of a batch for each cell, in a new random order each epoch.

    Args:
        seeds: seeds of the cells.
        count: number of rows per epoch.
        epoch: index of the epoch.
        batch: positions in the epoch's order.
    """
    return (stream(seed, Purpose.ORDER, epoch).permutation(count)[batch] for seed in seeds)


class StackState:
    """Parameters, optimiser state and other tensors, split along their first axis."""

    def __init__(
        self,
        optimiser: torch.optim.Optimizer,
        rows: Sequence[Sequence[int]],
        **further: Tensor,
    ) -> None:
        """Name what is to be kept.

        Args:
            optimiser: its parameters have one row an encoder.
            rows: the rows that belong to each cell.
            further: other tensors with such rows.
        """
        self.optimiser, self.further = optimiser, further
        self.rows = [list(indices) for indices in rows]
        self.parameters = [p for group in optimiser.param_groups for p in group["params"]]

    def split(self) -> list[TensorsByName]:
        """Return the part of each cell."""
        named = dict(self.further)
        for i, parameter in enumerate(self.parameters):
            named[f"{i}.parameter"] = parameter.data
            for name, value in self.optimiser.state[parameter].items():
                named[f"{i}.{name}"] = value
        return [
            {name: (t[indices] if t.dim() else t).clone() for name, t in named.items()}
            for indices in self.rows
        ]

    def join(self, states: Sequence[TensorsByName]) -> None:
        """Restore the result of `split`, for the same cells or another stack of them."""
        for i, parameter in enumerate(self.parameters):
            prefix = f"{i}."
            for name in [n for n in states[0] if n.startswith(prefix)]:
                key = name.removeprefix(prefix)
                if key == "parameter":
                    self._fill(parameter.data, name, states)
                elif states[0][name].dim() == 0:
                    scalar = states[0][name].clone()
                    fused = self.optimiser.defaults.get("fused")
                    self.optimiser.state[parameter][key] = (
                        scalar.to(parameter.device) if fused else scalar
                    )
                else:
                    moment = torch.zeros_like(parameter)
                    self._fill(moment, name, states)
                    self.optimiser.state[parameter][key] = moment
        for name, tensor in self.further.items():
            self._fill(tensor, name, states)

    def _fill(self, tensor: Tensor, name: str, states: Sequence[TensorsByName]) -> None:
        for indices, state in zip(self.rows, states, strict=True):
            tensor[indices] = state[name].to(tensor.device)


class Trainee(Protocol):
    """Cells that train as one batch; index i is cell i in every list."""

    stack: StackState  # weights, optimiser moments, bank: what each cell needs to go on

    def step(self, step: int) -> None:
        """Do the optimiser step number `step`, counted from 0, on all cells."""

    def measure(self) -> list[dict[str, float]]:
        """Return the history record of each cell after the last step."""


def train_stack(
    trainee: Trainee, folders: Sequence[CellFolder], *, steps: int, record_every: int
) -> list[Diverged | None]:
    """Train to the end, from checkpoints of the same step if there are any.

    Each cell's history gets a record every `record_every` steps. At such steps, checkpoints are
    written every BENCH_CHECKPOINT_S seconds and when the process is asked to stop. The state after
    a step depends only on the cell, so resumed runs give bitwise equal results.

    Args:
        trainee: the stack of cells, trained together.
        folders: one folder per cell, in the order of the stack.
        steps: number of training steps.
        record_every: steps between two history records.

    Returns:
        For each cell, None or how it diverged. A diverged cell does not affect others.

    Raises:
        Interrupted: the process was asked to stop.
        ValueError: the checkpoints have different steps.
    """
    begun = _resume(trainee, folders)
    failures: list[Diverged | None] = [None] * len(folders)
    between, saved_at = seconds_between_checkpoints(), time.monotonic()
    with listening() as must_stop:
        for step in range(begun, steps):
            trainee.step(step)
            done = step + 1
            if done % record_every and done != steps:
                continue
            for i, (folder, line) in enumerate(zip(folders, trainee.measure(), strict=True)):
                failures[i] = failures[i] or divergence(line, done)
                if failures[i] is None:
                    folder.append_history({"step": done, **line})
            if all(failures):
                break
            stop = must_stop()
            due = time.monotonic() - saved_at >= between and done != steps
            if stop or due:
                _save(trainee, folders, done)
                saved_at = time.monotonic()
            if stop:
                break
    return failures


def _resume(trainee: Trainee, folders: Sequence[CellFolder]) -> int:
    checkpoints = [_load(folder) for folder in folders]
    steps = {0 if saved is None else saved["step"] for saved in checkpoints}
    if len(steps) != 1:
        raise ValueError(
            "cells that are trained together need checkpoints of the same step, found "
            f"steps {sorted(steps)}"
        )
    step = steps.pop()
    for folder in folders:
        folder.rewind_history(step)
    states = [saved["state"] for saved in checkpoints if saved is not None]
    if states:
        trainee.stack.join(states)
    return step


def _save(trainee: Trainee, folders: Sequence[CellFolder], done: int) -> None:
    for folder, state in zip(folders, trainee.stack.split(), strict=True):
        save_checkpoint(folder, done, state)


def _load(folder: CellFolder) -> Checkpoint | None:
    """Return the checkpoint; None if there is none, or its history is not there."""
    saved = load_checkpoint(folder)
    recorded = {line["step"] for line in folder.history()}
    return saved if saved is not None and saved["step"] in recorded else None
