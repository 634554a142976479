"""Exception hierarchy.

BenchError                a user's mistake: one clear line, exit status 2
|-- SuiteError            a suite file: unknown key, wrong type, empty axis, unknown artifact
|-- PublishedError        an unknown paper, artifact or claim, or invalid published data
|-- StoreError            the results folder: not writable, a record that cannot be read
|   `-- Damaged           a results file was changed or is corrupt
|-- NothingMeasured       no results exist: exit status 3
|-- LaunchError           a run that cannot start: no GPU of that number, nothing started to resume
`-- DataError             a data set that cannot be used
    |-- DataMissing       the data set is missing
    `-- DataTorn          a file of the data set is damaged
CellFailure               one cell could not be computed; others continue
|-- Diverged              a loss or estimate is not finite
`-- DataFailure           a data set is missing, damaged or too small for the cell
Interrupted               the run was asked to stop; it can be resumed
|-- DiskFailure           the disk is full, over quota, read-only or broken
|-- Preempted             Slurm preempts the job, or its time limit is reached
`-- RankLost              another rank ended without an error message
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import ClassVar

from bench.text import plain_text

NO_MEMORY = ("DefaultCPUAllocator: can't allocate memory", "Storage size calculation overflowed")
"""Texts of torch's RuntimeError if memory does not suffice."""

INTERRUPTED = 130  # exit status


class _OneLine:
    """Exception whose message is one line; control characters in names are escaped."""

    def __str__(self) -> str:
        return plain_text(super().__str__())


class BenchError(_OneLine, Exception):
    """A user's mistake, in one line: the place, the value found, and the rule or remedy.

    Attributes:
        more: further mistakes that were found with it, one line each.
    """

    def __init__(self, text: str, more: Sequence[str] = ()) -> None:
        """Store the messages."""
        super().__init__(text)
        self.more = tuple(map(plain_text, more))


class SuiteError(BenchError):
    """A suite file is invalid."""


class PublishedError(BenchError):
    """A paper, artifact or claim is unknown, or published data are invalid."""


class StoreError(BenchError):
    """The results folder cannot be used."""


class Damaged(StoreError):
    """A results file was changed or is corrupt; results that depend on it count as missing."""


class NothingMeasured(BenchError):
    """No results exist: exit status 3."""


class LaunchError(BenchError):
    """A run cannot start."""


class DataError(BenchError):
    """A data set cannot be used; the message has the path and the remedy, in one line."""


class DataMissing(DataError):
    """A data set is missing."""


class DataTorn(DataError):
    """A file of a data set is damaged."""


class CellFailure(_OneLine, Exception):
    """One cell cannot be computed; `reason` is one of the store's failure reasons."""

    reason: ClassVar[str] = "code"


class Diverged(CellFailure):
    """A loss or estimate became infinite or NaN."""

    reason = "diverged"


class DataFailure(CellFailure):
    """The data of a cell are missing, damaged or too few."""

    reason = "data"


class Interrupted(_OneLine, BaseException):
    """The process was asked to stop (SIGTERM, SIGINT, or its launcher ended)."""


class DiskFailure(Interrupted):
    """A file cannot be written; the message is one line with its path."""


class Preempted(Interrupted):
    """The job will be ended soon."""


class RankLost(Interrupted):
    """Another process that computes the same cell cannot be reached."""


MOST_TOLD = 10  # mistakes of one file


@contextmanager
def collected(faults: list[BenchError], at: str = "") -> Iterator[None]:
    """Keep a user's mistake in `faults`, so that checks that do not depend on it go on.

    Args:
        faults: list that receives the mistake.
        at: start of its message.
    """
    try:
        yield
    except BenchError as fault:
        faults.append(type(fault)(f"{at}{fault}", fault.more))


def raise_all(faults: Sequence[BenchError], kind: type[BenchError]) -> None:
    """Raise an error of the given class with the first MOST_TOLD mistakes, if there are any.

    Raises:
        BenchError: an error of the given class.
    """
    lines = list(dict.fromkeys(line for fault in faults for line in (str(fault), *fault.more)))
    if lines:
        raise kind(lines[0], lines[1:MOST_TOLD])


MOST_LISTED = 16  # words that an error line lists in full
NEAREST = 8  # of more than that


def choices(value: str, allowed: list[str], listed_by: str | None = None) -> str:
    """Return the end of an error message: near matches, if any, and allowed values.

    For a long list, only the words nearest to `value` are named.

    Args:
        value: the unknown word.
        allowed: the allowed words.
        listed_by: the command that lists all allowed words, for long lists.
    """
    alike = near(value, allowed)
    meant = alike[: 3 if listed_by else 1]
    hint = f"Did you mean {' or '.join(map(repr, meant))}? " if meant else ""
    if listed_by:
        return f"{hint}`{listed_by}` lists all {len(allowed)}."
    if len(allowed) <= MOST_LISTED:
        return f"{hint}Allowed here: {', '.join(allowed)}."
    nearest = [*alike, *get_close_matches(value, allowed, n=NEAREST, cutoff=0.0)]
    shown = list(dict.fromkeys(nearest))[:NEAREST]
    return f"{hint}Allowed here: {', '.join(shown)} and {len(allowed) - NEAREST} more."


def near(value: str, allowed: Sequence[str]) -> list[str]:
    """Return the allowed words that are alike an unknown one, the likeliest first."""
    begun = [name for name in allowed if name.startswith((f"{value}-", f"{value}_"))]
    same = [name for name in allowed if name.lower() == value.lower()]
    return list(dict.fromkeys([*same, *begun, *get_close_matches(value, allowed)]))
