"""The start page: questions, a matrix of claims, all artifacts and results."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.analysis.claims import (
    Mention,
    artifact_places,
    claim_places,
    counts_by_evidence,
    deciding,
    overall_verdict,
)
from bench.analysis.others import ClaimKey, SeenByOthers
from bench.analysis.questions import Findings
from bench.analysis.verdicts import ClaimVerdict, Verdict
from bench.analysis.verdicts import EvidenceKind as Kind
from bench.papers.others import others as all_numbers
from bench.papers.reader import Paper
from bench.report.claim_words import effect_words
from bench.report.page import Page
from bench.report.questions import Answer, answers, first_sentences, maps_of
from bench.report.section import SectionFacts
from bench.report.summary import PUBLISHED, Origin, Summary, citation, origin_of_all
from bench.report.tables import counts_text
from bench.suites.suite import Suite

ORDER = (
    ClaimVerdict.HOLDS,
    ClaimVerdict.PARTLY_HOLDS,
    ClaimVerdict.FAILS,
    ClaimVerdict.NOT_SEEN,
    ClaimVerdict.CANNOT_TELL,
    ClaimVerdict.NOT_TESTED,
)
TITLE = "Reproduction of {} papers on contrastive learning"
NUMBERS = {5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten"}
OVERVIEW = "questions-overview"
OWN_TITLE = "Results of your own suites"
ALWAYS_SHOWN = (Kind.IMAGES, Kind.IMAGES_REDUCED, Kind.TOYS, Kind.IDENTITIES)


def write_index(
    to: Path,
    summaries: Sequence[Summary],
    suites: Sequence[Suite],
    papers: Sequence[Paper],
    seen: Mapping[ClaimKey, SeenByOthers],
    found: Sequence[Findings],
    facts: Collection[SectionFacts],
) -> list[Path]:
    """Write the start page; return its files.

    Args:
        to: the site's folder.
        summaries: summary of each suite and scale with results.
        suites: all suites.
        papers: all papers.
        seen: results of other projects, by paper and claim.
        found: findings for the disputed questions.
        facts: facts of suites and scales with results, including those with maps of questions.
    """
    artifacts, claims = artifact_places(suites, papers), claim_places(suites, papers)
    listed = [_paper(paper, summaries, artifacts, claims) for paper in papers]
    others = [s for s in summaries if s.paper is None]
    is_own = bool(others) and len(others) == len(summaries)
    answered = [] if is_own else answers(summaries, suites)
    numbers = all_numbers()
    projects = {row.source.project for row in numbers}
    title = OWN_TITLE if is_own else TITLE.format(NUMBERS.get(len(papers), len(papers)))
    values = {
        "papers": listed,
        "others": others,
        "is_own": is_own,
        "answers": answered,
        "found": {one.question.name: one for one in found},
        "maps": {one.question.name: first_sentences(maps_of(one.question, facts)) for one in found},
        "picture": _picture(to, found) if answered else None,
        "figures": {answer.question.name: _figure(to, answer) for answer in answered},
        "others_known": (len(projects), len(numbers), Counter(s.seen for s in seen.values())),
        "evidence": (evidence := _evidence(listed, summaries)),
        "measured_kinds": _measured_words(evidence),
        "origin": _origin_lines(summaries),
        "verdicts": ORDER,
        "methods": (to / "methods.md").exists(),
        "presets": (to / "presets.md").exists(),
        "title": title,
        "seen_claims": {f"{paper}-{claim}": found for (paper, claim), found in seen.items()},
    }
    cite = citation("contrastive-bench", title, _origin(summaries))
    crumbs = [("Papers", None)]
    return Page("index.md.j2", title, "", crumbs, values, cite).write(to / "index.md")


def _picture(to: Path, found: Sequence[Findings]) -> str | None:
    """Draw a line for each question; return the figure's name, None if none has an effect."""
    from bench.figures.forest import draw_overview  # loads matplotlib
    from bench.figures.layout import save

    canvas = draw_overview(found)
    if canvas is None:
        return None
    (file,) = save(canvas, to / OVERVIEW, ["svg"])
    return file.name


def _figure(to: Path, answer: Answer) -> str | None:
    """Return the way to a question's own figure, if it is drawn."""
    path = f"{answer.summary.folder if answer.summary else ''}/{answer.question.figure}.svg"
    return path if (to / path.lstrip("/")).is_file() else None


def _origin(summaries: Sequence[Summary]) -> Origin | None:
    return origin_of_all([s.origin for s in summaries if s.origin])


