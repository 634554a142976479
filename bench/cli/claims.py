"""`bench claims`: the papers' claims, in our words, with verdicts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import typer

from bench.analysis.claims import (
    Judged,
    JudgedScale,
    by_claim,
    claim_places,
    claim_rows,
    counts_by_evidence,
    judge_claims,
)
from bench.analysis.evidence import Evidence
from bench.analysis.others import SeenByOthers, seen_claims
from bench.analysis.verdicts import ClaimVerdict
from bench.analysis.verdicts import EvidenceKind as Kind
from bench.cells.baseline import without_baselines
from bench.cli.evidence import done_text, evidence_of, results_in
from bench.cli.options import (
    AsJson,
    AtScale,
    Matching,
    SeedList,
    answer,
    paper_names,
    suite_names,
    verdict_names,
)
from bench.cli.selection import check_found, check_scale_known, of_sound_suites, select
from bench.cli.terminal import print_doubts, print_line, print_verdict
from bench.cli.workspace import Workspace, command_line
from bench.errors import BenchError, choices
from bench.papers.reader import Claim, load_paper, load_papers
from bench.record import Json
from bench.report.claim_words import effect_words, remark_text, room_text
from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import known_suites, load_suite
from bench.suites.suite import Suite
from bench.suites.validate import check_suite
from bench.text import counted


def claims(
    context: typer.Context,
    suite: Annotated[
        str | None,
        typer.Argument(
            help="Judge the claims of this suite; default: all claims.", autocompletion=suite_names
        ),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(help="Only the claims of this paper.", autocompletion=paper_names),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(help="Only claims that contain all of these words, such as 'small batch'."),
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option(help="Only claims with this verdict.", autocompletion=verdict_names),
    ] = None,
    scale: AtScale = None, where: Matching = None, seeds: SeedList = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print the papers' claims with verdicts and effects.

    With a suite: every test of each of its claims. Without a suite: every claim, at each scale with
    results.

    Exit status 1: a claim fails. Exit status 3: no claim was judged.
    """
    chosen = Filter.of(search, verdict)
    if suite is None:
        if where or seeds:
            raise BenchError(
                "--where and --seeds choose cells of one suite: name the suite as the "
                "first argument"
            )
        every = describe_claims(context.obj, paper=paper, scale=scale)
        records = [r for r in every if chosen.takes(r, r["overall"])]
        fails = any(record["verdict"] == ClaimVerdict.FAILS for record in records)
        answer(records, lambda _: print_all_claims(records, chosen, context.obj), as_json)
    else:
        if paper is not None:
            raise BenchError(
                "--paper selects claims of all suites, so it cannot be combined with a suite"
            )
        selection = select(context.obj, suite, scale=scale, where=where, seeds=seeds)
        evidence = evidence_of(selection)
        shown = [
            (claim, whole, checks)
            for claim, whole, checks in by_claim(evidence.judged)
            if chosen.takes(checks[0].record(), str(whole))
        ]
        records = [judged.record() for _, _, checks in shown for judged in checks]
        fails = any(whole == ClaimVerdict.FAILS for _, whole, _ in shown)
        answer(records, lambda _: print_claims(evidence, shown, selection.command("show")), as_json)
    if fails:
        raise typer.Exit(1)
    asked_for_untested = verdict == ClaimVerdict.NOT_TESTED and records
    judged = any(r["effect"] is not None and r["judged"] for r in records)
    raise typer.Exit(0 if judged or asked_for_untested else 3)


@dataclass(frozen=True)
class Filter:
    """Filter for claims."""

    words: tuple[str, ...] = ()  # in the name or the text, in lower case
    verdict: ClaimVerdict | None = None

    @classmethod
    def of(cls, search: str | None, verdict: str | None) -> Self:
        """Return the filter that the command-line options describe.

        Raises:
            BenchError: the verdict does not exist.
        """
        names = [str(name) for name in ClaimVerdict]
        if verdict is not None and verdict not in names:
            raise BenchError(
                f"--verdict {verdict}: there is no such verdict. {choices(verdict, names)}"
            )
        words = tuple((search or "").lower().split())
        return cls(words, ClaimVerdict(verdict) if verdict is not None else None)

    @property
    def is_any(self) -> bool:
        """Whether the filter excludes anything."""
        return bool(self.words) or self.verdict is not None

    def takes(self, record: Json, verdict: str) -> bool:
        """Return whether the filter accepts a claim with this overall verdict."""
        text = f"{record['claim']} {record['claim_text']}".lower()
        return self.verdict in (None, verdict) and all(
            re.search(rf"\b{re.escape(word)}", text) for word in self.words
        )


def describe_claims(workspace: Workspace, *, paper: str | None, scale: str | None) -> list[Json]:
    """Return every claim of the papers, or of one paper, at each scale with results.

    Args:
        workspace: folders of suites and results.
        paper: restrict to this paper; None means all.
        scale: restrict to this scale; None means all.

    Raises:
        BenchError: the paper or scale does not exist, or a suite cannot be read.
    """
    if paper is not None:
        load_paper(paper, workspace.suites)
    check_scale_known(scale, workspace.suites)
    paths = known_suites(workspace.suites).values()
    judged = list[JudgedScale]()
    results = results_in(workspace)

    def judged_suite(path: Path) -> Suite:
        suite = load_suite(path)
        if suite.claims and paper in (None, suite.paper):
            judged.extend(judged_scales(suite, path, results, scale))
        return suite

    loaded = of_sound_suites(paths, judged_suite)
    places = claim_places(loaded, load_papers(workspace.suites).values())
    rows = claim_rows([p for p in places if paper in (None, p.paper)], judged, scale)
    seen = seen_claims(s for s in loaded if s.paper and paper in (None, s.paper))
    return [row | _by_others(seen.get((row["paper"], row["claim"]))) for row in rows]


