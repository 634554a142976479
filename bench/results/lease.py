"""Claims of a process, and heartbeats that show that it is alive.

The claim on a folder is its running attempt (`bench.results.attempts`). This process touches the
record every HEARTBEAT_S seconds. A process that finds the owner dead starts the next attempt.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from bench.cells.cell import Cell
from bench.errors import CellFailure, Interrupted, Preempted
from bench.results.attempts import Attempt, Ending
from bench.results.folder import CellFolder
from bench.results.owner import Owner
from bench.signals import end_if_stopped

HEARTBEAT_S = 30.0
POLL_S = 1.0  # while another process holds what is waited for


@contextmanager
def every(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """Call a function repeatedly in the background during the block."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            action()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def heartbeat(sign_of_life: Path) -> AbstractContextManager[None]:
    """Touch a file repeatedly in the background during the block."""
    return heartbeats(lambda: [sign_of_life])


def heartbeats(signs_of_life: Callable[[], Iterable[Path]]) -> AbstractContextManager[None]:
    """Touch the currently listed files repeatedly in the background during the block."""

    def touch_all() -> None:
        for path in signs_of_life():
            _touch(path)

    return every(HEARTBEAT_S, touch_all)


def _touch(path: Path) -> None:
    with suppress(OSError):  # removed, or the disk does not answer now: the next touch may succeed
        os.utime(path)


class HeldFolder(NamedTuple):
    """A folder that this process claims with a running attempt."""

    folder: CellFolder
    attempt: Attempt


class Lease:
    """Claims of this process on folders of the store.

    During its block, heartbeats run for all claims. At the end, remaining claims are released.
    """

    def __init__(self, launch: str = "", *, retry_before: float = 0.0) -> None:
        """Begin without a claim.

        Args:
            launch: on whose behalf folders are claimed.
            retry_before: failures that ended before this time (seconds since 1970) are tried again.
        """
        self.launch, self.retry_before = launch, retry_before
        self.claims: list[HeldFolder] = []
        self._owner, self._checked_at = Owner.me(), time.monotonic()
        self._heartbeat = every(HEARTBEAT_S, self._touch)

    def __enter__(self) -> Self:
        """Begin to give signs of life."""
        self._heartbeat.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release what is left: as done where the result is there, else as interrupted."""
        self._heartbeat.__exit__(None, None, None)
        reason = "preempted" if isinstance(error, Preempted) else None
        for claim in list(self.claims):
            self.end(claim, "done" if claim.folder.is_done else "interrupted", reason)

    def claim(self, folder: CellFolder, cell: Cell | None = None) -> HeldFolder | None:
        """Claim a folder; None if it is finished, failed, or held by a living process.

        Args:
            folder: the folder.
            cell: the cell of the folder; None for a trained encoder.
        """
        attempt = folder.claim(cell, self._owner, self.launch, retry_before=self.retry_before)
        if attempt is None:
            return None
        self.claims.append(HeldFolder(folder, attempt))
        return self.claims[-1]

    def wait_for(
        self, folder: CellFolder, stop: Callable[[], bool] = lambda: False
    ) -> HeldFolder | None:
        """Wait until the folder of a trained encoder is free, and claim it; None if it is finished.

        Args:
            folder: the folder.
            stop: function that returns whether to stop waiting, if signals do not.

        Raises:
            Interrupted: `stop` returned true.
        """
        while (claim := self.claim(folder)) is None and not folder.is_done:
            if stop():
                end_if_stopped()
                raise Interrupted("told to stop")
            time.sleep(POLL_S)
        return claim

    def check(self) -> None:
        """Check, every HEARTBEAT_S seconds, whether this process still has all its claims.

        Raises:
            CellFailure: another process has taken over a claim.
        """
        if time.monotonic() - self._checked_at < HEARTBEAT_S:
            return
        self._checked_at = time.monotonic()
        for folder, attempt in self.claims:
            if not attempt.is_mine():
                raise CellFailure(f"another process took over the training in {folder.path}")

    def end(
        self,
        claim: HeldFolder,
        state: Ending,
        reason: str | None = None,
        message: str | None = None,
    ) -> None:
        """End the attempt of a claim, unless another process took it over, and release the claim.

        Args:
            claim: the claim.
            state: how the attempt ended.
            reason: kind of failure, if it failed.
            message: one line, if it failed.
        """
        self.claims.remove(claim)
        if claim.attempt.is_mine():
            claim.attempt.end(state, reason, message)

    def _touch(self) -> None:
        for _, attempt in list(self.claims):
            _touch(attempt.path)
