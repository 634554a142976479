"""Every claim of the papers: a verdict at each scale that has results, or what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.coverage import Place
from bench.analysis.judged import ClaimVerdict, Judged, whole_verdict, worst
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

    A row has the keys of `Judged.record()`, taken from the check that decides: the worst of those
    that count. Beside them stand the suite, whether the scale's protocol is the published one, the
    number of checks, and the verdict on the claim over all scales. A claim that nothing is said of
    has one row without suite and scale. `scale`: the only one that was looked at.

    Args:
        places: the claims of the papers, each with its checks.
        scales: the suites and scales that have results, judged.
        scale: the only scale that was looked at; None: all.
    """
    rows: list[dict[str, Any]] = []
    for place in places:
        spoken_of = [s for s in scales if s.suite.name in place.suites]
        tested = [row for s in spoken_of if (row := claim_row(place.id, s)) is not None]
        judged = tested or [_untested(place, spoken_of, scale)]
        deciding = [row for row in judged if row["judged"]] or judged
        overall = overall_verdict(
            [(ClaimVerdict(row["verdict"]), row["protocol"] == "published") for row in deciding]
        )
        rows += [row | {"overall": str(overall)} for row in judged]
    return rows


def overall_verdict(results: Sequence[tuple[ClaimVerdict, bool]]) -> ClaimVerdict:
    """Return the verdict on a claim over its suites and scales.

    Published scales decide. Where they test a part of the sentence only, the reduced ones decide
    with them; where no published scale was tested, alone.

    Args:
        results: the verdict at each scale, and whether its protocol is the published one.
    """
    tested = [pair for pair in results if pair[0] != ClaimVerdict.NOT_TESTED]
    published = [verdict for verdict, is_published in tested if is_published]
    reduced = [verdict for verdict, is_published in tested if not is_published]
    overall = worst(published or reduced)
    return worst([overall, *reduced]) if overall == ClaimVerdict.PARTLY_HOLDS else overall


def decided_as_published(results: Sequence[tuple[ClaimVerdict, bool]]) -> bool:
    """Return whether a published scale decides the verdict on a claim over its scales.

    Args:
        results: as `overall_verdict` takes them.
    """
    overall = overall_verdict(results)
    return overall in [verdict for verdict, is_published in results if is_published]


def claim_row(claim: str, judged_scale: JudgedScale) -> dict[str, Any] | None:
    """Return the claim at one scale; None where no check of it has an effect."""
    checks = [judged for judged in judged_scale.judged if judged.claim.id == claim]
    counted = [judged for judged in checks if judged.counts]
    if all(judged.effect is None for judged in counted):
        return None
    lowest = worst(judged.verdict for judged in counted)
    deciding = next(judged for judged in counted if judged.verdict == lowest)
    return deciding.record() | {
        "verdict": str(whole_verdict(checks)),
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
        if judged.claim.id == place.id and judged.missing and not judged.check.shown
    ]
    if place.suites:
        where = f"scale {scale}" if scale else "any scale"
        nothing = f"no results at {where} of {', '.join(place.suites)}"
        missing = "; ".join(dict.fromkeys(of_scales)) or nothing
    else:
        missing = place.reason or "no suite covers it"
    keys = (
        "paper", "claim", "sentence", "scale", "check", "judged", "counts", "part", "stand_in_for",
        "effect", "low", "high", "sides", "level", "covers", "n", "groups", "group", "others",
        "spread", "freedom", "threshold",
        "smallest_effect", "printed_effect", "printed_groups", "printed_margin", "room",
        "unlearned", "verdict", "why", "missing",
    )  # fmt: skip
    return dict.fromkeys(keys) | {
        "paper": claim.paper,
        "claim": claim.id,
        "sentence": claim.claim,
        "counts": False,
        "n": 0,
        "groups": 0,
        "group": {},
        "others": [],
        "printed_groups": 0,
        "unlearned": [],
        "verdict": str(ClaimVerdict.NOT_TESTED),
        "missing": missing,
        "notes": [],
        "suite": None,
        "protocol": None,
        "checks": 0,
    }
