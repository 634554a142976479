"""What can go wrong, as a tree.

BenchError                a user's mistake: one clear line, exit status 2
|-- SuiteError            a suite file: unknown key, wrong type, empty axis, unknown artifact
|-- PublishedError        a question about a paper, artifact or claim that does not exist
|-- StoreError            the results folder: not writable, a record that cannot be read
|   `-- Damaged           a file of it is not what was written
|-- NothingMeasured       no result there to answer with: exit status 3
|-- LaunchError           a run that cannot start: no GPU of that number, nothing started to resume
`-- DataError             a data set that cannot be had
    |-- DataMissing       it is not where it should be
    `-- DataTorn          a file of it is damaged
CellFailure               one cell could not be computed; the others go on
|-- Diverged              a loss or estimate is not finite
`-- DataFailure           a data set is missing, torn or too small for the cell
Interrupted               the work was told to stop; it can be resumed
|-- DiskFailure           by a disk that is full, over quota, read-only or broken
|-- Preempted             by Slurm, which takes the machine back or has reached a time limit
`-- RankLost              another rank of a run on several ended without a word
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

NO_MEMORY = ("DefaultCPUAllocator: can't allocate memory", "Storage size calculation overflowed")
"""Texts of torch's RuntimeError if memory does not suffice."""

INTERRUPTED = 130  # exit status


class BenchError(Exception):
    """A user's mistake, in one line: the place, the value found, the rule or the remedy."""


class SuiteError(BenchError):
    """A suite file does not say what a suite must say."""


class PublishedError(BenchError):
    """A paper, artifact or claim that the published values do not hold."""


class StoreError(BenchError):
    """The results folder cannot be used as asked."""


class Damaged(StoreError):
    """A file of the results is not what was written; what rests on it counts as missing."""


class NothingMeasured(BenchError):
    """There is no result to answer with: exit status 3."""


class LaunchError(BenchError):
    """A run cannot start."""


class DataError(BenchError):
    """A data set cannot be had: the place and the remedy, in one line."""


class DataMissing(DataError):
    """A data set is not where it should be."""


class DataTorn(DataError):
    """A file of a data set is damaged or not what it should be."""


class CellFailure(Exception):
    """One cell cannot be computed; `reason` is one of the store's failure reasons."""

    reason: ClassVar[str] = "code"


class Diverged(CellFailure):
    """A loss or an estimate became infinite or not a number."""

    reason = "diverged"


class DataFailure(CellFailure):
    """The cell's data cannot be had."""

    reason = "data"


class Interrupted(BaseException):
    """The process was told to stop (SIGTERM, SIGINT, or its launcher is gone)."""


class DiskFailure(Interrupted):
    """A file cannot be written, whatever is in it: one line with its path."""


class Preempted(Interrupted):
    """The process was warned that its job is about to be ended."""


class RankLost(Interrupted):
    """Another of the processes that compute a cell together cannot be reached any more."""


MOST_LISTED = 16  # words that an error line lists in full
NEAREST = 8  # of more than that


def choices(value: str, allowed: list[str], listed_by: str | None = None) -> str:
    """Return the end of an error line: near matches, if any, and what is allowed.

    Of a long list only the words nearest to `value` are named.

    Args:
        value: the word that is not.
        allowed: the words that are.
        listed_by: the command that shows them, where they are too many for a line.
    """
    begun = [name for name in allowed if name.startswith((f"{value}-", f"{value}_"))]
    same = [name for name in allowed if name.lower() == value.lower()]
    near = _first([*same, *begun, *get_close_matches(value, allowed)], 3 if listed_by else 1)
    hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    if listed_by:
        return f"{hint}`{listed_by}` lists all {len(allowed)}."
    if len(allowed) <= MOST_LISTED:
        return f"{hint}Allowed here: {', '.join(allowed)}."
    nearest = _first(
        [*same, *begun, *get_close_matches(value, allowed, n=NEAREST, cutoff=0.0)], NEAREST
    )
    return f"{hint}Allowed here: {', '.join(nearest)} and {len(allowed) - NEAREST} more."


def _first(names: Iterable[str], count: int) -> list[str]:
    return list(dict.fromkeys(names))[:count]
