"""Verdicts on values, effects and claims.

An interval inside the required region confirms, an interval entirely outside refutes, and any other
interval leaves the verdict open. Intervals are 95 % intervals over seeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from bench.analysis.statistics import Interval


class Verdict(StrEnum):
    """Verdict on a published value or effect."""

    SAME = "same"
    SMALLER = "smaller"
    LARGER = "larger"
    OPPOSITE = "opposite"  # of an effect: the other direction
    DIFFERS = "differs"  # of an effect published as 0: there is one
    CANNOT_TELL = "cannot tell"
    ONE_SEED = "one seed"
    NOT_COMPARABLE = "not comparable"  # another protocol, or a number that means nothing
    NOT_MEASURED = "not measured"

    @property
    def refutes(self) -> bool:
        """Whether the measured value refutes the published one."""
        return self in (Verdict.SMALLER, Verdict.LARGER, Verdict.OPPOSITE, Verdict.DIFFERS)


class ClaimVerdict(StrEnum):
    """Verdict on a claim, from worst to best."""

    FAILS = "fails"
    NOT_SEEN = "not seen at this scale"  # outside what is required, at a reduced scale
    CANNOT_TELL = "cannot tell"
    NOT_TESTED = "not tested"
    PARTLY_HOLDS = "partly holds"  # what was tested holds and is not the whole claim
    HOLDS = "holds"


class EvidenceKind(StrEnum):
    """Kind of evidence; counts never mix kinds."""

    IMAGES = "images at the published protocol"
    IMAGES_REDUCED = "images at a reduced scale"
    SPEECH = "speech at the published protocol"
    SPEECH_REDUCED = "speech at a reduced scale"
    TOYS = "toy experiments at the published protocol"
    TOYS_REDUCED = "toy experiments at a reduced scale"
    IDENTITIES = "identities and theorems"

    @property
    def is_reduced(self) -> bool:
        """Whether the cells are smaller than published."""
        return self in (self.IMAGES_REDUCED, self.SPEECH_REDUCED, self.TOYS_REDUCED)


IDENTITY = ("identity",)
SPEECH = ("speech", "speech-baseline")
TOYS = ("gaussian-mi", "vince-gaussian", "optimal-bound", "gradient-norm", "spirals")
WIDE = "the interval lies only partly within the published value ± tolerance"
NOTHING = "the value of an untrained network lies within the tolerance"
BOTH = "the interval includes 0 and the published effect"
NEITHER_NONE = "the interval includes 0 and effects larger than rounding"

VerdictWithReason = tuple[Verdict, str | None]
"""A verdict, and the reason if it is "cannot tell"."""


def kind_of_evidence(experiment: str, protocol: str) -> EvidenceKind:
    """Return the kind of evidence of cells.

    Args:
        experiment: experiment of the cells. Those other than identities, toys and speech use
            images.
        protocol: protocol of their scale: published or reduced.
    """
    if experiment in IDENTITY:
        return EvidenceKind.IDENTITIES
    if experiment in TOYS:
        return EvidenceKind.TOYS if protocol == "published" else EvidenceKind.TOYS_REDUCED
    if experiment in SPEECH:
        return EvidenceKind.SPEECH if protocol == "published" else EvidenceKind.SPEECH_REDUCED
    return EvidenceKind.IMAGES if protocol == "published" else EvidenceKind.IMAGES_REDUCED


def judge_value(
    published: float | None,
    reach: float,
    measured: Interval | None,
    *,
    comparable: bool = True,
    nothing: float | None = None,
) -> VerdictWithReason:
    """Return the verdict on a published value or gain.

    Args:
        published: the published number; None if it cannot be read from the paper.
        reach: largest difference that counts as equal (tolerance plus rounding), in the unit of the
            metric.
        measured: the mean over seeds; None if nothing was measured.
        comparable: whether the cells follow the published protocol.
        nothing: metric value without learning. None skips this check.
    """
    if measured is None or published is None:
        return Verdict.NOT_MEASURED, None
    if not comparable:
        return Verdict.NOT_COMPARABLE, None
    if measured.low is None or measured.high is None:
        return Verdict.ONE_SEED, None
    low, high = published - reach, published + reach
    if measured.high < low:
        return Verdict.SMALLER, None
    if measured.low > high:
        return Verdict.LARGER, None
    if nothing is not None and low <= nothing <= high:
        return Verdict.CANNOT_TELL, NOTHING
    if low <= measured.low and measured.high <= high:
        return Verdict.SAME, None
    return Verdict.CANNOT_TELL, WIDE


def judge_effect(
    published: float, half_unit: float, measured: Interval | None
) -> VerdictWithReason:
    """Return the verdict on a published difference, in its published direction.

    Args:
        published: the published effect.
        half_unit: largest rounding error of the published effect.
        measured: the measured effect with its interval.
    """
    if measured is None:
        return Verdict.NOT_MEASURED, None
    if measured.low is None or measured.high is None:
        return Verdict.ONE_SEED, None
    if abs(published) < half_unit / 2:
        if max(-measured.low, measured.high) <= half_unit:
            return Verdict.SAME, None
        if measured.low <= 0 <= measured.high:
            return Verdict.CANNOT_TELL, NEITHER_NONE
        return Verdict.DIFFERS, None
    sign, size = (1 if published > 0 else -1), abs(published)
    low, high = sorted((sign * measured.low, sign * measured.high))
    if high < 0:
        return Verdict.OPPOSITE, None
    if high < size - half_unit:
        return Verdict.SMALLER, None
    if low > size + half_unit:
        return Verdict.LARGER, None
    return (Verdict.SAME, None) if low > 0 else (Verdict.CANNOT_TELL, BOTH)


def worst(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """Return the worst of several verdicts; `not tested` if there is none."""
    return min(verdicts, key=list(ClaimVerdict).index, default=ClaimVerdict.NOT_TESTED)
