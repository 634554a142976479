"""Effects from papers, other projects and our runs for each disputed question."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from bench.analysis.others import (
    CONTRAST,
    OTHER_DATA,
    OTHER_NETWORK,
    WITHIN_NOISE,
    Seen,
    overall,
    published_data,
    seen_by_others,
    why_uncounted,
)
from bench.analysis.verdicts import ClaimVerdict, worst
from bench.papers.printed_checks import printed_check
from bench.papers.questions import Question
from bench.record import Json
from bench.suites.checks import Check
from bench.suites.metric_words import metric_words
from bench.suites.suite import Suite
from bench.text import counted, number_words, value_text

PUBLISHED: Literal["published"] = "published"
OTHERS: Literal["others"] = "others"
HERE: Literal["here"] = "here"
UNCOUNTED = {
    CONTRAST: "the compared runs also differ in other settings",
    OTHER_DATA: "the paper tests the claim on other data sets",
    OTHER_NETWORK: "the paper tests the claim with another network",
    WITHIN_NOISE: "single runs differ by as much through noise",
}
NO_SUITE = "not looked up, because no suite tests this question"


class Ours(NamedTuple):
    """A suite at a scale with results, and its checks as in `bench claims --json`."""

    suite: str
    scale: str
    words: str  # the scale's data and network
    published: bool  # whether it follows the published protocol
    checks: Sequence[Json]


@dataclass(frozen=True)
class EffectRow:
    """One effect for a question: published, from another project, or measured here."""

    kind: Literal["published", "others", "here"]
    who: str  # the paper, the source, or the suite and scale
    claim: str  # PAPER/CLAIM
    what: str  # is compared
    data: str
    metric: str
    unit: str
    effect: float
    low: float | None = None  # of the 95 % interval; None: single runs, or none is known
    high: float | None = None
    remark: str = ""  # "n = 3, holds if above 0", or in what else the two sides of others differ
    says: str = ""  # of others yes or no, where it counts; here the verdict, with why it is open
    uncounted: str = ""  # why an effect of others does not count, such as "contrast"
    links: tuple[str, ...] = ()
    settings: Json = field(default_factory=dict)  # of both sides
    threshold: float | None = None  # on which the verdict on an effect measured here depends
    is_learned: bool = True  # whether its accuracies are above the trivial baselines

    @property
    def short_data(self) -> str:
        """The name of the data set without additions such as the image size."""
        return self.data.partition(", ")[0] if self.kind == HERE else self.data

    @property
    def verdict(self) -> ClaimVerdict:
        """The verdict on an effect measured here."""
        return ClaimVerdict(self.says.partition(": ")[0])

    @property
    def number(self) -> str:
        """The effect as text, with its interval if it has one."""
        return number_words(self.effect, self.low, self.high, self.threshold)

    def record(self) -> Json:
        """Return one row of `bench questions NAME --json`."""
        return asdict(self) | {"links": list(self.links)}


@dataclass(frozen=True)
class Findings:
    """A question with all effects that answer it."""

    question: Question
    rows: list[EffectRow]
    has_suite: bool = True  # effects are looked up by the checks of suites

    def of(self, kind: str) -> list[EffectRow]:
        """Return the effects of one kind."""
        return [row for row in self.rows if row.kind == kind]

    @property
    def seen(self) -> Seen:
        """Whether other projects have observed the claims."""
        return overall(Seen(row.says) for row in self.of(OTHERS) if row.says)

    @property
    def sentences(self) -> list[str]:
        """One sentence each on the papers, other projects and our runs."""
        return [self._published_words(), self._others_words(), self._here_words()]

    @property
    def leading(self) -> list[EffectRow]:
        """First effect measured here, a published effect, and counted effects of other projects.

        Only claims that answer the question are used. The published effect is the one closest to
        the measured one in comparison and metric.
        """
        own = {f"{self.question.paper}/{claim}" for claim in self.question.claims}
        rows = [row for row in self.rows if row.claim in own]
        here = [row for row in rows if row.kind == HERE][:1]
        published = [row for row in rows if row.kind == PUBLISHED]
        return [
            *sorted(published, key=lambda row: _distance(row, here))[:1],
            *(r for r in rows if r.kind == OTHERS and r.says),
            *here,
        ]

    @property
    def short(self) -> str:
        """The leading effects in one sentence."""
        words = {row.kind: f"{_size_words(row)} ({row.metric})" for row in self.leading}
        counting = [row for row in self.leading if row.kind == OTHERS]
        others = "not measured"
        if self.of(OTHERS):
            others = "none that counts for or against this comparison"
        if counting:
            yes = sum(row.says == Seen.YES for row in counting)
            of = counted(len(counting), "effect")
            others = f"{_range(counting)} points ({yes} of {of} as claimed)"
        return (
            f"Published effect: {words.get(PUBLISHED, 'no number for this comparison')}; "
            f"effect in other projects: {others}; "
            f"effect measured here: {words.get(HERE, 'not measured')}."
        )

    def record(self) -> Json:
        """Return one row of `bench questions --json`."""
        return {
            "name": self.question.name,
            "question": self.question.question,
            "claims": ["/".join(pair) for pair in self.question.all_claims],
            "sentences": self.sentences,
            "seen_by_others": str(self.seen),
            "effects": [row.record() for row in self.rows],
        }

    def _published_words(self) -> str:
        rows = self.of(PUBLISHED)
        if not rows:
            known = "the papers give no number" if self.has_suite else NO_SUITE
            return f"Published effect: {known}."
        told = f"The papers publish {_first_words(rows)}."
        if _distance(rows[0], self.of(HERE)) > 1 and self.of(HERE):
            told += " No published effect has the same comparison as our first effect."
        return told

    def _others_words(self) -> str:
        rows = self.of(OTHERS)
        if not rows:
            known = "we know of no published measurement" if self.has_suite else NO_SUITE
            return f"Measured by other projects: {known}."
        kinds = {
            "in agreement with the claims": [row for row in rows if row.says == Seen.YES],
            "in disagreement with the claims": [row for row in rows if row.says == Seen.NO],
        }
        parts = [
            f"Other projects measured {counted(len(found), 'effect')} {words} "
            f"({_range(found)} points)."
            for words, found in kinds.items()
            if found
        ]
        return " ".join([*parts, *_uncounted_words([row for row in rows if row.uncounted])])

    def _here_words(self) -> str:
        rows = self.of(HERE)
        if not rows and not self.has_suite:
            return f"Measured here: {NO_SUITE}."
        if not rows:
            run = f"bench run {self.question.suite} --scale {self.question.scale}"
            return f"Measured here: nothing; `{run}` measures the effect."
        verdict, _, why = rows[0].says.partition(": ")
        said = [f"We measured {_first_words(rows)} with the verdict '{verdict}'."]
        if why:
            said.append(f"The verdict on the first effect that we measured is open because {why}.")
        return " ".join(said)


def findings(question: Question, suites: Iterable[Suite], ours: Sequence[Ours]) -> Findings:
    """Return all effects for a question.

    Args:
        question: a question from the file.
        suites: all suites that check claims.
        ours: all suites and scales with results.
    """
    listed = [s for s in suites if s.paper is not None]
    listed.sort(key=lambda one: one.name != question.suite)  # its suite answers it
    published: dict[tuple[str, str], EffectRow] = {}
    others: dict[tuple[Any, ...], EffectRow] = {}  # several claims may have the same effect
    here: dict[tuple[Any, ...], EffectRow] = {}  # suites may share cells
    for paper, claim in question.all_claims:
        for suite in listed:
            if suite.paper == paper and claim in suite.claims:
                for row in _published(question, suite, claim):
                    published.setdefault((row.what, row.metric), row)
                for row in _by_others(question, suite, claim):
                    key = frozenset(row.links), row.metric, row.effect
                    if key not in others or (row.says and not others[key].says):
                        others[key] = row
                for row in _here(question, suite, claim, ours):
                    here.setdefault((row.what, row.metric, row.effect, row.low, row.high), row)
    deciding = _deciding_rows(question, listed, ours)
    measured = sorted(here.values(), key=lambda row: row not in deciding)
    printed = sorted(published.values(), key=lambda row: _distance(row, measured))
    rows = [*printed, *others.values(), *measured]
    tested = {(suite.paper, claim) for suite in listed for claim in suite.claims}
    return Findings(question, rows, has_suite=not tested.isdisjoint(question.all_claims))


def _distance(published: EffectRow, measured: Sequence[EffectRow]) -> int:
    """Return in how much a published effect differs from the first measured one."""
    first = next(iter(measured), None)
    if first is None or published.what != first.what:
        return 2
    return int(published.metric != first.metric)


class Answering(NamedTuple):
    """The scale whose checks answer a question."""

    at: Ours
    checks: list[Json]
    verdict: ClaimVerdict  # the worst of the checks

    @property
    def deciding(self) -> list[Json]:
        """The checks with the worst verdict."""
        return [row for row in self.checks if row["verdict"] == self.verdict]


def answering(question: Question, suite: Suite, ours: Sequence[Ours]) -> Answering | None:
    """Return the scale of a question's suite that answers the question; None if none does.

    The order is: scales at the published protocol, then the order in the suite. A scale at which a
    compared accuracy is not above the trivial baselines answers only if no other scale does.
    """
    found = []
    for at in _in_order(suite, ours):
        checks = [
            row
            for row in at.checks
            if row["judged"]
            and row["verdict"] != ClaimVerdict.NOT_TESTED
            and question.is_answered_by(row["claim"], row["check"]["where"])
        ]
        if checks:
            verdict = worst(ClaimVerdict(row["verdict"]) for row in checks)
            found.append(Answering(at, checks, verdict))
    learned = [one for one in found if not any(row["unlearned"] for row in one.deciding)]
    return next(iter(learned or found), None)


def _in_order(suite: Suite, ours: Sequence[Ours]) -> list[Ours]:
    """Return the scales of a suite: those at the published protocol first."""
    scales, order = [one for one in ours if one.suite == suite.name], list(suite.scales)
    return sorted(scales, key=lambda one: (not one.published, order.index(one.scale)))


def _deciding_rows(
    question: Question, suites: Sequence[Suite], ours: Sequence[Ours]
) -> list[EffectRow]:
    """Return the effects that decide a question's answer."""
    for suite in suites:
        if suite.name == question.suite and (found := answering(question, suite, ours)):
            return [_row(suite, found.at, check) for check in found.deciding]
    return []


