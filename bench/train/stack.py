"""The loop that trains a stack of cells together: history, divergence, checkpoints, resume."""

import time
from collections.abc import Sequence
from typing import Protocol

from bench.environment import seconds_between_checkpoints
from bench.errors import Diverged
from bench.results.folder import CellFolder
from bench.signals import listening
from bench.train.checkpoints import Checkpoint, divergence, load_checkpoint, save_checkpoint
from bench.train.state import StackState


class Trainee(Protocol):
    """Cells that train as one batch; position i is cell i in every list."""

    stack: StackState  # weights, optimiser moments, bank: what each cell needs to go on

    def step(self, step: int) -> None:
        """Do the optimiser step number `step`, counted from 0, on all cells."""

    def measure(self) -> list[dict[str, float]]:
        """Return what history records of each cell after the last step."""


def train_stack(
    trainee: Trainee, folders: Sequence[CellFolder], *, steps: int, record_every: int
) -> list[Diverged | None]:
    """Train to the end, from the checkpoints if there are any; the cells' must be of one step.

    Every `record_every` steps one line goes into each cell's history; every BENCH_CHECKPOINT_S
    seconds, and when the process is told to stop, a checkpoint is written at such a step. The state
    after step s is a function of the cell alone, so a run that was stopped ends with the bytes of
    one that was not.

    Args:
        trainee: the stack of cells, trained together.
        folders: one for each cell, in the order of the stack.
        steps: of the whole training.
        record_every: steps between two lines of the history.

    Returns:
        For each cell None, or how it diverged; a cell that diverged harms no other.

    Raises:
        Interrupted: the process was told to stop.
        ValueError: the checkpoints are of several steps.
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
        raise ValueError(f"cells of one stack need checkpoints of one step, found {sorted(steps)}")
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
