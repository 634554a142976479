"""Every claim of the papers: the worst of its checks at each scale with results, or a reason."""

import re
from dataclasses import replace

from bench.analysis.claims import Judged, JudgedScale, Mention, claim_rows, overall_verdict
from bench.analysis.statistics import Interval
from bench.analysis.verdicts import ClaimVerdict, EvidenceKind
from bench.cli.claims import describe_claims, totals_lines
from bench.cli.workspace import Workspace as Folders
from bench.papers.reader import load_paper
from bench.suites.load import load_suite
from tests.fakes.paths import REFERENCE, SUITES
from tests.fakes.results import cells_of, finish
from tests.fakes.workspace import Workspace

SUITE = load_suite(SUITES / "eqco-table-9.yaml")
QUICK = SUITE.scales["quick"].model_copy(update={"protocol": "reduced"})
REDUCED = SUITE.model_copy(update={"scales": SUITE.scales | {"quick": QUICK}})


def judged(verdict: ClaimVerdict, mean: float | None, position: int = 0) -> Judged:
    effect = None if mean is None else Interval(3, mean, 0.1, mean - 0.1, mean + 0.1)
    check = SUITE.claims["toy-mi-steady"][position]
    claim = load_paper("eqco").claim("toy-mi-steady")
    missing = None if effect else "no seed"
    return Judged(claim, check, "quick", verdict, effect, EvidenceKind.TOYS, missing)


def place(name: str, suites: list[str], reason: str | None = None) -> Mention:
    return Mention(load_paper("eqco").claim(name), suites, reason)


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
    ran_at, quick_at = JudgedScale(REDUCED, "smoke", [ran]), JudgedScale(REDUCED, "quick", [good])
    rows = claim_rows([steady], [quick_at, ran_at])
    assert {row["overall"] for row in rows} == {"holds"}
    assert {row["overall"] for row in claim_rows([steady], [ran_at])} == {"cannot tell"}


def test_a_scale_at_the_trivial_baseline_decides_last() -> None:
    """The other scale's verdict is the claim's, unless that scale tests nothing."""
    low = replace(judged(ClaimVerdict.CANNOT_TELL, 0.9), unlearned=("not above baseline",))
    steady = place("toy-mi-steady", ["eqco-table-9"])

    def overall(other: Judged) -> str:
        scales = [JudgedScale(REDUCED, "quick", [low]), JudgedScale(REDUCED, "smoke", [other])]
        (verdict,) = {row["overall"] for row in claim_rows([steady], scales)}
        return str(verdict)

    assert overall(judged(ClaimVerdict.FAILS, 0.9)) == "fails"
    assert overall(judged(ClaimVerdict.HOLDS, 0.1)) == "holds"
    assert overall(judged(ClaimVerdict.NOT_TESTED, None)) == "cannot tell"
    assert overall(low) == "cannot tell"


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
        "the suites that test the claim have no results at any scale (eqco-table-9, other)",
        "cannot be had",
        "no suite of this folder covers the claim",
    ]
    assert rows[0].keys() == judged(ClaimVerdict.HOLDS, 0.1).record().keys() | {
        "suite", "protocol", "checks", "overall"
    }  # fmt: skip


def test_a_measured_check_that_decides_nothing_is_the_reason() -> None:
    good = judged(ClaimVerdict.HOLDS, 0.1)
    check = good.check.model_copy(update={"shown": True})
    shown = JudgedScale(SUITE, "quick", [replace(good, check=check)])
    (row,) = claim_rows([place("toy-mi-steady", ["eqco-table-9"])], [shown])
    why = "measured, but the check cannot contradict the claim, so it decides nothing"
    assert (row["verdict"], row["missing"]) == ("not tested", f"eqco-table-9 at quick: {why}")


def test_the_verb_without_a_suite(workspace: Workspace) -> None:
    cells = cells_of(workspace.root / "suites" / "small.yaml", "tiny")
    half = [cell for cell in cells if cell.settings["mi_true"] == 2]
    finish(workspace.root / "results", half, lambda c: {"mi_lower_bound": 2 + c.seed / 10})
    own = {r["claim"]: r for r in workspace.call("claims", "--paper", "eqco", "--json").json}
    assert set(own) == set(load_paper("eqco").claims)
    steady = own["toy-mi-steady"]
    assert (steady["suite"], steady["scale"]) == (None, None)  # mi_true = 10 is missing
    assert (
        steady["missing"]
        == "small at tiny: no seed has finished all cells that one side of this check needs"
    )
    finish(workspace.root / "results", cells, lambda c: {"mi_lower_bound": 2 + c.seed / 10})
    answer = workspace.call("claims")
    assert answer.status == 0
    assert "small at tiny (toy experiments at a reduced scale)" in answer.out
    assert answer.out.splitlines()[-3:] == [
        "images at the published protocol: none",
        "toy experiments at a reduced scale: 1 claim: 1 holds",
        "not tested: 140 of 141 claims",
    ]


def test_published_scales_decide() -> None:
    holds, partly, fails, none = (
        ClaimVerdict(v) for v in ("holds", "partly holds", "fails", "not tested")
    )
    unsure = ClaimVerdict.CANNOT_TELL
    assert overall_verdict([(holds, True), (fails, False)]) == holds
    assert overall_verdict([(partly, True), (unsure, False)]) == partly
    assert overall_verdict([(partly, True), (none, False)]) == partly
    assert overall_verdict([(none, True), (holds, False)]) == holds
    assert overall_verdict([(holds, True), (fails, True)]) == fails
    assert overall_verdict([]) == overall_verdict([(none, True)]) == none


def test_kinds_of_evidence_are_counted_apart() -> None:
    """On the reference results: images at the published protocol come first, and there are none."""
    records = describe_claims(Folders(SUITES, REFERENCE, SUITES), paper=None, scale=None)
    first, *lines = totals_lines(records)
    assert first == "images at the published protocol: none"
    assert [line.partition(":")[0] for line in lines] == [
        "images at a reduced scale", "speech at a reduced scale",
        "toy experiments at the published protocol",
        "identities and theorems", "not tested",
    ]  # fmt: skip
    for line in lines[:-1]:
        count, *parts = map(int, re.findall(r"(\d+) [a-z]", line))
        assert count == sum(parts)
    tested = {(r["paper"], r["claim"]) for r in records if r["overall"] != "not tested"}
    assert lines[-1] == f"not tested: {141 - len(tested)} of 141 claims"
    assert "fails" not in lines[0]
    assert "not seen at this scale" in lines[0]


def test_options_that_go_with_a_suite_or_without(workspace: Workspace) -> None:
    assert workspace.call("claims", "--where", "K=8").err == (
        "bench: --where and --seeds choose cells of one suite: name the suite as "
        "the first argument\n"
    )
    assert workspace.call("claims", "small", "--paper", "dcl").err == (
        "bench: --paper selects claims of all suites, so it cannot be combined with a suite\n"
    )
    (workspace.root / "results").mkdir()
    assert workspace.call("claims", "--paper", "dlc").err == (
        "bench: there is no paper 'dlc'. Did you mean 'dcl'? Allowed "
        "here: dcl, dual-temperature, eqco, mutual-information, unigrad.\n"
    )
