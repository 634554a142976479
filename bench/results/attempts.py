"""Attempts at a cell: the record of each execution, and at the same time the claim on the cell.

Attempt n + 1 may begin when attempt n has ended or its owner is dead. Its file is made by a hard
link, which exactly one of several contenders can do, so a dead owner's claim is taken over once.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.errors import StoreError
from bench.files.atomic import read_json, to_json, write_new, write_whole
from bench.results.owner import Owner

_KEYS = {"attempt", "owner", "launch", "state", "ended", "reason", "message"}

Ending = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True)
class Attempt:
    """One execution of a cell."""

    path: Path
    record: dict[str, Any]

    @property
    def number(self) -> int:
        """1 for the first."""
        return int(self.record["attempt"])

    @property
    def owner(self) -> Owner:
        """The process that made it."""
        return Owner.of(self.record["owner"])

    @property
    def state(self) -> str:
        """One of running, done, failed, interrupted; killed if its owner died without a word."""
        state = str(self.record["state"])
        return "killed" if state == "running" and not self.owner.is_alive(self.path) else state

    def is_mine(self) -> bool:
        """Whether this is still the highest attempt: nobody took the claim for dead."""
        return _names(self.path.parent)[-1:] == [self.path.name]

    def end(self, state: Ending, reason: str | None = None, message: str | None = None) -> None:
        """Record how it ended and so give up the claim."""
        change = {"state": state, "ended": time.time(), "reason": reason, "message": message}
        write_whole(self.path, to_json(self.record | change))


def last_attempt(folder: Path) -> Attempt | None:
    """Return the latest attempt recorded in the folder."""
    attempts = all_attempts(folder)
    return attempts[-1] if attempts else None


def all_attempts(folder: Path) -> list[Attempt]:
    """Return the attempts recorded in the folder, in order."""
    records = [(folder / name, read_json(folder / name)) for name in _names(folder)]
    for path, record in records:
        if record is not None and not (isinstance(record, dict) and set(record) >= _KEYS):
            raise StoreError(f"{path}: is no record of an attempt; remove {folder.parent}")
    return [Attempt(path, record) for path, record in records if record is not None]


def _names(folder: Path) -> list[str]:
    """Return the names of the records in the folder, in order."""
    try:
        return sorted(n for n in os.listdir(folder) if n.endswith(".json") and n[0] != ".")
    except FileNotFoundError:
        return []


def begin_attempt(
    folder: Path, owner: Owner, launch: str, *, retry_before: float = 0.0
) -> Attempt | None:
    """Claim the cell whose attempts stand in `folder`.

    Args:
        folder: the cell's attempts.
        owner: who claims.
        launch: on whose behalf.
        retry_before: failures that ended before this time (seconds since 1970) are tried again.

    Returns:
        The new attempt; None if a living process holds the cell, or it failed for good.
    """
    folder.mkdir(parents=True, exist_ok=True)
    last = last_attempt(folder)
    if last is not None and last.state == "running":
        return None
    if last is not None and last.state == "failed" and last.record["ended"] >= retry_before:
        return None
    number = 1 if last is None else last.number + 1
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
    return Attempt(path, record) if write_new(path, to_json(record)) else None
