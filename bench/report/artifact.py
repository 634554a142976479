"""The page of one artifact: published values, and results of each suite and scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.analysis.claims import claims_of_artifact
from bench.analysis.others import SeenByOthers
from bench.files.atomic import write_whole
from bench.papers.reader import Artifact, Paper
from bench.papers.vocabulary import setting_name, value_name
from bench.report.effects import ArtifactEffects, artifact_effects
from bench.report.errata import has_quoted
from bench.report.others import beside_rows
from bench.report.page import Page
from bench.report.paper_table import MeasuredNumber, paper_csv, paper_table, printed_notes
from bench.report.section import SectionFacts
from bench.report.summary import citation, origin_of_all
from bench.suites.others import WithOthers
from bench.suites.suite import Layout

TOP = "../index.html"


@dataclass(frozen=True)
class Coverage:
    """Suites that cover an artifact."""

    sections: Sequence[SectionFacts]  # of each suite and scale with results
    layout: Layout | None
    to_run: Sequence[tuple[str, str, str]]  # suite, scale, what: those without results
    reason: str | None  # why no suite speaks of it
    formats: Sequence[str]  # of files beside the page
    others: Sequence[WithOthers] = ()  # printed numbers that other projects have measured
    seen: Mapping[str, SeenByOthers] = field(default_factory=dict)  # claims, by id


def write_artifact(
    artifact: Artifact, paper: Paper, folder: Path, coverage: Coverage
) -> list[Path]:
    """Write the pages of an artifact into the site's folder; return the pages."""
    page = folder / paper.id / f"{artifact.id}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    sections = _sections(artifact, paper, coverage)
    measured = [
        MeasuredNumber(s.scale, s.words, row)
        for s in sections
        for row in s.compared.get(artifact.id, [])
    ]
    printed = paper_table(artifact, coverage.layout, measured)
    if printed and "csv" in coverage.formats:
        write_whole(page.with_suffix(".csv"), paper_csv(artifact, measured).encode())
    values = {
        "artifact": artifact,
        "paper": paper,
        "sections": sections,
        "printed": printed,
        "has_quoted": has_quoted(artifact),
        "outcomes": {s.folder: s.outcomes(artifact.id) for s in sections},
        "curves": _curves(paper.figures.get(artifact.id, {})),
        "notes": printed_notes(artifact),
        "to_run": coverage.to_run,
        "reason": coverage.reason,
        "effects": _effects(artifact, coverage.sections, page),
        "others": beside_rows(coverage.others, measured),
        "seen_claims": [
            (claim, coverage.seen[claim.id])
            for claim in claims_of_artifact(paper, artifact)
            if claim.id in coverage.seen
        ],
    }
    title = f"{paper.id}/{artifact.id}"
    origin = origin_of_all([s.origin for s in sections if s.origin])
    return Page(
        "artifact.md.j2",
        title=title,
        root="../",
        crumbs=[("Papers", TOP), (paper.id, f"{TOP}#{paper.id}"), (artifact.id, None)],
        values=values,
        cite=citation(f"{paper.id}-{artifact.id}", f"{title}: {artifact.what}", origin),
    ).write(page)


def _sections(artifact: Artifact, paper: Paper, coverage: Coverage) -> list[SectionFacts]:
    """Return the facts that concern the artifact, published scales first."""
    ordered = sorted(coverage.sections, key=lambda s: not s.published_scale)
    named = {claim.id for claim in claims_of_artifact(paper, artifact)}
    return [
        replace(
            s,
            errata=[],
            cells=None,
            counts=s.counts_of[artifact.id],
            judged=[row for row in s.judged if row[0].id in named],
        )
        for s in ordered
    ]


def _effects(
    artifact: Artifact, sections: Sequence[SectionFacts], page: Path
) -> ArtifactEffects | None:
    """Return the effects of all scales, and draw them; None without any."""
    from bench.figures.effects import draw_effects
    from bench.figures.layout import save

    section_effects = [s.effects[artifact.id] for s in sections if artifact.id in s.effects]
    rows = [row for effects in section_effects for row in effects.rows]
    compared = artifact_effects(rows).get(artifact.id)
    canvas = draw_effects(rows)
    if canvas is not None:
        save(canvas, page.with_name(f"{artifact.id}-effects"), ["svg"])
    return compared


def _curves(figure: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the axes, series and known points of a figure without published numbers."""
    parts = [("horizontal axis", figure.get("x")), ("vertical axis", figure.get("y"))]
    parts += [("series", "; ".join(map(_words, figure.get("series") or [])))]
    points = "; ".join(map(_words, figure.get("known_points") or []))
    parts += [("points that the paper states", points)]
    return [(name, str(value)) for name, value in parts if value]


def _words(value: Any) -> str:
    if isinstance(value, dict):
        place = f" ({value['locator']})" if "locator" in value else ""
        return ", ".join(_part(k, v) for k, v in value.items() if k != "locator") + place
    return value_name(value) if isinstance(value, str) else str(value)


def _part(key: str, value: Any) -> str:
    """Return one key of a point in words: `method SimCLR`, `learning rate 0.1`."""
    return f"{setting_name(key)} {value_name(str(value))}".strip()
