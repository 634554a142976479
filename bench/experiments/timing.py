"""Deterministic kernels on a GPU, and seconds: of a whole cell, and of a few steps for probes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from torch import nn
from torch.utils import deterministic as memory

from bench.cells.cell import Cell
from bench.cells.datasets import streams
from bench.experiments.outcome import Clock
from bench.train.sources import ImageSource
from bench.train.trainable import Trainable

ENOUGH_S = 0.5  # of steps that are timed
MOST_STEPS = 30
LONGEST_S = 5.0  # of one step or evaluation; where it would take longer, forward passes are timed
BACKWARD_TOO = 3  # forward passes that a step with its backward pass is worth
FEW = 16  # images of such a pass


def clock_for(cell: Cell, device: str) -> Clock:
    """Return what tells seconds: of this process where it alone computes, so that other load of
    the machine does not count; else those on the wall.
    """
    alone = device == "cpu" and not streams(cell.settings.get("dataset", ""))
    return time.process_time if alone else time.perf_counter


class Stopwatch:
    """Seconds of computing a cell, for its provenance."""

    def __init__(self, cell: Cell, device: str) -> None:
        """Begin to count."""
        self.began, self._wall = time.time(), time.monotonic()
        alone = clock_for(cell, device) is time.process_time
        self._cpu = time.process_time() if alone else None

    def record(self, stack: int = 1) -> dict[str, float]:
        """Return when it began and each cell's share of the seconds so far.

        Those of the processor too, which other load of the machine does not lengthen, where this
        process alone computes.

        Args:
            stack: cells that share them.
        """
        times = {"began": self.began, "wall_s": (time.monotonic() - self._wall) / stack}
        if self._cpu is not None:
            times["cpu_s"] = (time.process_time() - self._cpu) / stack
        return times


def seconds_of(work: Callable[[], Any], clock: Clock) -> float:
    """Return the seconds of some work, what it left to the GPU included."""
    began = clock()
    work()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return clock() - began


def seconds_unless_long(work: Callable[[], Any], clock: Clock, *, expected_s: float) -> float:
    """Return the seconds of some work; where more than LONGEST_S are expected, those.

    Args:
        work: what is timed.
        clock: gives the time in seconds.
        expected_s: predicted seconds.
    """
    return seconds_of(work, clock) if expected_s <= LONGEST_S else expected_s


def forward_s(network: nn.Module, source: ImageSource, clock: Clock) -> float:
    """Return the seconds of the forward pass of one image, from a few images.

    Args:
        network: takes images as the source gives them.
        source: the cell's images.
        clock: tells seconds.
    """
    (images,) = (batch[:FEW] for batch in islice(source.plain("train"), 1))
    network.eval()
    with torch.no_grad():
        network(images)  # warm-up
        return seconds_of(lambda: network(images), clock) / len(images)


def steps_s(training: Trainable, clock: Clock, expected_s: float = 0.0) -> float:
    """Return the seconds of all steps, from some of them, after two to warm up.

    Args:
        training: takes the steps.
        clock: tells seconds.
        expected_s: of one step; where that is more than LONGEST_S, none is timed.
    """
    if expected_s > LONGEST_S:
        return training.steps * expected_s
    training.online.train()
    warm = min(2, training.steps - 1)
    for step in range(warm):
        training.step(step)
    began, last = clock(), warm
    while last < min(training.steps, warm + MOST_STEPS):
        training.step(last)  # reads its loss, so it has ended
        last += 1
        if clock() - began >= ENOUGH_S:
            break
    return training.steps * (clock() - began) / (last - warm)


@contextmanager
def deterministic(device: str) -> Iterator[None]:
    """On a GPU take deterministic kernels; torch warns where there is none.

    Convolutions that stay in float32 may round their factors to TF32's 10 bits: like the device
    itself that moves no more than rounding, so no setting of the cell names it. Products of
    matrices keep float32: similarities over a small temperature, neighbours and views would feel
    it. New memory is not filled, since nothing here reads what it has not written.
    """
    if device == "cpu":
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    tf32 = torch.backends.cudnn.allow_tf32
    filled = memory.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.allow_tf32 = True
    memory.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.allow_tf32 = tf32
        memory.fill_uninitialized_memory = filled  # type: ignore[attr-defined]
