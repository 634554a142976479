"""Attempts at a cell: records of executions that are also claims on the cell.

Attempt n + 1 may start when attempt n has ended or its owner is dead. Its file is created by a hard
link, which only one process can do, so a dead owner's claim is taken over once.
"""

import math
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.errors import Damaged, DiskFailure
from bench.files.atomic import write_new, write_whole
from bench.files.messages import warn
from bench.results.owner import Owner
from bench.results.records import AttemptRecord, read_record, sealed

_NAME = re.compile(r"[0-9]{4,18}\.json", re.ASCII)

Ending = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True)
class Attempt:
    """One execution of a cell."""

    path: Path
    record: dict[str, Any]

    @property
    def number(self) -> int:
        """Number of the attempt, from 1."""
        return int(self.record["attempt"])

    @property
    def owner(self) -> Owner:
        """The process of the attempt."""
        return Owner.of(self.record["owner"])

    @property
    def state(self) -> str:
        """running, done, failed, interrupted, or killed if the owner died without a record."""
        state = str(self.record["state"])
        return "killed" if state == "running" and not self.owner.is_alive(self.path) else state

    def is_mine(self) -> bool:
        """Whether this is still the latest attempt, so no process took over the claim."""
        return _names(self.path.parent)[-1:] == [self.path.name]

    def end(self, state: Ending, reason: str | None = None, message: str | None = None) -> None:
        """Record how the attempt ended, and release the claim.

        If the disk is full, the record is removed instead, which also releases the claim.

        Args:
            state: final state.
            reason: kind of failure, if it failed.
            message: one line, if it failed.

        Raises:
            DiskFailure: the disk is full, and more than an interruption would be lost.
        """
        change = {"state": state, "ended": time.time(), "reason": reason, "message": message}
        try:
            write_whole(self.path, sealed(self.record | change))
        except DiskFailure:
            with suppress(OSError):
                self.path.unlink()
            if state != "interrupted":
                raise

    def anonymous(self) -> bytes:
        """Return the record of a failure without its process, host and time."""
        nobody = {name: 0 if name == "pid" else "" for name in self.record["owner"]}
        return sealed(
            self.record | {"attempt": 1, "owner": nobody, "launch": "", "began": 0.0, "ended": 0.0}
        )

    def date_back(self, now: float) -> None:
        """Change the time of a failure to just before `now`, if a host's clock was ahead.

        Args:
            now: seconds since 1970.

        Raises:
            DiskFailure: the record cannot be written.
        """
        if self.record["state"] == "failed" and self.record["ended"] >= now:
            ended = math.nextafter(now, 0.0)
            write_whole(self.path, sealed(self.record | {"ended": ended}))


def last_attempt(folder: Path) -> Attempt | None:
    """Return the latest readable attempt in the folder."""
    attempts = _read(folder, _names(folder))
    return attempts[-1] if attempts else None


def all_attempts(folder: Path) -> list[Attempt]:
    """Return the attempts in the folder, in order.

    Unreadable attempts are reported and omitted. Their processes will notice that they lost their
    claims.
    """
    return _read(folder, _names(folder))


def _read(folder: Path, names: Sequence[str]) -> list[Attempt]:
    attempts = []
    for name in names:
        try:
            attempt = read_attempt(folder / name)
        except Damaged as fault:
            warn(f"{fault}; the attempt counts as killed")
        else:
            attempts += [] if attempt is None else [attempt]
    return attempts


def read_attempt(path: Path) -> Attempt | None:
    """Return the attempt in a file; None if the file does not exist.

    Raises:
        Damaged: the file has no attempt or is corrupt.
        StoreError: the file cannot be read.
    """
    record = read_record(path, AttemptRecord, "an attempt")
    return None if record is None else Attempt(path, record)


def attempt_files(folder: Path) -> list[Path]:
    """Return the files of attempts, in order."""
    return [folder / name for name in _names(folder)]


def _names(folder: Path) -> list[str]:
    """Return the names of the records in the folder, in order."""
    try:
        names = [n for n in os.listdir(folder) if _NAME.fullmatch(n)]
    except (FileNotFoundError, NotADirectoryError):  # the latter: `strays_in`
        return []
    return sorted(names, key=_number)


def _number(name: str) -> int:
    return int(name.removesuffix(".json"))


def begin_attempt(
    folder: Path, owner: Owner, launch: str, *, retry_before: float = 0.0
) -> Attempt | None:
    """Claim the cell whose attempts are in `folder`.

    Args:
        folder: folder of the cell's attempts.
        owner: the claiming process.
        launch: the launcher of this process.
        retry_before: failures that ended before this time (seconds since 1970) run again.

    Returns:
        The new attempt; None if a living process holds the cell, or if the cell failed and is not
        retried.
    """
    names = _names(folder)  # once: of two that see the same, one makes the next file
    last = next(reversed(_read(folder, names)), None)
    if last is not None and last.state == "running":
        return None
    if last is not None and last.state == "failed" and last.record["ended"] >= retry_before:
        return None
    number = _number(names[-1]) + 1 if names else 1
    record = {
        "attempt": number,
        "owner": owner.record(),
        "launch": launch,
        "state": "running",
        "began": time.time(),
        "ended": None,
        "reason": None,
        "message": None,
    }
    path = folder / f"{number:04d}.json"
    return Attempt(path, record) if write_new(path, sealed(record)) else None