def _published(question: Question, suite: Suite, claim: str) -> list[EffectRow]:
    rows = []
    for place, check in enumerate(suite.claims[claim]):
        printed = printed_check(suite.name, claim, place)
        if printed and check.is_published and _takes(question, suite, claim, check):
            remark = f"worst of {printed.groups} comparisons" if printed.groups > 1 else ""
            rows.append(
                EffectRow(
                    PUBLISHED, str(suite.paper), f"{suite.paper}/{claim}", _what(check.subject),
                    _data(check, suite), metric_words(check.metric), check.unit, printed.effect,
                    remark=remark, settings=dict(check.where),
                )
            )  # fmt: skip
    return rows


def _by_others(question: Question, suite: Suite, claim: str) -> list[EffectRow]:
    return [
        EffectRow(
            OTHERS, e.source, f"{suite.paper}/{claim}", _at(e.subject, e.at), e.dataset,
            metric_words(e.metric), "points", e.value, remark=e.more_words,
            says=str(answer or ""), uncounted="" if answer else why_uncounted(e, suite),
            links=tuple(row.link for row in e.rows),
            settings={n: v for n, v in e.rows[0].settings.items() if all(
                row.settings.get(n) == v for row in e.rows)},
        )
        for e, answer in seen_by_others(suite, claim).effects
        if _takes(question, suite, claim, e.check)
    ]  # fmt: skip


