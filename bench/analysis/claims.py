"""Verdicts on the papers' claims, which are stated in our words, from measured results.

A claim has one or several checks. A check is judged group by group (for instance, an order at every
temperature). It *holds* if the 95 % interval of every group lies inside the region that the check
requires. This is an intersection-union test, which needs no correction for multiple comparisons. It
*fails* if the interval of a group lies entirely outside. A failure is corrected for multiple
comparisons: by Bonferroni over the groups of a check and by Holm over the checks of a claim. The
correction changes verdicts but not intervals; `corrected` marks the changed verdicts. At a reduced
scale no claim fails; its verdict there is "not seen". benchmarks/verdicts.py measures the error
rates.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isinf
from typing import NamedTuple

from bench.analysis.contrasts import (
    Group,
    Known,
    cells_named,
    cells_of_check,
    estimates_of,
    names_of,
    others_than,
)
from bench.analysis.grounds import NOT_COMPUTED, Footing, Grounds
from bench.analysis.measured import Measured
from bench.analysis.room import Room, Rooms
from bench.analysis.statistics import ERROR, LEVEL, How, Interval
from bench.analysis.verdicts import ClaimVerdict, EvidenceKind, kind_of_evidence, worst
from bench.cells.cell import Cell
from bench.errors import PublishedError, SuiteError
from bench.files.yaml_file import load_yaml
from bench.papers.printed_checks import PrintedCheck, printed_check
from bench.papers.reader import NOT_COVERED, Artifact, Claim, Paper
from bench.record import Json
from bench.results.fitness import Failed, failed_among
from bench.results.reader import Done
from bench.suites.checks import Check
from bench.suites.suite import Scale, Suite

ONE_SEED = "one seed has no interval"
SHOWN = "measured, but the check cannot contradict the claim, so it decides nothing"
ROW_KEYS = (
    "paper", "claim", "claim_text", "locator", "scale", "evidence", "check", "subject", "required",
    "unit", "judged", "counts", "part", "stand_in_for", "threshold", "published_effect",
    "published_groups", "published_margin", "published_words", "effect", "low", "high", "sides",
    "level", "covers", "n", "groups", "group", "others", "cells", "spread", "freedom",
    "smallest_effect", "room", "unlearned", "verdict", "corrected", "why", "missing", "notes",
    "suite", "protocol", "checks",
)  # fmt: skip
"""Keys of a row of `bench claims --json` without a suite, except `overall`."""


@dataclass(frozen=True)
class Judged:
    """One check of a claim: its effect over seeds, the required region and the verdict."""

    claim: Claim
    check: Check
    scale: str = ""  # where it was judged
    verdict: ClaimVerdict = ClaimVerdict.NOT_TESTED
    effect: Interval | None = None  # of the group that decides
    evidence: EvidenceKind | None = None  # None: the scale has no such cells
    missing: str | None = None  # why it was not tested
    why: str | None = None  # nothing can be told
    corrected: bool = False  # fails before the correction for several comparisons, not after it
    sides: tuple[float, float] | None = None  # of `moves-less`: their difference is it
    groups: int = 0  # that were judged one by one
    group: Known = field(default_factory=dict)  # what tells the one that decides from them
    others: tuple[tuple[Known, Interval], ...] = ()  # of few groups those that do not decide
    cells: tuple[str, ...] = ()  # ids of those of the group that decides
    spread: How | None = None  # where the standard error comes from
    freedom: float | None = None  # degrees of freedom of the interval
    is_judged: bool = True  # whether the scale judges claims
    here: bool = True  # whether the scale has cells with the settings that the check names
    p_fails: float = 1.0  # of the hypothesis that no group lies outside
    smallest_effect: float | None = None  # distance from the threshold seen four times in five
    printed: PrintedCheck | None = None  # what the check gives on the published numbers
    room: Room | None = None  # from what it is with nothing learned to what it is with labels
    unlearned: tuple[str, ...] = ()  # of sides not detectably above baseline, with the numbers
    stand_in_for: str | None = None  # the paper's metric, where the scale judges another
    notes: tuple[str, ...] = ()  # of the suite, on the claim

    @property
    def counts(self) -> bool:
        """Whether the claim's verdict at this scale depends on this check."""
        return self.here and not self.check.shown

    @property
    def printed_margin(self) -> float | None:
        """Distance of the published numbers from the region's bound; negative if outside."""
        return None if self.printed is None else self.check.region.margin(self.printed.effect)

    def record(self) -> Json:
        """Return one row of `bench claims --json`."""
        check, printed, beside = self.check, self.printed, None
        if printed is not None and check.is_published:
            beside = check.published(printed, self.stand_in_for)
        asked = {
            "scale": self.scale,
            "evidence": str(self.evidence) if self.evidence else None,
            "check": check.model_dump(mode="json"),
            "subject": check.subject,
            "required": check.required,
            "unit": check.unit,
            "judged": self.is_judged,
            "counts": self.counts,
            "part": check.part,
            "stand_in_for": self.stand_in_for,
            "threshold": check.threshold,
            "published_effect": printed.effect if printed else None,
            "published_groups": printed.groups if printed else 0,
            "published_margin": self.printed_margin,
            "published_words": beside,
        }
        return claim_head(self.claim) | asked | self._measured()

    def _measured(self) -> Json:
        """Return what was measured, and the verdict."""
        e = self.effect
        return {
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
            "cells": list(self.cells),
            "spread": self.spread,
            "freedom": self.freedom,
            "smallest_effect": self.smallest_effect,
            "room": self.room.record() if self.room else None,
            "unlearned": list(self.unlearned),
            "verdict": str(self.verdict),
            "corrected": self.corrected,
            "why": self.why,
            "missing": self.missing,
            "notes": list(self.notes),
        }