def _origin_lines(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Return date, version and hardware of the results."""
    origin = _origin(summaries)
    if origin is None:
        return []
    return [
        ("computed", ("from " if len(origin.days) > 1 else "on ") + " to ".join(origin.days)),
        ("with bench", ", ".join(origin.versions)),
        ("on", ", ".join(origin.hardware)),
    ]


def _paper(
    paper: Paper,
    summaries: Sequence[Summary],
    artifacts: Sequence[Mention],
    claims: Sequence[Mention],
) -> dict[str, Any]:
    paper_summaries = [s for s in summaries if s.paper == paper.id]
    listed = [_artifact(paper, p, paper_summaries) for p in artifacts if p.paper == paper.id]
    judged = [_claim(paper, p, paper_summaries) for p in claims if p.paper == paper.id]
    verdicts = Counter(claim["verdict"] for claim in judged)
    values = sum(
        (counts for s in paper_summaries for counts in s.values.values()), Counter[Verdict]()
    )
    return {
        "paper": paper,
        "artifacts": listed,
        "claims": judged,
        "verdicts": verdicts,
        "compared": len(frozenset().union(*(s.compared for s in paper_summaries))),
        "values": counts_text(values.elements()),
        "readings": values.total(),
    }


def _evidence(
    papers: Sequence[dict[str, Any]], summaries: Sequence[Summary]
) -> list[dict[str, Any]]:
    """Return what was measured by each kind of evidence; nothing is added up over kinds."""
    claims = counts_by_evidence([row for s in summaries for row in s.rows.values()])
    artifacts = Counter(
        kind for paper in papers for artifact in paper["artifacts"] for kind in artifact["kinds"]
    )
    values = {
        kind: {row for s in summaries if s.kind == kind for row in s.paper_rows} for kind in Kind
    }
    return [
        {
            "kind": kind,
            "artifacts": artifacts[kind],
            "compared": len(values[kind]),
            "verdicts": [claims[kind][verdict] for verdict in ORDER[:-1]],
        }
        for kind in Kind
        if kind in ALWAYS_SHOWN or artifacts[kind] or claims[kind]
    ]


def _measured_words(evidence: Sequence[dict[str, Any]]) -> str:
    """Return what was measured here below the papers' scale, in words; empty for nothing."""
    words = {
        Kind.IMAGES_REDUCED: "small networks on small images ({} claims tested)",
        Kind.SPEECH_REDUCED: "small networks on spoken digits",
        Kind.TOYS: "toy experiments",
        Kind.IDENTITIES: "identities",
    }
    there = [
        words[e["kind"]].format(sum(e["verdicts"]))
        for e in evidence
        if e["kind"] in words and (e["artifacts"] or sum(e["verdicts"]))
    ]
    return " and ".join(filter(None, [", ".join(there[:-1]), *there[-1:]]))


def _artifact(paper: Paper, place: Mention, summaries: Sequence[Summary]) -> dict[str, Any]:
    artifact = paper.artifact(place.id)
    suite_summaries = [s for s in summaries if s.suite in place.suites]
    results, kinds = [], set()
    for s in suite_summaries:
        text, is_measured = _measured(s, place.id, prints=bool(artifact.values))
        part = "" if s.done == s.cells else f"{s.done} of {s.cells} cells; "
        results.append({"summary": s, "text": part + text})
        kinds |= {s.kind} if is_measured else set()
    return {
        "artifact": artifact,
        "results": results,
        "kinds": kinds,
        "status": _status(place),
    }


def _measured(summary: Summary, artifact: str, *, prints: bool) -> tuple[str, bool]:
    """Return what a scale says of an artifact, and whether that counts as measured.

    An artifact that prints numbers is measured where one of them, or one of their differences, has
    a measured one next to it; one that prints none if at least half of the cells are done.
    """
    values, effects = summary.values.get(artifact), summary.effects.get(artifact)
    if values:
        return counts_text(values.elements()), True
    if effects:
        return (
            f"measured effects compared with the published ones: {counts_text(effects.elements())}",
            True,
        )
    if prints:
        return "none of the published numbers was measured on the same data", False
    return "the paper gives no number", 2 * summary.done >= summary.cells


def _claim(paper: Paper, place: Mention, summaries: Sequence[Summary]) -> dict[str, Any]:
    claim_summaries = [s for s in summaries if place.id in s.claims and s.suite in place.suites]
    tested = [s for s in claim_summaries if place.id in s.rows]
    rows = deciding([s.rows[place.id] for s in tested])
    decisive = [s for s in tested if s.rows[place.id] in rows]
    verdict = overall_verdict([(s.claims[place.id], s.published) for s in decisive])
    of_verdict = [s for s in decisive if s.claims[place.id] == verdict]
    first = min(of_verdict, key=lambda s: not s.published, default=None)
    published = first is not None and first.published
    return {
        "claim": paper.claim(place.id),
        "verdict": verdict,
        "protocol": "none" if not tested else "published" if published else "reduced",
        "words": (PUBLISHED if published else first.words) if first else "",
        "results": [
            {
                "summary": s,
                "verdict": s.claims[place.id],
                "effect": effect_words(s.rows[place.id]) if place.id in s.rows else "",
            }
            for s in claim_summaries
        ],
        "effect": effect_words(first.rows[place.id]) if first and place.id in first.rows else "",
        "status": _status(place),
    }


def _status(place: Mention) -> str:
    """Return why there is nothing to show."""
    if place.suites:
        return "no results yet: " + ", ".join(f"`bench run {name}`" for name in place.suites)
    return place.reason or "no suite of this folder covers the claim"
