"""Every claim of the papers: the worst of its checks at each scale with results, or a reason."""

import re
from dataclasses import replace

from bench.analysis.all_claims import JudgedScale, claim_rows, overall_verdict
from bench.analysis.coverage import Place
from bench.analysis.judged import ClaimVerdict, Judged
from bench.analysis.statistics import Interval
from bench.cli.claims import describe_claims, totals_text
from bench.cli.workspace import Workspace as Folders
from bench.papers.reader import PAPERS, load_paper
from bench.suites.load import load_suite
from tests.fakes.paths import REFERENCE, SUITES
from tests.fakes.results import cells_of, finish
from tests.fakes.workspace import Workspace

SUITE = load_suite(SUITES / "eqco-table-9.yaml")


def judged(verdict: ClaimVerdict, mean: float | None, position: int = 0) -> Judged:
    effect = None if mean is None else Interval(3, mean, 0.1, mean - 0.1, mean + 0.1)
    check = SUITE.claims["toy-mi-steady"][position]
    claim = load_paper("eqco").claim("toy-mi-steady")
    return Judged(claim, "quick", check, effect, 0.3, verdict, None if effect else "no seed")


def place(name: str, suites: list[str], reason: str | None = None) -> Place:
    return Place("eqco", name, suites, reason)


def test_the_worst_check_decides_at_each_scale() -> None:
    steady = place("toy-mi-steady", ["eqco-table-9"])
    good, bad = judged(ClaimVerdict.HOLDS, 0.1), judged(ClaimVerdict.FAILS, 0.9, 1)
    rows = claim_rows(
        [steady],
        [JudgedScale(SUITE, "quick", [good, bad]), JudgedScale(SUITE, "smoke", [good])],
    )
    assert [(r["suite"], r["protocol"], r["verdict"], r["effect"], r["checks"]) for r in rows] == [
        ("eqco-table-9", "published", "fails", 0.9, 2),
        ("eqco-table-9", "reduced", "holds", 0.1, 1),
    ]
    assert good.record().keys() < rows[0].keys()


def test_a_scale_that_only_runs_decides_nothing() -> None:
    """Neither for nor against: the other scale's verdict is that of the claim."""
    good = judged(ClaimVerdict.HOLDS, 0.1)
    ran = replace(judged(ClaimVerdict.CANNOT_TELL, 0.9), is_judged=False)
    steady = place("toy-mi-steady", ["eqco-table-9"])
    quick = SUITE.scales["quick"].model_copy(update={"protocol": "reduced"})
    suite = SUITE.model_copy(update={"scales": SUITE.scales | {"quick": quick}})
    ran_at, quick_at = JudgedScale(suite, "smoke", [ran]), JudgedScale(suite, "quick", [good])
    rows = claim_rows([steady], [quick_at, ran_at])
    assert {row["overall"] for row in rows} == {"holds"}
    assert {row["overall"] for row in claim_rows([steady], [ran_at])} == {"cannot tell here"}


def test_what_is_missing_is_told() -> None:
    nothing = JudgedScale(SUITE, "smoke", [judged(ClaimVerdict.NOT_TESTED, None)])
    places = [
        place("toy-mi-steady", ["eqco-table-9"]),
        place("toy-mi-same-at-alpha", ["eqco-table-9", "other"]),
        place("theorem-1-analytic", [], "cannot be had"),
        place("theorem-2-analytic", []),
    ]
    rows = claim_rows(places, [nothing])
    assert {(r["verdict"], r["scale"], r["n"]) for r in rows} == {("not tested", None, 0)}
    assert [r["missing"] for r in rows] == [
        "eqco-table-9 at smoke: no seed",
        "no results at any scale of eqco-table-9, other",
        "cannot be had",
        "no suite covers it",
    ]
    assert rows[0].keys() == judged(ClaimVerdict.HOLDS, 0.1).record().keys() | {
        "suite", "protocol", "checks", "overall"
    }  # fmt: skip


def test_the_verb_without_a_suite(workspace: Workspace) -> None:
    cells = cells_of(workspace.root / "suites" / "small.yaml", "tiny")
    half = [cell for cell in cells if cell.settings["mi_true"] == 2]
    finish(workspace.root / "results", half, lambda c: {"mi_lower_bound": 2 + c.seed / 10})
    own = {r["claim"]: r for r in workspace.call("claims", "--paper", "eqco", "--json").json}
    assert set(own) == set(load_paper("eqco").claims)
    steady = own["toy-mi-steady"]
    assert (steady["suite"], steady["scale"]) == (None, None)  # mi_true = 10 is missing
    assert steady["missing"] == "small at tiny: no seed has all of its cells done"
    finish(workspace.root / "results", cells, lambda c: {"mi_lower_bound": 2 + c.seed / 10})
    answer = workspace.call("claims")
    assert answer.status == 0
    assert "small at tiny (reduced)" in answer.out
    assert answer.out.splitlines()[-6:] == [
        "dcl: 38 claims: 38 not tested",
        "dual-temperature: 12 claims: 12 not tested",
        "eqco: 29 claims: 28 not tested, 1 holds",
        "mutual-information: 32 claims: 32 not tested",
        "unigrad: 30 claims: 30 not tested",
        "in all: 141 claims: 140 not tested, 1 holds",
    ]


def test_published_scales_decide_unless_they_test_a_part_only() -> None:
    holds, partly, fails, none = (
        ClaimVerdict(v) for v in ("holds", "partly holds", "fails", "not tested")
    )
    unsure = ClaimVerdict.INCONCLUSIVE
    assert overall_verdict([(holds, True), (fails, False)]) == holds
    assert overall_verdict([(partly, True), (unsure, False)]) == unsure
    assert overall_verdict([(partly, True), (none, False)]) == partly
    assert overall_verdict([(none, True), (holds, False)]) == holds
    assert overall_verdict([(holds, True), (fails, True)]) == fails
    assert overall_verdict([]) == overall_verdict([(none, True)]) == none


def test_totals_add_up_to_the_claims_of_each_paper_and_of_all() -> None:
    """On the reference results: one verdict per claim, however many suites and scales judge it."""
    records = describe_claims(Folders(SUITES, REFERENCE, SUITES), paper=None, scale=None)
    overall = {(r["paper"], r["claim"]): r["overall"] for r in records}
    for paper in PAPERS:
        own = [verdict for (of, _), verdict in overall.items() if of == paper]
        counts = [int(n) for n in re.findall(r"(\d+) [a-z]", totals_text(paper, own))]
        assert counts[0] == len(load_paper(paper).claims) == sum(counts[1:]), paper
    counts = [
        int(n) for n in re.findall(r"(\d+) [a-z]", totals_text("in all", [*overall.values()]))
    ]
    assert counts[0] == 141 == sum(counts[1:])


def test_options_that_go_with_a_suite_or_without(workspace: Workspace) -> None:
    assert workspace.call("claims", "--where", "K=8").err == (
        "bench: --where and --seeds choose cells of a suite: name one\n"
    )
    assert workspace.call("claims", "small", "--paper", "dcl").err == (
        "bench: --paper filters the claims of all suites: leave the suite out\n"
    )
    (workspace.root / "results").mkdir()
    assert workspace.call("claims", "--paper", "dlc").err == (
        "bench: no paper 'dlc'. Did you mean 'dcl'? Allowed here: "
        "dcl, dual-temperature, eqco, mutual-information, unigrad.\n"
    )