def claim_head(claim: Claim) -> Json:
    """Return the fields that identify a claim in a row of `bench claims --json`."""
    head = {"paper": claim.paper, "claim": claim.id}
    return head | {"claim_text": claim.claim, "locator": claim.locator}


def judge_claims(
    suite: Suite,
    scale: str,
    cells: list[Cell],
    done: Done,
    paper: Paper,
    baselines: Done | None = None,
    failed: Failed = (),
) -> list[Judged]:
    """Return every check of the suite's claims, judged on the finished cells.

    Smoke-test scales and scales marked `unjudged` give no verdicts.

    Args:
        suite: the suite.
        scale: one of its scales.
        cells: the cells that the claims use.
        done: the finished cells.
        paper: the suite's paper.
        baselines: the finished baselines of the scale. If the scale's baselines are unfinished,
            checks on accuracies are not judged.
        failed: the failed cells.

    Raises:
        SuiteError: no effect can be computed of a check.
    """
    of_scale = suite.scales[scale]
    measured = Measured(cells, done, Rooms(of_scale.baselines, baselines), failed)
    rows: list[Judged] = []
    for name, checks in suite.claims.items():
        judged = []
        for i, check in enumerate(checks):
            printed = printed_check(suite.name, name, i)
            try:
                judged.append(_judge(of_scale, check, paper.claim(name), measured, printed))
            except SuiteError as fault:
                raise SuiteError(f"{suite.name}: claims.{name}.{i}: {fault}") from fault
        notes = tuple(suite.notes_on(name, scale))
        rows += [replace(row, scale=scale, notes=notes) for row in _corrected(judged)]
    if (why := of_scale.no_verdict) is None:
        return [_at_scale(row) for row in rows]
    told = (_cannot_tell(row, why) if row.effect else row for row in rows)
    return [replace(row, is_judged=False) for row in told]


def _judge(
    scale: Scale, written: Check, claim: Claim, measured: Measured, printed: PrintedCheck | None
) -> Judged:
    """Return one check, judged on the scale's stand-in of its metric where it has one."""
    names = scale.stand_in.metrics if scale.stand_in and not written.at else {}
    stand_in = names.get(written.metric)
    check = written if stand_in is None else written.judged_on(stand_in)
    judged = judge_check(check, claim, measured, printed)
    experiments = [c.experiment for c in cells_named(check, measured.index)[:1]]
    kinds = [kind_of_evidence(name, scale.protocol) for name in experiments]
    return replace(
        judged,
        evidence=kinds[0] if kinds else None,
        stand_in_for=written.metric if stand_in else None,
    )


