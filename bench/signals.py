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
    """The signal that came, 0 for none, and whether it was answered; who heeds and listens."""

    number = 0
    answered = False  # others that come while the process clears up are ignored
    heeding = 0
    listening = 0


@contextmanager
def stoppable() -> Iterator[None]:
    """Within the block SIGTERM and the warning raise `Interrupted`, or wait for `listening`."""
    if not _Told.heeding:
        _Told.number, _Told.answered = 0, False
    _Told.heeding += 1
    try:
        with _handled({signal.SIGTERM: _stop, WARNING: _stop}):
            yield
    finally:
        _Told.heeding -= 1


def _stop(number: int, _: FrameType | None) -> None:
    _Told.number = _Told.number or number
    if not _Told.listening and not _Told.answered:
        end_if_told()


def end_if_told() -> None:
    """Raise `Interrupted` if a signal came that told to stop; `Preempted` for the warning."""
    if _Told.number and not _Told.answered:
        _Told.answered = True
        raise (Preempted if warned() else Interrupted)(f"signal {_Told.number}")


def warned() -> bool:
    """Return whether the signal that came first is the warning."""
    return _Told.number == WARNING


@contextmanager
def listening() -> Iterator[Callable[[], bool]]:
    """Within the block a signal is noted; the block asks at every step, saves and ends itself.

    Ctrl-C is noted too where a process heeds it. Yields a function that tells whether to stop.

    Raises:
        Interrupted: the outermost block has ended and the process was told to stop.
    """
    if not _Told.heeding:
        _Told.number, _Told.answered = 0, False
    heeds = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    _Told.listening += 1
    try:
        with _handled({signal.SIGINT: _stop} if heeds else {}):
            yield lambda: _Told.number != 0 and not _Told.answered
    finally:
        _Told.listening -= 1
    if not _Told.listening:
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
