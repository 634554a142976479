"""Every claim of the papers: a verdict at each scale that has results, or what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.claims import ClaimVerdict, Judged, worst
from bench.analysis.coverage import Place
from bench.papers.reader import load_paper
from bench.suites.suite import Suite


@dataclass(frozen=True)
class JudgedScale:
    """The checks of a suite, judged at a scale that has results."""

    suite: Suite
    scale: str
    judged: list[Judged]


def claim_rows(
    places: Sequence[Place], scales: Sequence[JudgedScale], scale: str | None = None
) -> list[dict[str, Any]]:
    """Return the rows of `bench claims --json` without a suite, in the order of the papers.

    A row has the keys of `Judged.record()`, taken from the check that decides: the worst. Beside
    them stand the suite, whether the scale's protocol is the published one, and the number of
    checks. A claim that nothing is said of has one row without suite and scale. `scale`: the only
    one that was looked at.
    """
    rows: list[dict[str, Any]] = []
    for place in places:
        spoken_of = [s for s in scales if s.suite.name in place.suites]
        tested = [row for s in spoken_of if (row := _row(place, s)) is not None]
        rows += tested or [_untested(place, spoken_of, scale)]
    return rows


def _row(place: Place, judged_scale: JudgedScale) -> dict[str, Any] | None:
    """Return the claim at one scale; None where no check of it has an effect."""
    checks = [judged for judged in judged_scale.judged if judged.claim.id == place.id]
    if all(judged.effect is None for judged in checks):
        return None
    verdict = worst(judged.verdict for judged in checks)
    deciding = next(judged for judged in checks if judged.verdict == verdict)
    return deciding.record() | {
        "suite": judged_scale.suite.name,
        "protocol": judged_scale.suite.scales[judged_scale.scale].protocol,
        "checks": len(checks),
    }


def _untested(place: Place, scales: Sequence[JudgedScale], scale: str | None) -> dict[str, Any]:
    claim = load_paper(place.paper).claim(place.id)
    of_scales = [
        f"{s.suite.name} at {s.scale}: {judged.missing}"
        for s in scales
        for judged in s.judged
        if judged.claim.id == place.id and judged.missing
    ]
    if place.suites:
        where = f"scale {scale}" if scale else "any scale"
        nothing = f"no results at {where} of {', '.join(place.suites)}"
        missing = "; ".join(dict.fromkeys(of_scales)) or nothing
    else:
        missing = place.reason or "no suite speaks of it"
    empty = dict.fromkeys(("scale", "check", "effect", "low", "high"))
    return {
        "paper": claim.paper,
        "claim": claim.id,
        "sentence": claim.claim,
        **empty,
        "n": 0,
        "groups": 0,
        "threshold": None,
        "verdict": str(ClaimVerdict.NOT_TESTED),
        "missing": missing,
        "suite": None,
        "protocol": None,
        "checks": 0,
    }
