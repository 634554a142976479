"""Being told to stop: at once, or, while a loop trains, at its next step with a checkpoint."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from bench.errors import Interrupted, Preempted

WARNING = signal.SIGUSR2  # Slurm's, through submitit, before a time limit or a preemption


class _Told:
    """The signal that came and is not answered yet, 0 for none, and whether a loop listens."""

    number = 0
    listened_for = False


def stoppable() -> AbstractContextManager[None]:
    """Within the block SIGTERM and the warning raise `Interrupted`, or wait for `listening`."""

    def stop(number: int, _: FrameType | None) -> None:
        _Told.number = _Told.number or number
        if not _Told.listened_for:
            end_if_told()

    _Told.number = 0
    return _handled({signal.SIGTERM: stop, WARNING: stop})


def end_if_told() -> None:
    """Raise `Interrupted` if a signal came that told to stop; `Preempted` for the warning."""
    if _Told.number:
        kind = Preempted if _Told.number == WARNING else Interrupted
        raise kind(f"signal {_Told.number}")


@contextmanager
def listening() -> Iterator[Callable[[], bool]]:
    """Within the block a signal is noted; the block asks at every step, saves and ends itself.

    Yields a function that tells whether to stop.

    Raises:
        Interrupted: the block has ended and the process was told to stop.
    """
    _Told.listened_for = True
    try:
        yield lambda: _Told.number != 0
    finally:
        _Told.listened_for = False
    end_if_told()


def deaf() -> AbstractContextManager[None]:
    """Ignore SIGINT and the warning within the block; processes begun in it do so for good."""
    return _handled({signal.SIGINT: signal.SIG_IGN, WARNING: signal.SIG_IGN})


@contextmanager
def _handled(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    """Install handlers within the block, in the main thread; elsewhere it is not allowed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
