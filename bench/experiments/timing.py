"""Deterministic GPU kernels, and timing of complete cells and of probes."""

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
    """Return a clock in seconds: process time or wall time.

    Process time is used if only this process computes, because other load does not affect it.
    """
    alone = device == "cpu" and not streams(cell.settings.get("dataset", ""))
    return time.process_time if alone else time.perf_counter


class Stopwatch:
    """Timer of a cell's computation, for its provenance."""

    def __init__(self, cell: Cell, device: str) -> None:
        """Begin to count."""
        self.began, self._wall = time.time(), time.monotonic()
        alone = clock_for(cell, device) is time.process_time
        self._cpu = time.process_time() if alone else None

    def record(self, stack: int = 1) -> dict[str, float]:
        """Return the start time and each cell's share of the elapsed seconds.

        Processor time, which other load does not affect, is included if only this process computes.

        Args:
            stack: number of cells that share the time.
        """
        times = {"began": self.began, "wall_s": (time.monotonic() - self._wall) / stack}
        if self._cpu is not None:
            times["cpu_s"] = (time.process_time() - self._cpu) / stack
        return times


def seconds_of(work: Callable[[], Any], clock: Clock) -> float:
    """Return the seconds of a function call, including its pending GPU work."""
    began = clock()
    work()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return clock() - began


def seconds_unless_long(work: Callable[[], Any], clock: Clock, *, expected_s: float) -> float:
    """Return the seconds of a function call, or the prediction if it exceeds LONGEST_S.

    Args:
        work: function to time.
        clock: function that returns seconds.
        expected_s: predicted seconds.
    """
    return seconds_of(work, clock) if expected_s <= LONGEST_S else expected_s


def forward_s(network: nn.Module, source: ImageSource, clock: Clock) -> float:
    """Return the seconds of one image's forward pass, measured on a few images.

    Args:
        network: network for images from the source.
        source: the cell's images.
        clock: function that returns seconds.
    """
    (images,) = (batch[:FEW] for batch in islice(source.plain("train"), 1))
    network.eval()
    with torch.no_grad():
        network(images)  # warm-up
        return seconds_of(lambda: network(images), clock) / len(images)


def steps_s(training: Trainable, clock: Clock, expected_s: float = 0.0) -> float:
    """Return the seconds of all steps, extrapolated from some after two warm-up steps.

    Args:
        training: object that performs the steps.
        clock: function that returns seconds.
        expected_s: predicted seconds of one step. Above LONGEST_S, no step is timed.
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
    """Select deterministic GPU kernels; torch warns about operations without one.

    float32 convolutions may use TF32, with 10-bit mantissas. Like the choice of device, this
    changes only rounding, so it is not a setting of the cell. Matrix products use full float32,
    because similarities at small temperatures, neighbours and views are sensitive to rounding. New
    memory is not initialised, because no code reads it before writing.
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
