"""Whether other projects have observed a claim; verdicts do not use it.

The rule, for one effect e of a check, in points of percent:

- *yes*: e has the required direction, at least half of the published size, and exceeds the noise.
  If the check requires no difference, e lies within its margin.
- *no*: e misses this condition by more than the noise.
- Otherwise, e is not counted.

The noise is 1.96 times the standard deviation of a difference of two single trainings, which
`bench/papers/noise.yaml` has by data set. Contrasts do not count, because their numbers differ, or
may differ, in settings other than the compared one. Effects on data sets or with networks with
which the paper does not test the claim do not count either. The result for a claim is *yes* or *no*
if all counted effects agree, *mixed* if they disagree, and *nobody* if no effect counts. *Yes*
becomes *in part* if the claim has a check without an effect that counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isinf, sqrt
from typing import Any

from bench.papers.others import noise
from bench.papers.printed_checks import PrintedCheck, printed_check
from bench.suites.checks import Check
from bench.suites.metric_words import metric_words
from bench.suites.others import SourceEffect, objectives_of, source_effects
from bench.suites.suite import Suite, axis_values
from bench.text import counted

QUANTILE = 1.96  # of the normal distribution, two-sided 95 %
ClaimKey = tuple[str, str]  # paper and claim
SHARE = 0.5  # of the published size
CONTRAST, OTHER_DATA = "contrast", "other data"
OTHER_NETWORK, WITHIN_NOISE = "other network", "within the noise"
"""Reason why an effect counts neither for the claim nor against it."""


class Seen(StrEnum):
    """Whether other projects have observed a claim."""

    YES = "yes"
    IN_PART = "in part"
    NO = "no"
    MIXED = "mixed"
    NOBODY = "nobody"


@dataclass(frozen=True)
class SeenByOthers:
    """Results of other projects for a claim."""

    effects: list[tuple[SourceEffect, Seen | None]]  # None: it counts neither way
    is_whole: bool = True  # whether each check of the claim has an effect that counts

    @property
    def seen(self) -> Seen:
        """One word for all sources together."""
        found = overall(seen for _, seen in self.effects)
        return Seen.IN_PART if found == Seen.YES and not self.is_whole else found

    @property
    def summary(self) -> str:
        """The effects of each project that count, and how many differences do not count."""
        by_project: dict[str, list[tuple[SourceEffect, Seen | None]]] = {}
        for effect, answer in self.effects:
            by_project.setdefault(effect.project, []).append((effect, answer))
        if not by_project:
            return "We know of no published measurement of this effect."
        return " ".join(_project_words(*found) for found in by_project.items())

    def record(self) -> dict[str, Any]:
        """Return the record for `--json`."""
        return {
            "seen": str(self.seen),
            "summary": self.summary,
            "effects": [
                effect.record() | {"seen": str(seen) if seen else None}
                for effect, seen in self.effects
            ],
        }


def seen_by_others(suite: Suite, claim: str) -> SeenByOthers:
    """Return other projects' results for one claim of a suite.

    Args:
        suite: the suite.
        claim: the claim's id.
    """
    objectives = objectives_of(suite)
    found: list[tuple[SourceEffect, Seen | None]] = []
    is_whole = True
    for place, check in enumerate(suite.claims[claim]):
        printed = printed_check(suite.name, claim, place)
        known = {_rows_of(effect) for effect, _ in found}
        of_check: list[tuple[SourceEffect, Seen | None]] = []
        for effect in source_effects(check, objectives):
            is_alike = _why_unlike(effect, suite) is None
            answer = judge(effect.value, effect.dataset, check, printed) if is_alike else None
            of_check.append((effect, answer))
        is_whole &= any(answer for _, answer in of_check)
        found += [(effect, answer) for effect, answer in of_check if _rows_of(effect) not in known]
    return SeenByOthers(found, is_whole)


def seen_claims(suites: Iterable[Suite]) -> dict[ClaimKey, SeenByOthers]:
    """Return other projects' results for each claim that has any, by paper and claim.

    Args:
        suites: suites that check claims. A claim in several suites has the effects of all of them.
    """
    found: dict[ClaimKey, SeenByOthers] = {}
    for suite in suites:
        for claim in suite.claims:
            seen, key = seen_by_others(suite, claim), (str(suite.paper), claim)
            before = found.get(key, SeenByOthers([], is_whole=False))
            known = {_rows_of(effect) for effect, _ in before.effects}
            new = [pair for pair in seen.effects if _rows_of(pair[0]) not in known]
            if before.effects or new:
                is_whole = before.is_whole or seen.is_whole
                found[key] = SeenByOthers([*before.effects, *new], is_whole)
    return found


def published_data(suite: Suite) -> frozenset[str]:
    """Return the data sets of the paper's own numbers."""
    values = axis_values(suite)
    return frozenset(str(v) for name in ("dataset", "detect_dataset") for v in values.get(name, ()))


