"""Questions on the start page, answered from the results."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.analysis.questions import Findings, Ours, answering, findings
from bench.analysis.verdicts import ClaimVerdict
from bench.papers.questions import Question, questions
from bench.report.claim_words import effect_words
from bench.report.page import Page
from bench.report.section import SectionFacts
from bench.report.summary import Summary
from bench.suites.suite import Suite

MOST_LINES = 1  # of an answer
ANSWERS = {  # at the published protocol, and at another scale
    ClaimVerdict.HOLDS: ("Yes", "Yes, on {}"),
    ClaimVerdict.PARTLY_HOLDS: ("Yes, in part", "Yes in part, on {}"),
    ClaimVerdict.FAILS: ("No", "Not on {}"),
    ClaimVerdict.NOT_SEEN: ("Not seen", "Not seen on {}"),
    ClaimVerdict.CANNOT_TELL: ("Undecided", "Undecided on {}"),
    ClaimVerdict.NOT_TESTED: ("Not tested yet", "Not tested yet"),
}
SMALLER = ("By less than the paper reports", "By less than the paper reports, on {}")
"""Answer for a check that fails although the effect exists, because the check requires a larger
one."""


@dataclass(frozen=True)
class Answer:
    """A question with its verdict and the numbers behind it."""

    question: Question
    verdict: ClaimVerdict
    summary: Summary | None  # of the scale that answers; None where nothing was tested
    lines: list[str]  # an effect each, beside the paper's: of the checks that decide
    checks: int  # that answer
    is_smaller: bool = False  # the checks fail by the size that they ask for alone
    noted: str | None = None  # the claim with the suite's notes on these numbers, if there are any

    @property
    def text(self) -> str:
        """The answer as text."""
        at_published, elsewhere = SMALLER if self.is_smaller else ANSWERS[self.verdict]
        if self.verdict == ClaimVerdict.HOLDS and self.question.holds:
            at_published, elsewhere = self.question.holds, f"{self.question.holds}, on {{}}"
        if self.summary is None or self.summary.published:
            return at_published
        return elsewhere.format(self.summary.words)

    @property
    def claims(self) -> dict[str, ClaimVerdict]:
        """Claims whose overall verdict differs from the answer, with their verdicts."""
        wholes = self.summary.claims if self.summary else {}
        return {
            c: wholes[c]
            for c in self.question.claims
            if wholes.get(c, self.verdict) != self.verdict
        }

    @property
    def command(self) -> str:
        """The command that computes an answer."""
        return f"bench run {self.question.suite} --scale {self.question.scale}"


def all_findings(summaries: Sequence[Summary], suites: Sequence[Suite]) -> list[Findings]:
    """Return the findings for each question with an existing suite.

    Args:
        summaries: summary of each suite and scale with results.
        suites: all suites.
    """
    ours = _ours(summaries)
    known = {suite.name for suite in suites}
    asked = [question for question in questions() if question.suite in known]
    return [findings(question, suites, ours) for question in asked]


def write_questions(
    to: Path,
    found: Sequence[Findings],
    claims: Collection[tuple[str, str]],
    facts: Sequence[SectionFacts],
) -> list[Path]:
    """Write one page per question; return their files.

    Args:
        to: the site's folder.
        found: findings for each question.
        claims: paper and id of the claims on the page *Measured by others*.
        facts: facts of suites and scales with results, including those with maps of questions.
    """
    from bench.figures.forest import draw_forest  # loads matplotlib
    from bench.figures.layout import save

    pages: list[Path] = []
    for one in found:
        page = to / "questions" / f"{one.question.name}.md"
        drawn = [row for row in one.rows if row.unit == one.rows[0].unit]
        if drawn:
            save(draw_forest(drawn), page.with_suffix(""), ["svg"])
        values = {
            "found": one,
            "picture": f"{one.question.name}.svg" if drawn else None,
            "with_page": {"/".join(pair) for pair in claims},
            "maps": [one_map for one_map in facts if one_map.suite.name == one.question.map],
        }
        crumbs = [("Papers", "../index.html"), (one.question.question, None)]
        pages += Page("question.md.j2", one.question.question, "../", crumbs, values).write(page)
    return pages


def answers(summaries: Sequence[Summary], suites: Sequence[Suite]) -> list[Answer]:
    """Return an answer to each question with an existing suite."""
    known = {suite.name: suite for suite in suites}
    return [
        _answer(question, summaries, known[question.suite])
        for question in questions()
        if question.suite in known
    ]


def _ours(summaries: Sequence[Summary]) -> list[Ours]:
    """Return the scales that judge claims."""
    return [Ours(s.suite, s.scale, s.words, s.published, s.checks) for s in summaries if s.judged]


def _answer(question: Question, summaries: Sequence[Summary], suite: Suite) -> Answer:
    found = answering(question, suite, _ours(summaries))
    if found is None:
        return Answer(question, ClaimVerdict.NOT_TESTED, None, [], 0)
    summary = next(s for s in summaries if (s.suite, s.scale) == (suite.name, found.at.scale))
    deciding = found.deciding
    shown = [_line(row) for row in deciding][:MOST_LINES]
    failed = found.verdict in (ClaimVerdict.FAILS, ClaimVerdict.NOT_SEEN)
    smaller = failed and all(map(_is_there, deciding))
    noted = next((row["claim"] for row in deciding if row["notes"]), None)
    return Answer(question, found.verdict, summary, shown, len(found.checks), smaller, noted)


def _line(row: dict[str, Any]) -> str:
    """Return an effect in words, and why it says nothing if it does not."""
    return "; ".join(text for text in (effect_words(row), row["why"]) if text)


def _is_there(row: dict[str, Any]) -> bool:
    """Whether the interval of an effect lies between 0 and what its check asks for."""
    low, high = row["low"], row["high"]
    return low is not None and 0 < low <= high < row["threshold"]