def judge_check(
    check: Check, claim: Claim, measured: Measured, printed: PrintedCheck | None = None
) -> Judged:
    """Judge one check as if the claim had no other check.

    Args:
        check: the check.
        claim: the claim it belongs to.
        measured: all cells of a suite at a scale and the metrics of the finished ones.
        printed: result of the check on the published numbers, if the paper prints them.
    """
    needed = cells_named(check, measured.index)
    groups, missing = estimates_of(check, measured, needed)
    judged = Judged(claim, check, printed=printed)
    if not groups:
        judged = replace(judged, here=bool(cells_of_check(check, needed)))
        failed = failed_among(needed, measured.failed)
        left_out = measured.why_left_out(check.metric, needed)
        unfit = any(kept.unfit for c in needed if (kept := measured.finished.get(c.id)))
        if left_out and not (failed or unfit):
            return _cannot_tell(judged, left_out)
        return replace(judged, missing=failed or left_out or missing)
    return _verdict(judged, groups, measured)


def _verdict(judged: Judged, groups: Sequence[Group], measured: Measured) -> Judged:
    """Return the check with its verdict on all groups, and the effect that decides it.

    One group that fails is enough; else all of them must have grounds to be judged on.
    """
    region, footings = judged.check.region, dict[int, Footing]()
    rated: list[tuple[Group, Grounds, float]] = []
    for group in groups:
        if id(group.sides) not in footings:
            footings[id(group.sides)] = Footing(judged.check, group.sides, measured)
        grounds = footings[id(group.sides)].grounds(group.estimate.smallest_effect)
        p = group.estimate.p_outside(region) if grounds.are_sound else 1.0
        rated.append((group, grounds, p))
    failing = [one for one in rated if len(rated) * one[2] <= ERROR]
    baseless = [one for one in rated if not one[1].are_sound]
    unsure = [one for one in rated if not one[0].estimate.interval().inside(region)]
    candidates = failing or baseless or unsure or rated
    deciding, grounds, _ = min(candidates, key=lambda one: region.margin(one[0].estimate.mean))
    judged = _with_effect(judged, deciding, groups)
    judged = replace(
        judged,
        p_fails=min(1.0, len(rated) * min(p for *_, p in rated)),
        room=grounds.room,
        unlearned=tuple(dict.fromkeys(reason for _, g, _ in rated for reason in g.unlearned)),
    )
    if failing:
        return replace(judged, verdict=ClaimVerdict.FAILS)
    if any(grounds.missing for _, grounds, _ in baseless):
        return replace(judged, missing=NOT_COMPUTED)
    if baseless:
        return _cannot_tell(judged, str(grounds.why))
    if not unsure:
        return replace(judged, verdict=ClaimVerdict.HOLDS)
    return _undecided(judged, corrected=any(p <= ERROR for *_, p in rated))


def _with_effect(judged: Judged, deciding: Group, groups: Sequence[Group]) -> Judged:
    estimate = deciding.estimate
    names = zip(names_of(groups), groups, strict=True)
    return replace(
        judged,
        effect=estimate.interval(),
        sides=deciding.means if judged.check.shows_sides else None,
        groups=len(groups),
        group=next(name for name, of in names if of is deciding),
        others=tuple((n, of.estimate.interval()) for n, of in others_than(deciding, groups)),
        cells=deciding.cells,
        spread=estimate.how,
        freedom=None if isinf(estimate.error) else estimate.freedom,
        smallest_effect=estimate.smallest_effect,
    )


