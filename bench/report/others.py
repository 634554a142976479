"""What other projects measured, on pages: beside an artifact's rows, beside claims, on its own."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.analysis.others import SeenByOthers
from bench.papers.others import others, sources
from bench.papers.reader import Paper
from bench.report.page import Page
from bench.suites.metric_words import metric_words
from bench.suites.others import Beside
from bench.text import value_text

TITLE = "Measured by others"


def beside_rows(found: Sequence[Beside]) -> list[dict[str, Any]]:
    """Return the rows of the table beside an artifact's numbers."""
    return [
        {
            "row": value_text(number.value.row_settings),
            "metric": metric_words(number.metric),
            "published": f"{number.value.value:.{number.value.decimals}f}",
            "other": f"{other.row.value:g}",
            "link": other.row.link,
            "source": other.row.source.id,
            "chosen": f"{other.row.protocol.selection}, {other.row.runs_words}",
            "differs": other.protocol,
        }
        for number in found
        for other in number.others
    ]


def claim_rows(found: SeenByOthers) -> list[dict[str, Any]]:
    """Return the rows of a claim's table, an effect each."""
    return [
        {
            "source": effect.source,
            "links": [row.link for row in effect.rows],
            "what": effect.subject,
            "at": value_text(effect.at),
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
    """Write the page of all claims with counterparts, and of all sources; return its files.

    Args:
        to: the site's folder.
        seen: by paper and claim.
        papers: by id.
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