def _here(question: Question, suite: Suite, claim: str, ours: Sequence[Ours]) -> list[EffectRow]:
    return [
        _row(suite, at, r)
        for at in _in_order(suite, ours)
        for r in at.checks
        if r["claim"] == claim
        and question.takes(r["paper"], r["claim"], r["check"]["where"])
        and r["judged"]
        and r["effect"] is not None
    ]


def _row(suite: Suite, at: Ours, r: Json) -> EffectRow:
    """Return the row of a check with an effect measured here."""
    of = f"worst of {r['groups']} comparisons, " if r["groups"] > 1 else ""
    open_ = r["verdict"] == ClaimVerdict.CANNOT_TELL and r["why"]
    return EffectRow(
        HERE, f"{suite.name} {at.scale}", f"{suite.paper}/{r['claim']}",
        _what(r["subject"]), at.words, metric_words(r["check"]["metric"]),
        r["unit"], r["effect"], r["low"], r["high"], f"{of}n = {r['n']}, holds if {r['required']}",
        f"{r['verdict']}: {r['why']}" if open_ else r["verdict"],
        settings=dict(r["check"]["where"]), threshold=r["threshold"],
        is_learned=not r["unlearned"],
    )  # fmt: skip


def _takes(question: Question, suite: Suite, claim: str, check: Check) -> bool:
    return question.takes(str(suite.paper), claim, check.model_dump(mode="json")["where"])


def _what(subject: str) -> str:
    """Return what is compared, without the metric, which stands in a column of its own."""
    return (subject.partition(", ")[2] or subject).removesuffix(", mean over all other settings")


def _at(subject: str, at: dict[str, Any]) -> str:
    return f"{subject} ({value_text(at)})" if at else subject


def _data(check: Check, suite: Suite) -> str:
    """Return the data sets of published numbers: the check's own, or the suite's."""
    named = {side[n] for side in check.sides for n in ("dataset", "detect_dataset") if n in side}
    return ", ".join(sorted(map(str, named or published_data(suite))))


def _range(rows: Sequence[EffectRow]) -> str:
    """Return the smallest and the largest effect, in points."""
    low, high = min(row.effect for row in rows), max(row.effect for row in rows)
    return f"{low:+.1f}" if low == high else f"{low:+.1f} to {high:+.1f}"


def _uncounted_words(rows: Sequence[EffectRow]) -> list[str]:
    """Return a sentence per kind and quantity of the effects that count neither way."""
    kinds: dict[tuple[str, str], list[EffectRow]] = {}
    for row in rows:
        kinds.setdefault(
            (row.uncounted, row.what.partition(" (")[0].partition(" at ")[0]), []
        ).append(row)
    parts = []
    for (why, quantity), alike in kinds.items():
        words = f"{counted(len(alike), 'effect')} of {quantity} ({_range(alike)} points)"
        verb = "does" if len(alike) == 1 else "do"
        parts.append(f"In other projects, {words} {verb} not count, because {UNCOUNTED[why]}.")
    return parts


def _first_words(rows: Sequence[EffectRow]) -> str:
    first = rows[0]
    text = f"{_size_words(first)} ({first.what}, {first.metric}"
    text += f"; {first.data})" if first.kind == HERE else ")"
    which = "; the first is" if len(rows) > 1 else ":"
    return f"{counted(len(rows), 'effect')} for this question{which} {text}"


def _size_words(row: EffectRow) -> str:
    return f"{row.number} {row.unit}".strip()
