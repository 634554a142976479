"""`bench suites`: filters of the list, and one suite described whole."""

from pathlib import Path
from typing import Any

import pytest

from bench.cells.baseline import without_baselines
from bench.cli.suites import print_names
from bench.cli.workspace import Workspace as Workspaces
from bench.record import Json
from bench.suites.load import load_suite
from tests.fakes.paths import ROOT
from tests.fakes.results import cells_of, finish
from tests.fakes.suites import DIGITS, SECONDS, SUITE, changed
from tests.fakes.workspace import Workspace


@pytest.fixture
def two(workspace: Workspace) -> Workspace:
    workspace.suite(DIGITS)
    return workspace


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], {"digits": ["tiny"], "small": ["tiny", "long"]}),
        (["--search", "GAUSSIAN grid"], {"small": ["tiny", "long"]}),
        (["--search", "table-9"], {"small": ["tiny", "long"]}),
        (["--search", "gaussian zebra"], {}),
        (["--paper", "eqco"], {"small": ["tiny", "long"]}),
        (["--paper", "dcl"], {}),
        (["--scale", "long"], {"small": ["long"]}),
        (["--dataset", "digits"], {"digits": ["tiny"]}),
        (["--dataset", "digits", "--paper", "eqco"], {}),
    ],
)
def test_filters(two: Workspace, words: list[str], found: dict[str, list[str]]) -> None:
    answer = two.call("suites", *words, "--json")
    assert (answer.status, answer.err) == (0, "")
    assert {record["name"]: list(record["scales"]) for record in answer.json} == found


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--scale", "big"], "--scale big: no suite has this scale. Allowed here: tiny, long.\n"),
        (["--paper", "dlc"], "there is no paper 'dlc'. Did you mean 'dcl'? "),
        (
            ["--dataset", "digit"],
            "--dataset digit: no suite uses this data set. Did you mean 'digits'? ",
        ),
        (
            ["small", "--paper", "eqco"],
            "the name of a suite cannot be combined with --all, --search, --paper, "
            "--dataset or --scale\n",
        ),
        (["smal"], "suites: there is no suite 'smal'. Did you mean 'small'? "),
    ],
)
def test_mistakes(two: Workspace, words: list[str], told: str) -> None:
    answer = two.call("suites", *words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"bench: {told}")


def test_the_list_fits_80_columns(two: Workspace) -> None:
    title = "A title of a suite that is too long for one line of a terminal and goes on and on"
    two.suite(changed(SUITE, {"title": title}), "other")
    told = two.call("suites", "--all").out
    assert max(map(len, told.splitlines())) <= 80
    assert told.startswith(
        "eqco (EqCo: Equivalent Rules for Self-supervised Contrastive Learning)\n"
        "  other: tiny 0/16, long 0/16\n      A title of a suite"
    )
    assert "\nNo paper\n  digits: tiny 0/2\n      A few epochs on digits\n" in told
    assert told.endswith(
        "3 suites (for each scale: finished cells/all cells).\n"
        "`bench suites digits` describes a suite in full.\n"
    )


def test_names_are_grouped_by_paper_and_marked_where_begun(two: Workspace) -> None:
    """A cell that is a baseline begins nothing: suites share it."""
    scales = {"tiny": SECONDS | {"baselines": {"lr": 0.1}}}
    path = two.suite(changed(DIGITS, {"scales": scales}), "with-baselines")
    of_digits = cells_of(path, "tiny")
    raw = [cell for cell in of_digits if cell not in without_baselines(of_digits)]
    finish(two.root / "results", raw, lambda c: {name: 1.0 for name in c.metrics})
    finish(
        two.root / "results", cells_of(two.root / "suites" / "small.yaml", "tiny")[:3],
        lambda _: {"mi_lower_bound": 1.0},
    )  # fmt: skip
    assert two.call("suites").out == (
        "eqco (EqCo: Equivalent Rules for Self-supervised Contrastive Learning), 1 suite:\n"
        "  small*\nNo paper, 2 suites:\n  digits  with-baselines\n"
        "* marks suites that have finished cells other than shared baselines.\n"
        "`bench suites --all`: title and scales of each suite\n"
        "`bench suites --paper dcl`: suites of one paper\n"
        "`bench suites digits`: full description of one suite\n"
    )
    counts = f"  with-baselines: tiny 0/{len(of_digits)} (and {len(raw)} shared baseline"
    assert counts in two.call("suites", "--search", "with-baselines").out


def test_the_names_fit_one_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the shipped suites, in a checkout: 80 columns and 50 lines."""
    monkeypatch.chdir(ROOT)
    suites = [load_suite(path) for path in sorted(Path("suites").glob("*.yaml"))]
    records: list[Json] = [{"name": s.name, "paper": s.paper, "scales": {}} for s in suites]
    print_names(records, Workspaces(Path("suites"), Path("results"), Path("datasets")))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert all(s.name in " ".join(lines).split() for s in suites)


def test_one_suite_is_described_whole(two: Workspace) -> None:
    def number(cell: Any) -> dict[str, float]:
        return {"mi_lower_bound": 1.0}

    path = two.root / "suites" / "small.yaml"
    finish(two.root / "results", cells_of(path, "tiny")[:3], number)
    (record,) = two.call("suites", "small", "--json").json
    assert record["scales"]["tiny"] == {
        "cells": 16, "done": 3, "baselines_done": 0, "protocol": "reduced", "what": "seconds",
        "datasets": [], "seeds": [0, 1],
        "axes": {"loss": ["infonce", "eqco"], "mi_true": [2.0, 10.0], "K": [8, 16]},
    }  # fmt: skip
    told = two.call("suites", "small").out
    for part in (
        "small: A small grid of gaussian-mi\n  eqco: table-9\n",
        "scale tiny, the default (reduced): seconds; 3 of 16 cells done\n    loss: infonce, eqco\n",
        "claim toy-mi-steady: the InfoNCE estimate of mutual information (MI)",
        "assumed tau = 1: plain\n",
        "Next: `bench plan small --scale tiny`\n",
    ):
        assert part in told
    assert max(map(len, told.splitlines())) <= 80
    digits = two.call("suites", "digits").out
    assert "  not part of a paper\n" in digits
    assert "    dataset: digits\n    knn_k: 3, 7\n    seed: 0\n" in digits
