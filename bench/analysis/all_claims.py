"""Every claim of the papers: a verdict at each scale that has results, or what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.claims import ClaimVerdict, Judged, worst
from bench.analysis.coverage import Place
from bench.config.suite import Suite
from bench.published.reader import load_paper


@dataclass(frozen=True)
class JudgedScale:
    """The checks of a suite, judged at a scale that has results."""

    suite: Suite
    scale: str
    judged: list[Judged]


def claim_rows(
    places: Sequence[Place], found: Sequence[JudgedScale], scale: str | None = None
) -> list[dict[str, Any]]:
    """Return the rows of `bench claims --json` without a suite, in the order of the papers.

    A row has the keys of `Judged.record()`, taken from the check that decides: the worst. Beside
    them stand the suite, whether the scale's protocol is the published one, and the number of
    checks. A claim that nothing is said of has one row without suite and scale. `scale`: the only
    one that was looked at.
    """
    rows: list[dict[str, Any]] = []
    for place in places:
        own = [f for f in found if f.suite.name in place.suites]
        told = [row for f in own if (row := _row(place, f)) is not None]
        rows += told or [_untested(place, own, scale)]
    return rows


def _row(place: Place, found: JudgedScale) -> dict[str, Any] | None:
    """Return the claim at one scale; None where no check of it has an effect."""
    checks = [judged for judged in found.judged if judged.claim.id == place.id]
    if all(judged.effect is None for judged in checks):
        return None
    verdict = worst(judged.verdict for judged in checks)
    deciding = next(judged for judged in checks if judged.verdict == verdict)
    return deciding.record() | {
        "suite": found.suite.name,
        "protocol": found.suite.scales[found.scale].protocol,
        "checks": len(checks),
    }


def _untested(place: Place, found: Sequence[JudgedScale], scale: str | None) -> dict[str, Any]:
    claim = load_paper(place.paper).claim(place.id)
    of_scales = [
        f"{f.suite.name} at {f.scale}: {judged.lacking}"
        for f in found
        for judged in f.judged
        if judged.claim.id == place.id and judged.lacking
    ]
    if place.suites:
        where = f"scale {scale}" if scale else "any scale"
        nothing = f"no results at {where} of {', '.join(place.suites)}"
        lacking = "; ".join(dict.fromkeys(of_scales)) or nothing
    else:
        lacking = place.reason or "no suite speaks of it"
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
        "lacking": lacking,
        "suite": None,
        "protocol": None,
        "checks": 0,
    }
