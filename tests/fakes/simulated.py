"""Processes that are threads: each halts before it lists a folder or changes a file, or dies.

A dead one changes nothing any more, whatever its `finally` clauses try: as after `kill -9`.
"""

import itertools
import os
import sys
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bench.results import owner, store
from bench.results.owner import Owner

EVENTS = {
    "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.utime", "os.truncate",
    "os.listdir",
}  # fmt: skip
_local = threading.local()
_numbers = itertools.count(10**8)  # no process of this machine has such a number
_alive: dict[int, "Simulated"] = {}


class Killed(BaseException):
    """The simulated process is dead."""


class Simulated:
    """A process that does something, one change of a file after the other."""

    def __init__(self, root: Path, action: Callable[[], None]) -> None:
        """Begin it; below `root` are the files whose changes it halts before."""
        self.root = str(root)
        self.pid, self.over, self.killed = next(_numbers), False, False
        self.error: BaseException | None = None
        self._action, self._go, self._halts = action, threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        _alive[self.pid] = self
        self._thread.start()

    @property
    def owner(self) -> Owner:
        return replace(REAL_ME(), pid=self.pid, started=str(self.pid))

    def go_on(self, changes: int) -> None:
        """Let it make so many changes of files, or fewer if that is all it does."""
        while changes and not self.over:
            self._go.release()
            self._halts.acquire()
            changes -= 1

    def finish(self) -> None:
        while not self.over:
            self.go_on(1)

    def kill(self) -> None:
        """End it where it stands."""
        self.killed = True
        _alive.pop(self.pid, None)
        self.finish()

    def halt(self) -> None:
        """Wait, in its own thread, to be told to go on."""
        if not self.killed:
            self._halts.release()
            self._go.acquire()
        if self.killed:
            raise Killed

    def _run(self) -> None:
        _local.process = self
        self._go.acquire()
        try:
            if not self.killed:
                self._action()
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        finally:
            _local.process = None
            self.over = True
            _alive.pop(self.pid, None)
            self._halts.release()


def current() -> Simulated | None:
    """Return the process that asks; None if it is none of these."""
    process: Simulated | None = getattr(_local, "process", None)
    return process


def alive() -> list[Simulated]:
    return list(_alive.values())


def _look(event: str, args: tuple[Any, ...]) -> None:
    process = current()
    if process is None or not args or not str(args[0]).startswith(process.root):
        return
    writes = event == "open" and isinstance(args[2], int) and args[2] & os.O_ACCMODE != os.O_RDONLY
    if writes or event in EVENTS:
        process.halt()


_hooked: list[bool] = []
REAL_ME, REAL_STARTED = Owner.me, owner._started


def _me() -> Owner:
    process = current()
    return REAL_ME() if process is None else process.owner


def _started(pid: int) -> str | None:
    if pid < 10**8:
        return REAL_STARTED(pid)
    return str(pid) if pid in _alive else None


def simulate(patch: pytest.MonkeyPatch) -> None:
    """Let simulated processes own what they claim, and be alive for others until they are dead."""
    if not _hooked:  # a hook is for good, and does nothing outside of simulated processes
        sys.addaudithook(_look)
        _hooked.append(True)
    names = itertools.count(1)  # the same steps give the same names of files

    def name() -> UUID:
        return UUID(int=next(names) << 80)

    patch.setattr(uuid, "uuid4", name)
    patch.setattr(store, "uuid4", name)
    patch.setattr(Owner, "me", staticmethod(_me))
    patch.setattr(owner, "_started", _started)
    patch.setattr(os, "fsync", lambda _: None)  # thousands of waits for a disk that nobody cuts off
