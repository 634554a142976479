"""A claim's check with its verdict, and the verdict that several checks make of a claim."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bench.analysis.effects import Known, region_of
from bench.analysis.room import Room
from bench.analysis.statistics import ERROR, How, Interval
from bench.papers.printed_checks import PrintedCheck
from bench.papers.reader import Claim
from bench.suites.checks import Check

LEVEL = 1 - 2 * ERROR  # of the interval whose ends are the one-sided bounds


class ClaimVerdict(StrEnum):
    """What the results say of a sentence, from worst to best."""

    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"
    CANNOT_TELL = "cannot tell here"  # at this scale, whatever comes out
    NOT_TESTED = "not tested"
    PARTLY_HOLDS = "partly holds"  # what was tested holds and is not the whole sentence
    HOLDS = "holds"


@dataclass(frozen=True)
class Judged:
    """One check of a claim: its effect over seeds, the threshold, and the verdict."""

    claim: Claim
    scale: str
    check: Check
    effect: Interval | None  # of the group that decides
    threshold: float
    verdict: ClaimVerdict
    missing: str | None = None  # why it was not tested
    sides: tuple[float, float] | None = None  # of `moves-less`: their difference is it
    groups: int = 0  # that were judged one by one
    group: Known = field(default_factory=dict)  # what tells the one that decides from them
    others: tuple[tuple[Known, Interval], ...] = ()  # of few groups those that do not decide
    spread: How | None = None  # where the standard error comes from
    freedom: float | None = None  # degrees of freedom of the interval
    is_judged: bool = True  # whether the scale judges claims
    here: bool = True  # whether the scale has cells with the settings that the check names
    p_fails: float = 1.0  # of the hypothesis that no group lies outside
    smallest_effect: float | None = None  # distance from the threshold seen four times in five
    printed: PrintedCheck | None = None  # what the check gives on the printed numbers
    room: Room | None = None  # from what it is with nothing learned to what it is with labels
    unlearned: tuple[str, ...] = ()  # of each side that did not learn here: that, with the numbers
    stand_in_for: str | None = None  # the paper's metric, where the scale judges another
    why: str | None = None  # the scale cannot tell
    notes: tuple[str, ...] = ()  # of the suite, on the claim

    @property
    def counts(self) -> bool:
        """Whether the claim's verdict at this scale depends on it."""
        return self.here and not self.check.shown

    @property
    def printed_margin(self) -> float | None:
        """How far inside of what the check asks for the printed numbers lie; negative outside."""
        if self.printed is None:
            return None
        return region_of(self.check)[0].margin(self.printed.effect)

    def record(self) -> dict[str, Any]:
        """Return the row of `bench claims --json`."""
        e = self.effect
        return {
            "paper": self.claim.paper,
            "claim": self.claim.id,
            "sentence": self.claim.claim,
            "scale": self.scale,
            "check": self.check.model_dump(mode="json"),
            "judged": self.is_judged,
            "counts": self.counts,
            "part": self.check.part,
            "stand_in_for": self.stand_in_for,
            "effect": e.mean if e else None,
            "low": e.low if e else None,
            "high": e.high if e else None,
            "sides": list(self.sides) if self.sides else None,
            "level": LEVEL,
            "covers": "training seeds",
            "n": e.n if e else 0,
            "groups": self.groups,
            "group": self.group,
            "others": [
                {"settings": settings, "effect": of.mean, "low": of.low, "high": of.high}
                for settings, of in self.others
            ],
            "spread": self.spread,
            "freedom": self.freedom,
            "threshold": self.threshold,
            "smallest_effect": self.smallest_effect,
            "printed_effect": self.printed.effect if self.printed else None,
            "printed_groups": self.printed.groups if self.printed else 0,
            "printed_margin": self.printed_margin,
            "room": self.room.record() if self.room else None,
            "unlearned": list(self.unlearned),
            "verdict": str(self.verdict),
            "why": self.why,
            "missing": self.missing,
            "notes": list(self.notes),
        }


def worst(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """Return the worst of several verdicts; not tested where there is none."""
    return min(verdicts, key=list(ClaimVerdict).index, default=ClaimVerdict.NOT_TESTED)


def whole_verdict(checks: Sequence[Judged]) -> ClaimVerdict:
    """Return the verdict on a claim at a scale: of the checks that count and have cells there."""
    counted = [judged for judged in checks if judged.counts]
    verdict = worst(judged.verdict for judged in counted)
    if verdict == ClaimVerdict.HOLDS and all(judged.check.part for judged in counted):
        return ClaimVerdict.PARTLY_HOLDS
    return verdict