def _undecided(judged: Judged, *, corrected: bool) -> Judged:
    """Return a check that is neither inside nor outside, with the reason."""
    if judged.effect is None or judged.effect.low is None:
        return _cannot_tell(judged, ONE_SEED)
    why, seen, margin = judged.check.undecided, judged.smallest_effect, judged.printed_margin
    if corrected:
        why = (
            "the interval lies outside the required range, but not after correction "
            "for several comparisons"
        )
    if judged.printed and seen is not None and margin is not None and 0 < margin < seen:
        why += (
            f"; the published effect, {judged.printed.effect:.2g}, is only {margin:.2g} from the "
            f"threshold, and these cells can detect only distances of {seen:.2g} or more"
        )
    return replace(_cannot_tell(judged, why), corrected=corrected)


def _cannot_tell(judged: Judged, why: str) -> Judged:
    return replace(judged, verdict=ClaimVerdict.CANNOT_TELL, why=why, missing=None, p_fails=1.0)


def _corrected(checks: list[Judged]) -> list[Judged]:
    """Return a claim's checks, failures withdrawn that Holm's correction does not leave."""
    family = sorted((j for j in checks if j.counts and j.effect), key=lambda j: j.p_fails)
    withdrawn: list[Judged] = []
    for i, judged in enumerate(family):
        if judged.p_fails > ERROR / (len(family) - i):
            withdrawn = [j for j in family[i:] if j.verdict == ClaimVerdict.FAILS]
            break
    return [
        _undecided(j, corrected=True) if any(j is other for other in withdrawn) else j
        for j in checks
    ]


def _at_scale(judged: Judged) -> Judged:
    """Return the check, not seen where it fails at a reduced scale."""
    is_reduced = judged.evidence is not None and judged.evidence.is_reduced
    if judged.verdict != ClaimVerdict.FAILS or not is_reduced:
        return judged
    return replace(judged, verdict=ClaimVerdict.NOT_SEEN)


def whole_verdict(checks: Sequence[Judged]) -> ClaimVerdict:
    """Return the verdict on a claim at a scale, from the checks that count and have cells."""
    counted = [judged for judged in checks if judged.counts]
    verdict = worst(judged.verdict for judged in counted)
    if verdict == ClaimVerdict.HOLDS and all(judged.check.part for judged in counted):
        return ClaimVerdict.PARTLY_HOLDS
    return verdict


def by_claim(judged: Sequence[Judged]) -> list[tuple[Claim, ClaimVerdict, list[Judged]]]:
    """Return each claim with its overall verdict and its checks."""
    claims = {j.claim.id: j.claim for j in judged}
    rows = {name: [j for j in judged if j.claim.id == name] for name in claims}
    return [(claim, whole_verdict(rows[name]), rows[name]) for name, claim in claims.items()]


@dataclass(frozen=True)
class JudgedScale:
    """The judged checks of a suite at a scale with results."""

    suite: Suite
    scale: str
    judged: list[Judged]


class Mention(NamedTuple):
    """An artifact or claim with the suites that use it, or the reason why none does."""

    of: Artifact | Claim
    suites: list[str]
    reason: str | None = None

    @property
    def paper(self) -> str:
        """The paper's id."""
        return self.of.paper

    @property
    def id(self) -> str:
        """The id of the artifact or claim."""
        return self.of.id


def claim_rows(
    places: Sequence[Mention], scales: Sequence[JudgedScale], scale: str | None = None
) -> list[Json]:
    """Return the rows of `bench claims --json` for all suites, in the order of the papers.

    A row has the keys of `Judged.record()` for the deciding check: the worst check that counts.
    Further keys are the suite, whether the scale follows the published protocol, the number of
    checks, and the verdict on the claim over all scales. A claim without results has one row
    without suite and scale.

    Args:
        places: the claims of the papers with their checks.
        scales: the judged suites and scales with results.
        scale: the only scale to include; None includes all.
    """
    rows: list[Json] = []
    for place in places:
        own = [s for s in scales if s.suite.name in place.suites]
        tested = [row for s in own if (row := claim_row(place.id, s)) is not None]
        judged = tested or [_untested(place, own, scale)]
        overall = overall_verdict(
            [(ClaimVerdict(r["verdict"]), r["protocol"] == "published") for r in deciding(judged)]
        )
        rows += [row | {"overall": str(overall)} for row in judged]
    return rows


