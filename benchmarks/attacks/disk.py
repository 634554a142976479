"""Disks that are full, limited, read-only or broken at some moment of a run."""

import errno
import os
import resource
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.attacks.attempt import Attempt, judge
from benchmarks.attacks.child import Answer, bench
from benchmarks.attacks.workbench import NAMES, difference, run, undisturbed, write_suites

FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG)
EVENTS = ("open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.utime", "os.truncate")
MOMENTS = 500  # changes of files in a run, about
SHARE = 0.7  # of the attempts are faults at a moment; the others are limits of size


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield attempts to run on a disk that fails: one line, and the same bytes when it works."""
    write_suites(root / "whole")
    whole = undisturbed(root / "whole")
    while True:
        home = root / "home"
        shutil.rmtree(home, ignore_errors=True)
        write_suites(home)
        words = ("run", *NAMES, "--executor", "inline")
        if rng.random() < SHARE:
            number, moment = rng.choice(FAULTS), rng.randrange(MOMENTS)
            heals = rng.random() < 0.3
            fault = _Fault(home / "results", number, moment, heals=heals)
            told = f"{errno.errorcode[number]} at change {moment}{', once' if heals else ''}"
            answer = bench(home, *words, before=fault.install)
        else:
            size = int(10 ** rng.uniform(3.3, 5.5))
            told = f"files of {size} bytes at most"
            answer = bench(home, *words, before=lambda: _limit(size))  # noqa: B023
        yield _resumed(home, told, answer, whole)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class _Fault:
    """A disk that refuses every change below a folder from some moment on, or once."""

    def __init__(self, root: Path, number: int, moment: int, *, heals: bool) -> None:
        self.root, self.number, self.heals = str(root), number, heals
        self.left = moment

    def install(self) -> None:
        """Let this process meet it, for as long as it lives."""
        sys.addaudithook(self._look)

    def _look(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in EVENTS or not self._concerns(event, args):
            return
        self.left -= 1
        if self.left == -1 or (self.left < -1 and not self.heals):
            raise OSError(self.number, os.strerror(self.number), args[0])

    def _concerns(self, event: str, args: tuple[Any, ...]) -> bool:
        if not isinstance(args[0], str | os.PathLike):
            return False
        path = os.path.abspath(os.fspath(args[0]))
        changes = event != "open" or (isinstance(args[2], int) and args[2] & 3 != os.O_RDONLY)
        return changes and path.startswith(self.root)


def _resumed(home: Path, told: str, answer: Answer, whole: dict[str, bytes]) -> Attempt:
    """Judge a run on a failing disk, then one after it on a sound one."""
    attempt = judge(told, answer)
    if attempt.is_finding:
        return attempt
    again = run(home)

    def changed() -> str | None:
        if again.status != 0:
            return f"not done on a sound disk: {again.out.strip()} {again.last_line}"
        return difference(home, whole)

    after = judge(f"{told}, then a sound disk", again, changed)
    return after if after.is_finding else attempt
