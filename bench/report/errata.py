"""Page of published numbers that are quoted from other publications."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.papers.file import Quoted
from bench.papers.others import OthersRow, others, source_named
from bench.papers.reader import Artifact, Paper, PublishedValue
from bench.report.page import Page
from bench.report.paper_table import printed_text
from bench.suites.facts import agrees, stated_text
from bench.suites.metric_words import metric_words
from bench.suites.protocol import Departure
from bench.text import value_text

TITLE = "Errata"
NAMES = ("method", "loss", "features")  # papers' words for them are others than sources'


def write_errata(to: Path, papers: Mapping[str, Paper]) -> list[Path]:
    """Write the page; return its files.

    Args:
        to: the site's folder.
        papers: papers by id.
    """
    values = {
        "quoted": [row for paper in papers.values() for row in _quoted_rows(paper)],
        "open": [row for paper in papers.values() for row in _open_rows(paper)],
    }
    crumbs = [("Papers", "index.html"), (TITLE, None)]
    return Page("errata.md.j2", TITLE, "", crumbs, values).write(to / "errata.md")


def _quoted_rows(paper: Paper) -> Iterator[dict[str, Any]]:
    """Yield the numbers whose source is known."""
    for value in paper.values:
        if value.quoted_from is not None:
            source = source_named(value.quoted_from.source)
            yield {
                "paper": paper.id,
                "artifact": paper.artifact(value.artifact),
                "row": value_text(value.row_settings),
                "printed": printed_text(value),
                "quoted": value.quoted_from,
                "link": source.line(f"{source.path}:{value.quoted_from.at}"),
                "differs": "; ".join(quoted_differences(value, value.quoted_from)),
            }


def quoted_differences(value: PublishedValue, quoted: Quoted) -> list[str]:
    """Return how the source states its number differently from the quoting paper.

    Args:
        value: the published number.
        quoted: the number in its source.
    """
    differences = []
    if quoted.metric != value.metric:
        own, published = metric_words(quoted.metric), metric_words(str(value.metric))
        differences.append(f"{own}, published as {published}")
    row = _row_of(quoted)
    known = row.settings if row else {}
    for name, printed in value.settings.items():
        both = name in known and printed is not None and name not in NAMES
        if both and not agrees(known[name], printed):
            mine = [stated_text(known[name])]
            differences.append(Departure(name, mine, stated_text(printed), impossible=False).text)
    return differences


def _row_of(quoted: Quoted) -> OthersRow | None:
    """Return the row of the source's file; None for a method that has none here."""
    line = f":{quoted.at}"
    same = (
        row
        for row in others()
        if row.source.id == quoted.source and row.metric == quoted.metric and row.at.endswith(line)
    )
    return next(same, None)


def _open_rows(paper: Paper) -> Iterator[dict[str, Any]]:
    """Yield the artifacts with numbers whose source is not known, and how many they are."""
    for artifact in paper.artifacts.values():
        counts = Counter(_origin(value) for value in artifact.values)
        for origin in ("quoted", "not stated"):
            if counts[origin]:
                yield {"paper": paper.id, "artifact": artifact, "origin": origin} | {
                    "numbers": counts[origin]
                }


def _origin(value: PublishedValue) -> str:
    if value.quoted_from is not None:
        return "known"
    return value.source or "not stated"


def has_quoted(artifact: Artifact) -> bool:
    """Return whether the artifact has a number quoted from another publication."""
    return any(value.is_quoted for value in artifact.values)
