"""`bench claims`: texts, effects in words, filters and the exit status."""

from typing import Any

import pytest

from tests.fakes.paths import REFERENCE, SUITES
from tests.fakes.results import cells_of, finish
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace


def number(cell: Any) -> dict[str, float]:
    return {"mi_lower_bound": 1 + cell.seed / 10 + cell.K / 100}


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    path = workspace.root / "suites" / "small.yaml"
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    return workspace


TEXT = (
    "  the InfoNCE estimate of mutual information (MI) varies with K, but the EqCo\n"
    "  estimate (alpha = 512) hardly varies; their ranges over K differ most at large\n"
    "  true MI (8, 10) (App. C, Table 9)\n"
)


def test_a_claim_has_its_text_and_its_effect_in_words(measured: Workspace) -> None:
    """From K = 8 to 16 the bound rises by 0.08; four seeds' variances, so the interval is wide."""
    answer = measured.call("claims", "small")
    assert answer.status == 0
    assert answer.out == (
        "small at scale tiny (reduced: seconds): 16 of 16 cells done\n"
        "\n"
        "holds  eqco/toy-mi-steady\n"
        f"{TEXT}"
        "    MI bound, change over K at EqCo, alpha 512, the worst of 2 comparisons\n"
        "    (mi_true 2, K 8 to 16): +0.08 [-0.22, 0.38] nats (95 % interval; holds if\n"
        "    within ±10), n = 2 (seed variance separate, 2 degrees of freedom); minimum\n"
        "    detectable distance from the threshold 0.38\n"
    )


def test_a_scale_that_only_runs_judges_no_claim(workspace: Workspace) -> None:
    path = workspace.suite(changed(SUITE, {"scales.tiny.judged": False}))
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    for words in (("claims", "small"), ("claims",)):
        answer = workspace.call(*words)
        assert answer.status == 3
        text = " ".join(answer.out.split())
        assert "cannot tell eqco/toy-mi-steady" in text
        assert "this scale only checks that everything runs" in text


def test_a_scale_says_why_it_judges_no_claim(workspace: Workspace) -> None:
    path = workspace.suite(changed(SUITE, {"scales.tiny.unjudged": "its baseline is broken"}))
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    answer = workspace.call("claims", "small")
    assert (answer.status, workspace.call("claims").status) == (3, 3)
    text = " ".join(answer.out.split())
    assert "cannot tell eqco/toy-mi-steady" in text
    assert "its baseline is broken" in text
    assert "only checks that everything runs" not in text


def test_a_suites_notes_on_a_claim_stand_below_it(workspace: Workspace) -> None:
    """Those of the claim and of the suite; those of another scale stay on its own page."""
    notes = ["`toy-mi-steady` is asked of alpha 512.", "`another-claim` is asked of nothing."]
    changes = {
        "notes": notes,
        "scales.long.notes": "`toy-mi-steady` is asked of more steps.",
        "claims.toy-mi-steady": {
            "notes": "The margin is wide.", "checks": SUITE["claims"]["toy-mi-steady"]
        },
    }  # fmt: skip
    path = workspace.suite(changed(SUITE, changes))
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    for words in (("claims", "small"), ("claims",)):
        out = workspace.call(*words).out
        assert out.count("Note: ") == 2
        assert f"\n    Note: {notes[0]}\n" in out
        assert "\n    Note: The margin is wide.\n" in out
    site = workspace.root / "site"
    assert workspace.call("report", "small", "--to", str(site)).status == 0
    for page, start in (("index.md", "\nNote: "), ("index.html", "<p>Note: ")):
        text = (site / "small" / "tiny" / page).read_text()
        assert text.count(start) == 2
        assert text.count("is asked of alpha 512.") == 1
        assert text.count("is asked of nothing.") == 1  # among the notes at the end
        assert "is asked of more steps." not in text


def test_without_a_suite_untested_claims_are_counted_and_listed_when_asked_for(
    measured: Workspace,
) -> None:
    answer = measured.call("claims")
    assert answer.status == 0
    assert TEXT in answer.out
    assert "small at tiny (toy experiments at a reduced scale): holds; MI bound" in (
        " ".join(answer.out.split())
    )
    assert (
        "`bench claims --verdict 'not tested'` lists the untested claims, each with" in answer.out
    )
    untested = measured.call("claims", "--verdict", "not tested", "--paper", "eqco")
    assert (untested.status, untested.out.count("\nnot tested  eqco/")) == (0, 28)
    assert untested.out.endswith("not tested: 28 of 28 claims\n")