def judged_scales(
    suite: Suite, path: Path, results: Results, scale: str | None
) -> list[JudgedScale]:
    """Return the judged checks of a suite at each scale with results.

    Args:
        suite: the suite.
        path: file of the suite.
        results: the results folder.
        scale: restrict to this scale; None means all.

    Raises:
        SuiteError: the suite is invalid.
    """
    found = []
    printed = check_suite(suite, path)
    asked = suite.scales if scale is None else {scale} & suite.scales.keys()
    expanded = {name: expand(suite, name, path) for name in asked}
    check_found(suite, path, expanded)
    for name, every in expanded.items():
        cells = without_baselines(every)
        done = results.finished(cells)
        if done:
            baselines = results.finished_baselines(every, done)
            failed = results.failed(cells, done)
            judged = judge_claims(suite, name, cells, done, printed, baselines, failed)
            found.append(JudgedScale(suite, name, judged))
    return found


def _by_others(found: SeenByOthers | None) -> Json:
    """Return the keys that say what other projects' numbers show."""
    seen = found or SeenByOthers([])
    return {"seen_by_others": str(seen.seen), "by_others": seen.summary if seen.effects else None}


def totals_lines(records: Sequence[Json]) -> list[str]:
    """Return the number of claims with each verdict, for each kind of evidence."""
    claims = {(r["paper"], r["claim"]) for r in records}
    untested = {(r["paper"], r["claim"]) for r in records if r["overall"] == "not tested"}
    lines = []
    for kind, counts in counts_by_evidence(records).items():
        if counts:
            text = ", ".join(f"{counts[v]} {v}" for v in reversed(ClaimVerdict) if counts[v])
            lines.append(f"{kind}: {counted(counts.total(), 'claim')}: {text}")
        elif kind == Kind.IMAGES:
            lines.append(f"{kind}: none")
    return [*lines, f"not tested: {len(untested)} of {counted(len(claims), 'claim')}"]


def print_claims(
    evidence: Evidence, shown: Sequence[tuple[Claim, ClaimVerdict, list[Judged]]], show: str
) -> None:
    """Print each claim and its checks with their effects.

    Args:
        evidence: evidence of the selected cells.
        shown: each claim with its verdict and checks.
        show: the command that prints the measured values.
    """
    suite, scale = evidence.suite, evidence.suite.scales[evidence.scale]
    print_line(
        f"{suite.name} at scale {evidence.scale} ({scale.protocol}: {scale.what}): "
        + done_text(evidence.done, len(evidence.cells), evidence.failed)
    )
    for _, whole, checks in shown:
        print_claim(checks[0].record(), str(whole))
        here = [judged for judged in checks if judged.here] or checks[:1]
        for judged in here:
            effect = effect_words(judged.record())
            line = "; ".join(text for text in (effect, remark_text(judged)) if text)
            if not effect:
                line = f"{judged.check.subject}: {line}"
            alone = len(here) == 1 and judged.verdict == whole
            print_line(line if alone else f"{judged.verdict}: {line}", indent="    ")
        print_notes(checks[0].notes)
        if more := len(checks) - len(here):
            print_line(
                f"{counted(more, 'more test')} of this claim cannot be made, because no cell of "
                "this scale has the settings needed",
                indent="    ",
            )
    print_doubts(evidence.done)
    if not suite.claims:
        print_line(f"The suite tests no claim of a paper; `{show}` prints what it measured.")
    elif not shown:
        print_line(f"None of the suite's {len(suite.claims)} claims matches the filters.")


def print_claim(record: Json, verdict: str) -> None:
    """Print a claim's verdict, name, text (in our words) and place in the paper."""
    print()
    print_verdict(verdict, f"{record['paper']}/{record['claim']}")
    print_line(f"{record['claim_text']} ({record['locator']})", indent="  ")


def print_notes(notes: Sequence[str]) -> None:
    """Print a suite's notes on a claim."""
    for note in notes:
        print_line(f"Note: {note}", indent="    ")


def print_all_claims(records: Sequence[Json], chosen: Filter, workspace: Workspace) -> None:
    """Print each claim of the papers at each scale with results, and the total counts.

    Untested claims are counted but listed only if a filter is given.

    Args:
        records: one row per claim or judged check.
        chosen: filter for the claims.
        workspace: folders of suites and results.
    """
    listed = [r for r in records if r["suite"] or chosen.is_any]
    last = None
    for r in listed:
        if (name := (r["paper"], r["claim"])) != last:
            print_claim(r, r["overall"])
            last = name
        if r["suite"]:
            at = f"{r['suite']} at {r['scale']} ({r['evidence'] or r['protocol']})"
            parts = [f"{at}: {r['verdict']}", effect_words(r), r["why"], r["missing"]]
            parts.append(room_text(r["room"]))
            print_line("; ".join(text for text in parts if text), indent="    ")
            print_notes(r["notes"])
        else:
            print_line(r["missing"] or "", indent="    ")
    print()
    if listed and len(listed) < len(records):
        untested = command_line(workspace, "claims", "--verdict 'not tested'")
        print_line(f"`{untested}` lists the untested claims, each with the reason.")
    if not records:
        every = command_line(workspace, "claims")
        print_line(f"No claim matches these filters; `{every}` lists all claims that have results.")
        return
    for line in totals_lines(records):
        print_line(line)
    if chosen.verdict is None and not any(r["suite"] for r in records):
        print_line(
            "No results in this folder test any of these claims; `bench run SUITE` "
            "computes the cells of a suite."
        )
