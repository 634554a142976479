"""`bench claims`: the papers' sentences, and what the results say of them."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bench.analysis.all_claims import JudgedScale, claim_rows
from bench.analysis.claims import judge_claims
from bench.analysis.coverage import claim_places
from bench.analysis.evidence import Evidence
from bench.cells.baseline import without_baselines
from bench.cli.evidence import evidence_of
from bench.cli.options import AsJson, Scale, Seeds, Where, answer
from bench.cli.selection import check_scale_known, select
from bench.cli.terminal import interval_text, print_rows
from bench.cli.workspace import Workspace
from bench.errors import BenchError
from bench.papers.reader import load_paper
from bench.report.judged import EFFECT, SEEN, check_text, effect_text, remark_text, seen_text
from bench.report.tables import Entry
from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from bench.suites.validate import check_suite

Record = dict[str, Any]


def claims(
    context: typer.Context,
    suite: Annotated[str | None, typer.Argument(help="A suite; default: all claims.")] = None,
    paper: Annotated[str | None, typer.Option(help="Only the claims of this paper.")] = None,
    scale: Scale = None, where: Where = None, seeds: Seeds = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print the checks of a suite's claims, or every claim of the papers; status 1 if one fails."""
    if suite is None:
        if where or seeds:
            raise BenchError("--where and --seeds choose cells of a suite: name one")
        records = describe_claims(context.obj, paper=paper, scale=scale)
        answer(records, print_all_claims, as_json)
    else:
        if paper is not None:
            raise BenchError("--paper filters the claims of all suites: leave the suite out")
        selection = select(context.obj, suite, scale=scale, where=where, seeds=seeds)
        evidence = evidence_of(selection)
        records = [judged.record() for judged in evidence.judged]
        answer(records, lambda _: print_claims(evidence), as_json)
    raise typer.Exit(any(record["verdict"] == "fails" for record in records))


def describe_claims(workspace: Workspace, *, paper: str | None, scale: str | None) -> list[Record]:
    """Return every claim of the papers, or of one, at each scale that has results.

    Raises:
        BenchError: no such paper or scale, or a suite that cannot be read.
    """
    if paper is not None:
        load_paper(paper)
    check_scale_known(scale, workspace.suites)
    loaded = {path: load_suite(path) for path in suite_paths(workspace.suites).values()}
    results, judged_scales = Results(workspace.results), []
    for path, suite in loaded.items():
        if not suite.claims or paper not in (None, suite.paper):
            continue
        printed = check_suite(suite, path)
        for name in suite.scales if scale is None else {scale} & suite.scales.keys():
            cells = without_baselines(expand(suite, name, path))
            done = results.finished(cells)
            if done:
                judged = judge_claims(suite, name, cells, done, printed)
                judged_scales.append(JudgedScale(suite, name, judged))
    places = claim_places(list(loaded.values()))
    return claim_rows([p for p in places if paper in (None, p.paper)], judged_scales, scale)


def totals_text(name: str, verdicts: Sequence[str]) -> str:
    """Return how many claims have each verdict; the counts add up to the number of claims."""
    counts = Counter(verdicts)
    told = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    return f"{name}: {len(verdicts)} claims: {told}"


def print_claims(evidence: Evidence) -> None:
    """Print each check of each claim."""
    rows = [
        [
            Entry(str(j.verdict)),
            Entry(j.claim.id),
            Entry(check_text(j.check).replace("`", "")),
            Entry(effect_text(j)),
            Entry(f"{j.threshold:.3g}"),
            Entry(seen_text(j)),
            Entry(str(j.effect.n) if j.effect else ""),
            Entry(remark_text(j)),
        ]
        for j in evidence.judged
    ]
    heads = ["verdict", "claim", "check", EFFECT, "threshold", SEEN, "n", "remark"]
    print_rows(f"{evidence.suite.name} at scale {evidence.scale}", heads, rows)


def print_all_claims(records: Sequence[Record]) -> None:
    """Print each claim of the papers at each scale that has results."""
    rows = [
        [
            Entry(r["verdict"]),
            Entry(f"{r['paper']}/{r['claim']}"),
            Entry(f"{r['suite']} at {r['scale']} ({r['protocol']})" if r["suite"] else ""),
            Entry(interval_text(r) if r["effect"] is not None else r["missing"] or ""),
            Entry("" if r["threshold"] is None else f"{r['threshold']:.3g}"),
            Entry("" if r["smallest_effect"] is None else f"{r['smallest_effect']:.2g}"),
            Entry(str(r["n"] or "")),
        ]
        for r in records
    ]
    heads = ["verdict", "claim", "suite and scale", EFFECT, "threshold", SEEN, "n"]
    print_rows("", heads, rows)
    overall = {(r["paper"], r["claim"]): r["overall"] for r in records}
    for paper in dict.fromkeys(r["paper"] for r in records):
        print(totals_text(paper, [v for (of, _), v in overall.items() if of == paper]))
    print(totals_text("in all", list(overall.values())))
    if not any(r["suite"] for r in records):
        print("no suite has results here yet; `bench run SUITE` computes them")
