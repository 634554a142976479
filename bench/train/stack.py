"""The loop that trains a stack of cells together: history, divergence, checkpoints, resume."""

import io
import math
import time
from collections.abc import Sequence
from typing import Protocol, TypedDict

import torch

from bench.config.environment import seconds_between_checkpoints
from bench.errors import Diverged
from bench.store.files import write_whole
from bench.store.folder import CellFolder
from bench.train.state import CellState, StackState

CHECKPOINT_EVERY_S = seconds_between_checkpoints()


class Checkpoint(TypedDict):
    """A cell after some steps."""

    cell: str  # its id
    step: int
    state: CellState


class Trainee(Protocol):
    """Cells that train as one batch; position i is cell i in every list."""

    stack: StackState  # weights, optimiser moments, bank: what each cell needs to go on

    def step(self, step: int) -> None:
        """Do the optimiser step number `step`, counted from 0, on all cells."""

    def measure(self) -> list[dict[str, float]]:
        """Return what history records of each cell after the last step."""


def checkpoint_step(folder: CellFolder) -> int:
    """Return how many steps the cell's checkpoint has behind it, 0 without one."""
    saved = _load(folder)
    return 0 if saved is None else saved["step"]


def train_stack(
    trainee: Trainee, folders: Sequence[CellFolder], *, steps: int, record_every: int
) -> list[Diverged | None]:
    """Train to the end, from the checkpoints if there are any; the cells' must be of one step.

    Every `record_every` steps one line goes into each cell's history; every CHECKPOINT_EVERY_S
    seconds, at such a step, a checkpoint is written. The state after step s is a function of the
    cell alone, so a run that was stopped ends with the bytes of one that was not.

    Returns:
        For each cell None, or how it diverged; a cell that diverged harms no other.
    """
    begun = _resume(trainee, folders)
    failures: list[Diverged | None] = [None] * len(folders)
    saved_at = time.monotonic()
    for step in range(begun, steps):
        trainee.step(step)
        done = step + 1
        if done % record_every and done != steps:
            continue
        for i, (folder, line) in enumerate(zip(folders, trainee.measure(), strict=True)):
            failures[i] = failures[i] or _divergence(line, done)
            if failures[i] is None:
                folder.append_history({"step": done, **line})
        if all(failures):
            break
        if time.monotonic() - saved_at > CHECKPOINT_EVERY_S and done != steps:
            _save(trainee, folders, done)
            saved_at = time.monotonic()
    return failures


def _divergence(line: dict[str, float], step: int) -> Diverged | None:
    bad = [name for name, value in line.items() if not math.isfinite(value)]
    return Diverged(f"step {step}: {bad[0]} is {line[bad[0]]}") if bad else None


def _resume(trainee: Trainee, folders: Sequence[CellFolder]) -> int:
    checkpoints = [_load(folder) for folder in folders]
    steps = {0 if saved is None else saved["step"] for saved in checkpoints}
    if len(steps) != 1:
        raise ValueError(f"cells of one stack need checkpoints of one step, found {sorted(steps)}")
    step = steps.pop()
    for folder in folders:
        folder.rewind_history(step)
    found = [saved["state"] for saved in checkpoints if saved is not None]
    if found:
        trainee.stack.join(found)
    return step


def _save(trainee: Trainee, folders: Sequence[CellFolder], step: int) -> None:
    for folder, state in zip(folders, trainee.stack.split(), strict=True):
        buffer = io.BytesIO()
        torch.save({"cell": folder.path.name, "step": step, "state": state}, buffer)
        write_whole(folder.checkpoint_file, buffer.getvalue())


def _load(folder: CellFolder) -> Checkpoint | None:
    """Return the checkpoint; None if there is none that can be gone on from.

    One that is torn, of another cell, or whose history is not there is worth nothing: the cell
    begins anew.
    """
    try:
        saved: Checkpoint = torch.load(folder.checkpoint_file, weights_only=True)
        mine, step = saved["cell"] == folder.path.name, saved["step"]
    except FileNotFoundError:
        return None
    except Exception:  # torch raises many kinds for a torn file
        return None
    recorded = {line["step"] for line in folder.history()}
    return saved if mine and step in recorded else None
