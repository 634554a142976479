"""The first page: every artifact and claim of the papers, and what the results say of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.analysis.all_claims import overall_verdict
from bench.analysis.claims import ClaimVerdict
from bench.analysis.coverage import Place, artifact_places, claim_places
from bench.analysis.evidence import Evidence, by_claim
from bench.analysis.verdicts import Verdict
from bench.files.atomic import write_whole
from bench.papers.reader import PAPERS, Paper, load_paper
from bench.report.templates import render
from bench.suites.suite import Suite

ORDER = (
    ClaimVerdict.HOLDS,
    ClaimVerdict.PARTLY_HOLDS,
    ClaimVerdict.FAILS,
    ClaimVerdict.INCONCLUSIVE,
    ClaimVerdict.CANNOT_TELL,
    ClaimVerdict.NOT_TESTED,
)
TITLE = "Reproduction of five papers on contrastive learning"


@dataclass(frozen=True)
class Summary:
    """What the index says of a suite at a scale."""

    suite: str
    scale: str
    title: str
    paper: str | None
    published: bool  # whether the scale follows the published protocol
    done: int
    cells: int
    values: dict[str, Counter[Verdict]]  # by artifact, of what was measured
    compared: frozenset[tuple[str, int]]  # artifact and row that a comparable value stands beside
    claims: dict[str, ClaimVerdict]


def summarise(evidence: Evidence) -> Summary:
    """Return the counts of a suite at a scale."""
    values: dict[str, Counter[Verdict]] = {}
    for row in evidence.compared:
        if row.comparable and row.measured:
            values.setdefault(row.artifact, Counter())[row.verdict] += 1
    suite = evidence.suite
    return Summary(
        suite=suite.name,
        scale=evidence.scale,
        title=suite.title,
        paper=suite.paper,
        published=evidence.is_published,
        done=len(evidence.done),
        cells=len(evidence.cells),
        values=values,
        compared=frozenset(
            (row.artifact, row.published.row)
            for row in evidence.compared
            if row.comparable and row.measured and row.published.value is not None
        ),
        claims={claim.id: verdict for claim, verdict, _ in by_claim(evidence.judged)},
    )


def write_index(
    to: Path, summaries: Sequence[Summary], suites: Sequence[Suite], *, inputs: str
) -> list[Path]:
    """Write the first page; return it in both forms."""
    artifacts, claims = artifact_places(suites), claim_places(suites)
    papers = [_paper(load_paper(name), summaries, artifacts, claims) for name in PAPERS]
    known: dict[str, Any] = {
        "papers": papers,
        "others": [s for s in summaries if s.paper is None],
        "methods": (to / "methods.md").exists(),
        "presets": (to / "presets.md").exists(),
    }
    page = to / "index.md"
    write_whole(page, render("index.md.j2", **known).encode())
    text = render(
        "index.html.j2",
        **known,
        verdicts=ORDER,
        inputs=inputs,
        title=TITLE,
        root="",
        crumbs=[("Papers", None)],
    )
    write_whole(page.with_suffix(".html"), text.encode())
    return [page, page.with_suffix(".html")]


def _paper(
    paper: Paper, summaries: Sequence[Summary], artifacts: Sequence[Place], claims: Sequence[Place]
) -> dict[str, Any]:
    own = [s for s in summaries if s.paper == paper.id]
    told = [_artifact(paper, p, own) for p in artifacts if p.paper == paper.id]
    judged = [_claim(paper, p, own) for p in claims if p.paper == paper.id]
    verdicts = Counter(claim["verdict"] for claim in judged)
    compared = len(frozenset().union(*(s.compared for s in own)))
    values = sum((counts for s in own for counts in s.values.values()), Counter[Verdict]())
    times = f", in {values.total()} readings" if values.total() > compared else ""
    lines = [
        f"{compared} of {len(paper.values)} printed values are compared under the published "
        f"protocol{times}{': ' + _counts(values) if values else ''}."
    ]
    lines.append(
        f"{len(judged)} claims: {_counts(verdicts)}; at the published protocol where it was "
        "tested there as a whole, else at a reduced scale too."
    )
    return {
        "paper": paper,
        "artifacts": told,
        "claims": judged,
        "counts": lines,
        "compared": compared,
        "verdicts": verdicts,
        "with_results": sum(bool(a["results"]) for a in told),
    }


def _artifact(paper: Paper, place: Place, summaries: Sequence[Summary]) -> dict[str, Any]:
    results = []
    for s in summaries:
        if s.suite in place.suites:
            counts = s.values.get(place.id, Counter[Verdict]())
            part = "" if s.done == s.cells else f"{s.done} of {s.cells} cells; "
            said = _counts(counts) if counts else "other protocol, claims judged"
            results.append({"suite": s.suite, "scale": s.scale, "told": part + said})
    return {
        "artifact": paper.artifact(place.id),
        "results": results,
        "status": _status(place),
    }


def _claim(paper: Paper, place: Place, summaries: Sequence[Summary]) -> dict[str, Any]:
    judged = [s for s in summaries if place.id in s.claims and s.suite in place.suites]
    return {
        "claim": paper.claim(place.id),
        "verdict": overall_verdict([(s.claims[place.id], s.published) for s in judged]),
        "results": [
            {"suite": s.suite, "scale": s.scale, "verdict": s.claims[place.id]} for s in judged
        ],
        "status": _status(place),
    }


def _status(place: Place) -> str:
    """Return why there is nothing to show."""
    if place.suites:
        return "no results yet: " + ", ".join(f"`bench run {name}`" for name in place.suites)
    return place.reason or "no suite speaks of it"


def _counts(counts: Counter[Any]) -> str:
    order = [*Verdict, *ORDER]
    return ", ".join(f"{counts[v]} {v}" for v in order if counts[v])
