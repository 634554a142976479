"""Summary of a suite at a scale for the index; small, because processes exchange it."""

from collections import Counter
from dataclasses import dataclass

from bench.analysis.claims import JudgedScale, by_claim, claim_row
from bench.analysis.evidence import Evidence
from bench.analysis.verdicts import ClaimVerdict, Verdict, kind_of_evidence
from bench.analysis.verdicts import EvidenceKind as Kind
from bench.record import Json
from bench.report.origin import Origin, origin_of
from bench.report.scale_words import scale_words


@dataclass(frozen=True)
class Summary:
    """Summary of a suite at a scale for the index."""

    suite: str
    scale: str
    words: str  # the scale's data and network, or that its protocol is the published one
    title: str
    paper: str | None
    kind: Kind  # of evidence
    published: bool  # whether the scale follows the published protocol
    judged: bool  # whether it judges claims: it does more than check that everything runs
    done: int
    cells: int
    values: dict[str, Counter[Verdict]]  # by artifact, of what was measured
    compared: frozenset[tuple[str, int]]  # artifact and row that a comparable value stands beside
    effects: dict[str, Counter[Verdict]]  # by artifact, of printed effects that were measured
    claims: dict[str, ClaimVerdict]
    rows: dict[str, Json]  # by claim that was tested, of the check that decides
    checks: list[Json]  # all that count and have an effect, as `bench claims --json` has them
    origin: Origin | None  # None without a finished cell

    @property
    def paper_rows(self) -> set[tuple[str | None, str, int]]:
        """Published values that were compared, as paper, artifact and row."""
        return {(self.paper, *row) for row in self.compared}

    @property
    def folder(self) -> str:
        """Folder of its pages, relative to the site's folder."""
        return f"{self.suite}/{self.scale}"


def summarise(evidence: Evidence) -> Summary:
    """Return the summary of a suite at a scale for the index."""
    suite, judged = evidence.suite, evidence.judged
    measured = [row for row in evidence.compared if row.comparable and row.measured]
    values: dict[str, Counter[Verdict]] = {}
    for row in measured:
        values.setdefault(row.artifact, Counter())[row.verdict] += 1
    effects: dict[str, Counter[Verdict]] = {}
    for effect in evidence.effects:
        if effect.measured and effect.printed and effect.verdict:
            effects.setdefault(effect.artifact, Counter())[effect.verdict] += 1
    of_scale = JudgedScale(suite, evidence.scale, judged)
    return Summary(
        suite=suite.name,
        scale=evidence.scale,
        words=scale_words(evidence.cells, published=evidence.is_published),
        title=suite.title,
        paper=suite.paper,
        kind=kind_of_evidence(suite.experiment, suite.scales[evidence.scale].protocol),
        published=evidence.is_published,
        judged=suite.scales[evidence.scale].no_verdict is None,
        done=len(evidence.done),
        cells=len(evidence.cells),
        values=values,
        compared=frozenset(
            (row.artifact, row.published.row) for row in measured if row.published.value is not None
        ),
        effects=effects,
        claims={claim.id: verdict for claim, verdict, _ in by_claim(judged)},
        rows={
            claim: record
            for claim in suite.claims
            if (record := claim_row(claim, of_scale)) is not None
        },
        checks=[j.record() for j in judged if j.counts and j.effect],
        origin=origin_of(evidence.done),
    )
