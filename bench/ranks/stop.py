"""Being told to stop while others wait: taken note of, and heeded when all ranks do."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from bench.errors import CellFailure, Interrupted
from bench.ranks.ranks import Ranks

NUMBERS = (signal.SIGTERM, signal.SIGINT)
GO_ON, STOP, GIVE_UP = range(3)


class Note:
    """A handler of signals that remembers that there was one."""

    asked = False

    def __call__(self, _number: int, _: FrameType | None) -> None:
        """Remember."""
        self.asked = True


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Let SIGTERM and SIGINT wait within the block; yield whether one came.

    A block within another shares its note. At the end of the outermost one it is heeded.

    Raises:
        Interrupted: at the end of the block, if one came.
    """
    before = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or isinstance(before, Note):
        yield (lambda: before.asked) if isinstance(before, Note) else (lambda: False)
        return
    note = Note()
    handlers = [signal.signal(number, note) for number in NUMBERS]
    try:
        yield lambda: note.asked
    finally:
        for number, handler in zip(NUMBERS, handlers, strict=True):
            signal.signal(number, handler)
    if note.asked:
        raise Interrupted("told to stop")


def agreed(beat: Callable[[], None], asked: Callable[[], bool], ranks: Ranks) -> Callable[[], None]:
    """Return a beat that stops all ranks after the same step.

    Args:
        beat: this rank's own, which may raise a CellFailure.
        asked: whether this rank is to stop.
        ranks: all of which call the beat after every step.
    """

    def together() -> None:
        fault: CellFailure | None = None
        try:
            beat()
        except CellFailure as failure:
            fault = failure
        found = ranks.greatest(GIVE_UP if fault else STOP if asked() else GO_ON)
        if found == GIVE_UP:
            raise fault or CellFailure("another rank gave the training up")
        if found == STOP:
            raise Interrupted("told to stop")

    return together
