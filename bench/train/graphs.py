"""Work on a GPU that is recorded once, as a CUDA graph, and replayed: one launch for all of it."""

from collections.abc import Callable
from typing import Any

import torch

WARM = 3  # times that work is done before it is recorded: libraries choose and allocate in them


class Recorded:
    """Does work of static shapes on tensors at fixed places, from a graph where there is a GPU."""

    def __init__(self, device: str) -> None:
        """Begin with nothing recorded; on a CPU nothing ever is."""
        self._stream: Any = torch.cuda.Stream() if device == "cuda" else None
        self._graph: Any = None
        self._decided: object = None
        self._times = 0
        self.replays = 0

    def run(self, work: Callable[[], None], decided: object, before: Callable[[], None]) -> None:
        """Do the work once.

        Args:
            work: launches the same kernels on the same memory each time.
            decided: what of the work the host decides; where it changes, a graph is recorded anew.
            before: what is done before it, and never recorded.
        """
        if self._stream is None:
            before()
            work()
            return
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            before()
            self._do(work, decided)
        current.wait_stream(self._stream)

    def _do(self, work: Callable[[], None], decided: object) -> None:
        if decided != self._decided:
            self._decided, self._times, self._graph = decided, 0, None
        self._times += 1
        if self._times <= WARM:
            work()
            return
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            # Other threads draw and write meanwhile: what they call is no part of the graph.
            with torch.cuda.graph(
                self._graph, stream=self._stream, capture_error_mode="thread_local"
            ):
                work()
        self._graph.replay()
        self.replays += 1
