"""The numbers of steps on their way to the device: drawn in a thread, copied a chunk at a time.

A chunk is the numbers of some steps of one epoch, a row of bytes each. While the device computes
one, a thread draws the next into the other of two pinned buffers; one copy then moves it.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch

from bench.train.drawing import Drawing, Numbers
from bench.train.packing import Layout

MOST_STEPS = 64  # of a chunk
MOST_BYTES = 2**25
OfStep = Callable[[int], Numbers]
"""From a step to numbers of it that are not drawn: they may depend on the training so far."""


class Feeding:
    """The numbers of the present step, on the device at fixed places."""

    def __init__(self, drawing: Drawing, of_step: OfStep, steps: int, device: str) -> None:
        """Lay out what a step needs.

        Args:
            drawing: draws, in a thread.
            of_step: asked in the training's own thread when a chunk is about to be copied.
            steps: how many there are.
            device: cpu or cuda.
        """
        self._drawing, self._of_step, self._steps = drawing, of_step, steps
        self._drawn = Layout(drawing.numbers(0))
        self._further = Layout(of_step(0))
        size = self._drawn.nbytes + self._further.nbytes
        self.most = max(1, min(MOST_STEPS, MOST_BYTES // size, drawing.steps_an_epoch))
        buffers = torch.empty(2, self.most, size, dtype=torch.uint8, pin_memory=device == "cuda")
        self._buffers = list(buffers.unbind())
        self._copied: list[Any] = [None, None]  # events: when a buffer may be written again
        self._chunk = torch.empty(self.most, size, dtype=torch.uint8, device=device)
        self._row = torch.empty(size, dtype=torch.uint8, device=device)
        self._begin = self._end = 0  # the steps of the chunk on the device
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="draws")
        self._next: tuple[int, int, Future[None]] | None = None  # first step, buffer

    def numbers(self) -> Numbers:
        """Return the numbers of the present step: always the same memory."""
        drawn, further = self._row.split([self._drawn.nbytes, self._further.nbytes])
        return self._drawn.views(drawn) | self._further.views(further)

    def go_to(self, step: int) -> None:
        """Make a step the present one; asked for in order, none is waited for."""
        if not self._begin <= step < self._end:
            self._send(step)
        self._row.copy_(self._chunk[step - self._begin])

    def _send(self, step: int) -> None:
        """Copy the chunk that begins with a step, and have the next one drawn."""
        if self._next is None or self._next[0] != step:
            if self._next is not None:
                self._next[2].result()
            self._draw(step, 0)
        assert self._next is not None
        _, side, drawn = self._next
        drawn.result()
        end = self._end_of(step)
        for i in range(end - step):
            slot = self._buffers[side][i, self._drawn.nbytes :]
            self._further.write(self._of_step(step + i), slot)
        self._chunk.copy_(self._buffers[side], non_blocking=True)
        if self._chunk.is_cuda:
            self._copied[side] = torch.cuda.Event()
            self._copied[side].record()
        self._begin, self._end = step, end
        self._next = None
        if end < self._steps:
            self._draw(end, 1 - side)

    def _end_of(self, step: int) -> int:
        """Return where a chunk ends that begins with a step: within its epoch."""
        epoch = step // self._drawing.steps_an_epoch + 1
        return min(step + self.most, epoch * self._drawing.steps_an_epoch)

    def _draw(self, step: int, side: int) -> None:
        self._next = (step, side, self._thread.submit(self._fill, step, side))

    def _fill(self, step: int, side: int) -> None:
        """Draw a chunk into a buffer, in the thread."""
        if self._copied[side] is not None:
            self._copied[side].synchronize()
        for i, at in enumerate(range(step, self._end_of(step))):
            row = self._buffers[side][i, : self._drawn.nbytes]
            self._drawn.write(self._drawing.numbers(at), row)
