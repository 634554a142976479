"""The templates of pages and what they may call."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from bench import __version__
from bench.analysis.doubts import MARK
from bench.analysis.verdicts import ClaimVerdict
from bench.report.effects import EFFECTS_LEGEND
from bench.report.formats import markdown_text, to_markdown
from bench.report.judged import effect_lines, notes_elsewhere, remark_text, seeds_text, seen_text
from bench.report.rooms import MEANING as ROOM_MEANING
from bench.report.rows import rows_html
from bench.report.tables import LEGEND, MARKS, MEANINGS, slug

CLAIM_MARKS = {
    ClaimVerdict.HOLDS: "✓",
    ClaimVerdict.PARTLY_HOLDS: "◐",
    ClaimVerdict.FAILS: "✗",
    ClaimVerdict.NOT_SEEN: "✗",
    ClaimVerdict.CANNOT_TELL: "?",
    ClaimVerdict.NOT_TESTED: "·",
}


def render(template: str, **values: Any) -> str:
    """Return a page; in HTML every value is data: its `<` and `&` are escaped."""
    text = _environment(html=template.endswith(".html.j2")).get_template(template).render(values)
    return _without_blank_runs(text)


@cache
def _environment(*, html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("bench.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=html,
    )
    environment.filters |= {"ticks": _ticks, "md": markdown_text, "slug": slug}
    environment.globals |= {
        "claim_marks": CLAIM_MARKS,
        "doubt_mark": MARK,
        "effect_lines": effect_lines,
        "effects_legend": EFFECTS_LEGEND,
        "legend": LEGEND,
        "markdown": to_markdown,
        "marks": MARKS,
        "meanings": MEANINGS,
        "notes_elsewhere": notes_elsewhere,
        "remark": remark_text,
        "room_meaning": ROOM_MEANING,
        "rows_html": rows_html,
        "seeds": seeds_text,
        "seen": seen_text,
        "version": __version__,
    }
    return environment


def _ticks(text: str) -> Markup:
    """Return text as HTML, what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def _without_blank_runs(text: str) -> str:
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).rstrip() + "\n"