def deciding(rows: Sequence[Json]) -> list[Json]:
    """Return the rows that decide a claim.

    A scale at which a compared accuracy is not above the trivial baselines does not judge the
    claim, so it decides only if no other scale does. A scale that judges no claim decides last.
    """
    judged = [row for row in rows if row["judged"]]
    tested = [row for row in judged if row["verdict"] != ClaimVerdict.NOT_TESTED]
    return [row for row in tested if not row["unlearned"]] or judged or list(rows)


def overall_verdict(results: Sequence[tuple[ClaimVerdict, bool]]) -> ClaimVerdict:
    """Return the worst verdict at published scales, or at reduced scales if there are none.

    Args:
        results: the verdict at each scale and whether the scale follows the published protocol.
    """
    tested = [pair for pair in results if pair[0] != ClaimVerdict.NOT_TESTED]
    published = [verdict for verdict, is_published in tested if is_published]
    return worst(published or [verdict for verdict, _ in tested])


def counts_by_evidence(rows: Sequence[Json]) -> dict[EvidenceKind, Counter[ClaimVerdict]]:
    """Return the number of claims with each verdict, separately for each kind of evidence.

    A claim counts once per kind of evidence that tests it, with its worst verdict of that kind.

    Args:
        rows: result of `claim_rows`.
    """
    found: dict[EvidenceKind, dict[tuple[str, str], list[ClaimVerdict]]] = {}
    of_claim: dict[tuple[str, str], list[Json]] = {}
    for row in rows:
        of_claim.setdefault((row["paper"], row["claim"]), []).append(row)
    for name, own in of_claim.items():
        for row in deciding(own):
            if row["evidence"] and row["verdict"] != ClaimVerdict.NOT_TESTED:
                of_kind = found.setdefault(EvidenceKind(row["evidence"]), {})
                of_kind.setdefault(name, []).append(ClaimVerdict(row["verdict"]))
    return {
        kind: Counter(worst(verdicts) for verdicts in found.get(kind, {}).values())
        for kind in EvidenceKind
    }


def claim_row(claim: str, judged_scale: JudgedScale) -> Json | None:
    """Return the row of a claim at one scale; None if no cell of its checks has run."""
    checks = [judged for judged in judged_scale.judged if judged.claim.id == claim]
    counted = [judged for judged in checks if judged.counts]
    if all(judged.effect is None and judged.missing for judged in counted):
        return None
    lowest = worst(judged.verdict for judged in counted)
    return next(judged for judged in counted if judged.verdict == lowest).record() | {
        "verdict": str(whole_verdict(checks)),
        "suite": judged_scale.suite.name,
        "protocol": judged_scale.suite.scales[judged_scale.scale].protocol,
        "checks": len(checks),
    }


def _untested(place: Mention, scales: Sequence[JudgedScale], scale: str | None) -> Json:
    assert isinstance(place.of, Claim)
    of_scales = [
        f"{s.suite.name} at {s.scale}: {judged.missing or SHOWN}"
        for s in scales
        for judged in s.judged
        if judged.claim.id == place.id and bool(judged.missing) != judged.check.shown
    ]
    if place.suites:
        where = f"scale {scale}" if scale else "any scale"
        nothing = (
            f"the suites that test the claim have no results at {where} ({', '.join(place.suites)})"
        )
        missing = "; ".join(dict.fromkeys(of_scales)) or nothing
    else:
        missing = place.reason or "no suite of this folder covers the claim"
    row: Json = dict.fromkeys(ROW_KEYS) | claim_head(place.of)
    row |= dict.fromkeys(("n", "groups", "published_groups", "checks"), 0)
    row |= {"group": {}, "others": [], "cells": [], "unlearned": [], "notes": []}
    row |= {"counts": False, "corrected": False, "missing": missing}
    return row | {"verdict": str(ClaimVerdict.NOT_TESTED)}


def artifact_places(suites: Sequence[Suite], papers: Iterable[Paper]) -> list[Mention]:
    """Return all artifacts of the papers, in paper order."""
    named = {s.name: (s.paper, {*s.reproduces, *(c.artifact for c in s.compare)}) for s in suites}
    return _places("artifacts", named, papers)


