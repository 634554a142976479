"""Questions on the start page, answered from the results."""

from collections.abc import Collection, Iterable, Sequence
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
from bench.text import first_sentence

MOST_LINES = 1  # of an answer
ANSWERS = {  # at the published protocol, and at another scale
    ClaimVerdict.HOLDS: ("Yes", "Yes, on {}"),
    ClaimVerdict.PARTLY_HOLDS: ("Yes, in part", "Yes in part, on {}"),
    ClaimVerdict.FAILS: ("No", "Not on {}"),
    ClaimVerdict.NOT_SEEN: ("Not seen", "Not seen on {}"),
    ClaimVerdict.CANNOT_TELL: ("Undecided", "Undecided on {}"),
    ClaimVerdict.NOT_TESTED: ("Not tested yet", "Not tested yet"),
}
SMALLER = "By less than the paper reports"
"""Answer for a check that fails although the effect exists, because the check requires a larger
one."""
TOO_SMALL = "Not as much as the claim requires"
"""Answer for a check that requires a larger effect; the interval of the effect includes 0."""


@dataclass(frozen=True)
class Answer:
    """A question with its verdict and the numbers behind it."""

    question: Question
    verdict: ClaimVerdict
    summary: Summary | None  # of the scale that answers; None where nothing was tested
    lines: list[str]  # an effect each, beside the paper's: of the checks that decide
    words: str | None = None  # instead of the verdict's, such as SMALLER
    noted: str | None = None  # the claim with the suite's notes on these numbers, if there are any

    @property
    def text(self) -> str:
        """The answer as text."""
        at_published, elsewhere = ANSWERS[self.verdict]
        if self.words:
            at_published, elsewhere = self.words, f"{self.words}, on {{}}"
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
    facts: Collection[SectionFacts],
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
            "maps": (maps := maps_of(one.question, facts)),
            "map_findings": first_sentences(maps),
        }
        crumbs = [("Papers", "../index.html"), (one.question.question, None)]
        pages += Page("question.md.j2", one.question.question, "../", crumbs, values).write(page)
    return pages


def maps_of(
    question: Question, facts: Iterable[SectionFacts]
) -> list[tuple[SectionFacts, str | None]]:
    """Return each scale of a question's map that has results, and its note on the question.

    A scale that only checks that everything runs has no note.
    """
    found = []
    for one in facts:
        if one.suite.name == question.map:
            scale = one.suite.scales[one.scale]
            notes = (scale.notes or one.suite.notes) if scale.no_verdict is None else []
            found.append((one, next(iter(notes[question.map_note - 1 :]), None)))
    return found


def first_sentences(
    maps: Iterable[tuple[SectionFacts, str | None]],
) -> list[tuple[SectionFacts, str]]:
    """Return each scale of a map that has a note, and the note's first sentence."""
    return [(of, first_sentence(note)) for of, note in maps if note]


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
        return Answer(question, ClaimVerdict.NOT_TESTED, None, [])
    summary = next(s for s in summaries if (s.suite, s.scale) == (suite.name, found.at.scale))
    deciding = found.deciding
    shown = [_line(row) for row in deciding][:MOST_LINES]
    words = question.holds if found.verdict == ClaimVerdict.HOLDS else None
    if found.verdict in (ClaimVerdict.FAILS, ClaimVerdict.NOT_SEEN):
        words = _smaller_words(deciding)
    noted = next((row["claim"] for row in deciding if row["notes"]), None)
    return Answer(question, found.verdict, summary, shown, words, noted)


def _line(row: dict[str, Any]) -> str:
    """Return an effect in words, and why it says nothing if it does not."""
    return "; ".join(text for text in (effect_words(row), row["why"]) if text)


def _smaller_words(failed: Sequence[dict[str, Any]]) -> str | None:
    """Return the answer if each check fails only because it requires a larger effect."""
    if any(row["low"] is None or row["high"] >= row["threshold"] for row in failed):
        return None
    if all(row["low"] > 0 for row in failed):
        return SMALLER
    return TOO_SMALL if all(row["high"] > 0 for row in failed) else None