@pytest.mark.parametrize(
    ("words", "claims", "status"),
    [
        (["--search", "ESTIMATE varies"], ["toy-mi-steady"], 0),
        (["--search", "toy-mi-steady"], ["toy-mi-steady"], 0),
        (["--search", "stimate"], [], 3),  # words begin with it
        (["--search", "estimate zebra"], [], 3),
        (["--verdict", "holds"], ["toy-mi-steady"], 0),
        (["--verdict", "fails"], [], 3),
    ],
)
@pytest.mark.parametrize("suite", [[], ["small"]])
def test_filters(
    measured: Workspace, suite: list[str], words: list[str], claims: list[str], status: int
) -> None:
    answer = measured.call("claims", *suite, *words, "--json")
    assert (answer.status, [r["claim"] for r in answer.json]) == (status, claims)
    told = measured.call("claims", *suite, *words)
    assert told.status == status
    assert (" matches" in told.out) == (not claims)


def test_no_claim_that_matches_is_said_in_whole_sentences(measured: Workspace) -> None:
    assert measured.call("claims", "--search", "temperatures").out == (
        "\nNo claim matches these filters; `bench claims` lists all claims that have\nresults.\n"
    )


def test_an_unknown_verdict_is_told(workspace: Workspace) -> None:
    answer = workspace.call("claims", "--verdict", "hold")
    assert (answer.status, answer.err) == (
        2,
        "bench: --verdict hold: there is no such verdict. Did you mean 'holds'? "
        "Allowed here: fails, not seen at this scale, cannot tell, not tested, "
        "partly holds, holds.\n",
    )


def test_nothing_tested_is_status_3(workspace: Workspace) -> None:
    (workspace.root / "results").mkdir()
    for words in (
        ["claims"],
        ["claims", "small"],
        ["claims", "--json"],
        ["claims", "--paper", "dcl"],
    ):
        assert workspace.call(*words).status == 3, words
    workspace.suite(changed(SUITE, {"claims": {}}))
    untested = (
        "No results in this folder test any of these claims; `bench run SUITE` "
        "computes\nthe cells of a suite.\n"
    )
    assert workspace.call("claims").out.endswith(untested)
    path = workspace.root / "suites" / "small.yaml"
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    assert workspace.call("claims").out.endswith(untested)  # there are results, of other things
    told = workspace.call("claims", "small")
    assert told.status == 3
    assert "`bench show small --scale tiny` prints what\nit" in told.out


def test_checks_of_settings_that_a_scale_does_not_have_are_counted(measured: Workspace) -> None:
    check = SUITE["claims"]["toy-mi-steady"][0]
    other = [check | {"where": {"loss": "eqco", "alpha": 512, "mi_true": mi}} for mi in (4, 6)]
    changes = {"claims.toy-mi-steady": [check, *other], "scales.long.grid": {"mi_true": [4, 6]}}
    measured.suite(changed(SUITE, changes))
    told = measured.call("claims", "small").out
    assert told.count("change over K") == 1
    assert told.endswith(
        "    2 more tests of this claim cannot be made, because no cell of this scale has\n"
        "    the settings needed\n"
    )
    assert len(measured.call("claims", "small", "--json").json) == 3


def test_a_check_without_cells_says_what_it_would_look_at(workspace: Workspace) -> None:
    (workspace.root / "results").mkdir()
    told = workspace.call("claims", "small").out
    assert told.endswith(
        "    MI bound, change over K at EqCo, alpha 512: no seed has finished all cells\n"
        "    that one side of this check needs\n"
    )


def test_a_check_that_does_not_decide_does_not_set_the_status(workspace: Workspace) -> None:
    """Some bounds lie above the true value; that is shown, but contradicts no claim."""
    roots = "--suites", str(SUITES), "--results", str(REFERENCE)
    answer = workspace.call(*roots, "claims", "eqco-theorems", "--scale", "paper", "--json")
    failing = [row for row in answer.json if row["verdict"] == "fails"]
    assert failing
    assert not any(row["counts"] for row in failing)
    assert answer.status == 0
