"""What came of an attempt: an answer, a clean refusal, or one of the findings."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

from benchmarks.attacks.child import MOST_BYTES, Answer

ANSWERS = (0, 1, 3)  # exit statuses that are no mistake of the user
SHOWN = 300  # characters of a detail


class Outcome(StrEnum):
    """What can come of an attempt; all but the first two are findings."""

    ANSWERED = "answered"
    REFUSED = "refused"
    TRACEBACK = "traceback"
    HANG = "hang"
    MEMORY = "memory"
    CHANGED = "changed"  # a number, silently


FINDINGS = [outcome for outcome in Outcome if outcome not in ("answered", "refused")]


@dataclass(frozen=True)
class Attempt:
    """One thing tried."""

    what: str  # in words
    outcome: Outcome
    detail: str = ""
    is_followed: bool = False  # by others that were made already

    @property
    def is_finding(self) -> bool:
        """Whether it must be mended."""
        return self.outcome in FINDINGS


Attempts = Callable[[Random, Path], Generator[Attempt, None, None]]
"""Yields attempts for ever, in an empty folder."""


def judge(what: str, answer: Answer, changed: Callable[[], str | None] = lambda: None) -> Attempt:
    """Return what came of a command.

    Args:
        what: was tried.
        answer: of the command.
        changed: says which number is another one without a word, if the command ended well.
    """
    if answer.hangs:
        return Attempt(what, Outcome.HANG, answer.last_line[:SHOWN])
    if answer.peak_bytes > MOST_BYTES:
        return Attempt(what, Outcome.MEMORY, f"{answer.peak_bytes / 2**30:.1f} GiB")
    clean = answer.refuses or answer.status in ANSWERS
    if not clean or "Traceback (most recent call last)" in answer.err:
        told = f"status {answer.status}: {answer.last_line}"
        return Attempt(what, Outcome.TRACEBACK, told[:SHOWN])
    wrong = changed()
    if wrong is not None:
        return Attempt(what, Outcome.CHANGED, wrong[:SHOWN])
    outcome = Outcome.REFUSED if answer.refuses else Outcome.ANSWERED
    return Attempt(what, outcome, answer.last_line[:SHOWN])