def judge(value: float, dataset: str, check: Check, printed: PrintedCheck | None) -> Seen | None:
    """Return whether an effect meets a check; None if it does not count.

    Args:
        value: the effect, in percentage points.
        dataset: data set of the effect, which determines the noise.
        check: defines the required effects.
        printed: result of the check on the published numbers; None if there is none.
    """
    margin, region = noise_of(dataset), check.region
    if not isinf(region.low) and not isinf(region.high):
        return _side(region.margin(value), margin)
    sign = 1 if isinf(region.high) else -1
    size = sign * printed.effect if printed else 0.0
    value = sign * value
    if size > 0:
        answer = _side(value - SHARE * size, margin)
        return None if answer == Seen.YES and value <= margin else answer
    return Seen.YES if value > margin else Seen.NO if value < -margin else None


def why_uncounted(effect: SourceEffect, suite: Suite) -> str:
    """Return in a few words why an effect does not count.

    Args:
        effect: an effect for which `judge` returns None, or that was not judged.
        suite: the suite whose claim the effect is compared with.
    """
    return _why_unlike(effect, suite) or WITHIN_NOISE


def _why_unlike(effect: SourceEffect, suite: Suite) -> str | None:
    """Return why an effect is no effect of a suite's claim; None if it is one."""
    if not effect.is_effect:
        return CONTRAST
    if effect.dataset not in published_data(suite):
        return OTHER_DATA
    networks = axis_values(suite).get("arch")  # None: the paper does not state it
    theirs = {row.settings.get("arch") for row in effect.rows}
    return None if networks is None or theirs <= networks else OTHER_NETWORK


def overall(answers: Iterable[Seen | None]) -> Seen:
    """Return one word that summarises several effects."""
    counting = {answer for answer in answers if answer is not None}
    return Seen.NOBODY if not counting else counting.pop() if len(counting) == 1 else Seen.MIXED


def noise_of(dataset: str) -> float:
    """Return 1.96 standard deviations of the difference of two trainings, in percentage points."""
    known = noise()
    return QUANTILE * sqrt(2) * known.get(dataset, known["elsewhere"])


def _side(margin: float, noise: float) -> Seen | None:
    return Seen.YES if margin >= 0 else Seen.NO if margin < -noise else None


def _rows_of(effect: SourceEffect) -> frozenset[tuple[str, int]]:
    return frozenset((row.source.id, row.position) for row in effect.rows)


def _project_words(project: str, found: Sequence[tuple[SourceEffect, Seen | None]]) -> str:
    """Return the counting effects of one project in words, those of a kind together."""
    kinds: dict[tuple[str, ...], list[float]] = {}
    for e in (effect for effect, answer in found if answer):
        kinds.setdefault((e.subject, e.dataset, metric_words(e.metric)), []).append(e.value)
    parts = []
    for (subject, dataset, metric), values in kinds.items():
        low, high = min(values), max(values)
        size = f"{low:+.1f}" if low == high else f"{low:+.1f} to {high:+.1f}"
        parts.append(f"{size} points for {subject} ({dataset}, {metric})")
    said = [f"The project {project} found {', '.join(parts)}."] * bool(parts)
    if left := sum(answer is None for _, answer in found):
        said.append(
            f"{counted(left, 'difference').capitalize()} between runs of the project {project} "
            f"{'counts' if left == 1 else 'count'} neither for nor against the paper's claim, "
            "because other settings, the data or noise may explain it."
        )
    return " ".join(said)
