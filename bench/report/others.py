"""Results of other projects on pages: next to an artifact's rows and claims, and on a page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.analysis.others import SeenByOthers
from bench.papers.others import others, sources
from bench.papers.reader import Paper
from bench.report.page import Page
from bench.report.paper_table import MeasuredNumber, best_measured, printed_text
from bench.suites.checks import settings_words
from bench.suites.metric_words import metric_words
from bench.suites.others import Counterpart, WithOthers

TITLE = "Measured by others"


def beside_rows(
    found: Sequence[WithOthers], measured: Sequence[MeasuredNumber]
) -> list[dict[str, Any]]:
    """Return one row per published number that others measured.

    Each row has the published value, the value measured here, and the values of other projects.
    Among the latter, the one with the fewest differing or unknown settings comes first.

    Args:
        found: published numbers of an artifact that others measured.
        measured: values measured here for the artifact's numbers.
    """
    here = best_measured(measured)
    return [
        {
            "row": settings_words(number.value.row_settings),
            "metric": metric_words(number.metric),
            "published": printed_text(number.value),
            "here": [m for m in here.get(number.value.row, ()) if m.text],
            "others": [_other(other) for other in sorted(number.others, key=_distance)],
            "range": _range([other.row.value for other in number.others]),
        }
        for number in found
    ]


def _distance(other: Counterpart) -> tuple[int, int]:
    """Return how many settings differ or are not stated, and how many are not stated."""
    return len(other.differences) + len(other.unknown), len(other.unknown)


def _other(other: Counterpart) -> dict[str, str]:
    row = other.row
    return {
        "value": f"{row.value:g}",
        "link": row.link,
        "source": row.source.id,
        "chosen": f"{row.protocol.selection}, {row.runs_words}",
        "differs": other.protocol,
    }


def _range(values: Sequence[float]) -> str:
    return f"{min(values):g} to {max(values):g}" if len(values) > 1 else ""


def claim_rows(found: SeenByOthers) -> list[dict[str, Any]]:
    """Return the rows of a claim's table, one effect each."""
    return [
        {
            "source": effect.source,
            "links": [row.link for row in effect.rows],
            "what": effect.subject,
            "at": settings_words(effect.at),
            "data": effect.dataset,
            "metric": metric_words(effect.metric),
            "effect": f"{effect.value:+.1f}",
            "differs": effect.more_words,
            "counts": str(answer or ""),
        }
        for effect, answer in found.effects
    ]


def write_others(
    to: Path, seen: Mapping[tuple[str, str], SeenByOthers], papers: Mapping[str, Paper]
) -> list[Path]:
    """Write the page of claims with results of other projects, and of all sources.

    Args:
        to: the site's folder.
        seen: results of other projects, by paper and claim. Returns the files.
        papers: papers by id.
    """
    claims = [
        {"paper": paper, "claim": papers[paper].claim(claim), "seen": found}
        | {"rows": claim_rows(found)}
        for (paper, claim), found in seen.items()
    ]
    listed = [
        {
            "source": rows[0].source,
            "numbers": len(rows),
            "data": ", ".join(dict.fromkeys(row.dataset for row in rows)),
            "chosen": "; ".join(dict.fromkeys(row.protocol.selection for row in rows)),
        }
        for rows in sources(others()).values()
    ]
    values = {
        "claims": claims,
        "sources": listed,
        "counts": Counter(found.seen for found in seen.values()),
    }
    crumbs = [("Papers", "index.html"), (TITLE, None)]
    return Page("others.md.j2", TITLE, "", crumbs, values).write(to / "others.md")
