"""Being told to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from bench.errors import Interrupted


def stoppable() -> AbstractContextManager[None]:
    """Turn SIGTERM into `Interrupted` within the block."""

    def stop(number: int, _: FrameType | None) -> None:
        raise Interrupted(f"signal {number}")

    return _handled(signal.SIGTERM, stop)


def deaf_to_ctrl_c() -> AbstractContextManager[None]:
    """Ignore SIGINT within the block; processes started in it ignore it for good."""
    return _handled(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Install a handler within the block, in the main thread; elsewhere it is not allowed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
