"""Stop signals: stop immediately or, in a training loop, at the next step with a checkpoint."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from bench.errors import Interrupted, Preempted

WARNING = signal.SIGUSR2  # Slurm's, through submitit, before a time limit or a preemption


class _Received:
    """The signal that came, 0 for none, and whether it was raised; who heeds and listens."""

    number = 0
    answered = False  # raised: others that come while the process clears up are ignored
    heeding = 0
    listening = 0


@contextmanager
def stoppable() -> Iterator[None]:
    """Context manager: SIGTERM and the warning raise `Interrupted` or wait for `listening`."""
    handlers: dict[signal.Signals, Any] = {}
    if not _Received.heeding:
        _Received.number, _Received.answered = 0, False
        handlers = {signal.SIGTERM: _stop, WARNING: _stop}
    with _dropped_are_noted(), _handled(handlers):
        _Received.heeding += 1
        try:
            end_if_stopped()  # of a signal that came before anybody heeded it
            yield
        finally:
            _Received.heeding -= 1


def _stop(number: int, _: FrameType | None) -> None:
    _Received.number = _Received.number or number
    if _Received.heeding and not _Received.listening and not _Received.answered:
        end_if_stopped()


def end_if_stopped() -> None:
    """Raise `Interrupted` if a stop signal came, or `Preempted` for the warning signal.

    This repeats an exception that a library may have caught.
    """
    if _Received.number and (_Received.heeding or not _Received.answered):
        _Received.answered = True
        raise (Preempted if warned() else Interrupted)(f"signal {_Received.number}")


def warned() -> bool:
    """Return whether the first signal was the warning."""
    return _Received.number == WARNING


@contextmanager
def listening() -> Iterator[Callable[[], bool]]:
    """Context manager that records signals, so the block can save and stop at a step.

    It yields a function that returns whether to stop. Ctrl-C is also recorded if the process
    handles it.

    Raises:
        Interrupted: the outermost block has ended, and a stop signal came.
    """
    if not _Received.heeding:
        _Received.number, _Received.answered = 0, False
    heeds = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    _Received.listening += 1
    try:
        with _handled({signal.SIGINT: _stop} if heeds else {}):
            yield lambda: _Received.number != 0
    finally:
        _Received.listening -= 1
    if not _Received.listening:
        end_if_stopped()


@contextmanager
def deaf() -> Iterator[None]:
    """Context manager that delays SIGINT and the warning signal until the end of the block.

    Processes started in the block never receive them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, WARNING})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _handled(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    """Install handlers within the block, in the main thread; elsewhere it is not allowed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in handlers}
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _dropped_are_noted() -> Iterator[None]:
    """Within the block a signal that is raised where Python drops exceptions is not lost.

    In a finaliser, or a callback of a weak reference, an exception is printed and forgotten.
    """
    before = sys.unraisablehook

    def note(dropped: "sys.UnraisableHookArgs") -> None:
        if isinstance(dropped.exc_value, Interrupted | KeyboardInterrupt):
            _Received.number = _Received.number or signal.SIGINT
        else:
            before(dropped)

    sys.unraisablehook = note
    try:
        yield
    finally:
        sys.unraisablehook = before