def claim_places(suites: Sequence[Suite], papers: Iterable[Paper]) -> list[Mention]:
    """Return all claims of the papers, in paper order."""
    return _places("claims", {s.name: (s.paper, set(s.claims)) for s in suites}, papers)


def _places(
    kind: str, named: dict[str, tuple[str | None, set[str]]], papers: Iterable[Paper]
) -> list[Mention]:
    reasons = load_yaml(NOT_COVERED, PublishedError)
    return [
        Mention(
            entry,
            [suite for suite, (of, names) in named.items() if of == paper.id and name in names],
            reasons.get(paper.id, {}).get(kind, {}).get(name),
        )
        for paper in papers
        for name, entry in getattr(paper, kind).items()
    ]


def claims_of_artifact(paper: Paper, artifact: Artifact) -> list[Claim]:
    """Return the claims whose location in the paper is this artifact.

    Claims name a table, figure or theorem by its number. A claim without such a number is shown
    with the artifacts of its section. If the claim's name contains a data set, artifacts on other
    data sets are excluded.
    """
    first, data = next(_references(artifact.locator), None), artifact.setting.get("dataset")
    known = {str(a.setting.get("dataset")) for a in paper.artifacts.values()}
    return [
        claim
        for claim in paper.claims.values()
        if first and any(first.meets(other) for other in _named_places(claim))
        if data is None or _is_on(claim, str(data), known)
    ]


class _Reference(NamedTuple):
    """A table, figure, theorem or section: its kind, its number and the parts that are meant."""

    kind: str
    number: str
    parts: frozenset[str]

    def meets(self, other: "_Reference") -> bool:
        """Return whether both may mean the same."""
        either = not self.parts or not other.parts or bool(self.parts & other.parts)
        return self[:2] == other[:2] and either


SHORTEST_NAME = 4  # of a data set, in the name of a claim
_SECTIONS = ("sec", "app", "abs")
_REFERENCE = re.compile(
    r"\b(?P<main>main )?(?P<kind>Tab|Fig|Thm|Theorem|Prop|Lemma|Cor|Sec|App|Abstract)[a-z]*\.? ?"
    r"(?P<numbers>[A-Z]?\d*(?:\.\d+)*[a-z]?(?:(?:-| and | and )\d+)?)"
    r"(?:\((?P<parts>[a-z](?:[-,] ?[a-z])*)\))?",
    re.IGNORECASE,
)


def _references(locator: str) -> Iterator[_Reference]:
    """Yield what a locator names: `Tables 12 and 13`, `Fig. 3(a, b)`, `Sec. 4.2`."""
    for found in _REFERENCE.finditer(locator):
        kind = (found["main"] or "").lower() + found["kind"][:3].lower().replace("the", "thm")
        start, _, end = re.sub("-| and ", "-", found["numbers"]).partition("-")
        own = start[-1:] if start[-1:].islower() else ""
        letters = re.findall("[a-z]", found["parts"] or "")
        if "-" in (found["parts"] or ""):
            letters = [chr(c) for c in range(ord(letters[0]), ord(letters[-1]) + 1)]
        parts = frozenset([*letters, *own])
        number = start.removesuffix(own) if own else start
        last = int(end) if end and number.isdigit() else 0
        for each in range(int(number), last + 1) if last else [number]:
            yield _Reference(kind, str(each), parts)


def _named_places(claim: Claim) -> list[_Reference]:
    """Return the tables and figures that a claim names; its sections where it names none."""
    named = list(_references(claim.locator))
    return [one for one in named if one.kind not in _SECTIONS] or named


def _is_on(claim: Claim, data: str, known: Collection[str]) -> bool:
    """Return whether a claim's name leaves room for a data set: it names it, or none at all."""
    words = [word for word in claim.id.split("-") if len(word) >= SHORTEST_NAME]
    named = [word for word in words if any(name.startswith(word) for name in known)]
    return not named or any(data.startswith(word) for word in named)
