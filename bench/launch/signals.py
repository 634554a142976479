"""Being told to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bench.errors import Interrupted


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn SIGTERM into `Interrupted` within the block, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        raise Interrupted(f"signal {number}")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
