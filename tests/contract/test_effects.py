"""Effects as a reader meets them: `bench compare --effects`, and the pages of the site."""

from typing import Any

import pytest
import yaml

from bench.cells.baseline import Baseline
from tests.fakes.effects import accuracy
from tests.fakes.paths import ROOT
from tests.fakes.results import cells_of, finish
from tests.fakes.rooms import LEVELS
from tests.fakes.workspace import Workspace

NAME = "dcl-table-1"


def metrics(cell: Any) -> dict[str, float]:
    known = LEVELS[cell.baseline] if isinstance(cell, Baseline) else accuracy(cell)
    return dict.fromkeys(cell.metrics, known)


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    """Return a workspace with made-up results of one suite at batch 16 to 64 of scale cpu."""
    data = yaml.safe_load((ROOT / "suites" / f"{NAME}.yaml").read_text())
    data["scales"] = {k: v for k, v in data["scales"].items() if k in ("paper", "cpu")}
    path = workspace.suite(data)
    cells: list[Any] = cells_of(path, "cpu")
    own = [c for c in cells if isinstance(c, Baseline) or c.batch_size < 128]
    finish(workspace.root / "results", own, metrics)
    return workspace


def test_effects_beside_those_of_the_paper(measured: Workspace) -> None:
    answer = measured.call("compare", NAME, "--effects", "--json")
    assert answer.status == 0
    rows = [
        row for row in answer.json
        if row["artifact"] == "dcl/table-1-cifar10" and row["stand_in_for"] == "knn_top1"
    ]  # fmt: skip
    assert [(row["at"]["batch_size"], row["published"], row["n"]) for row in rows] == [
        (32, 4.8, 5), (64, 4.0, 5), (128, 3.3, 0), (256, 2.8, 0), (512, 2.2, 0), (16, None, 5)
    ]  # fmt: skip
    text = measured.call("compare", NAME, "--effects").out
    assert "dcl/table-1-cifar10: effect of loss dcl over infonce, scale cpu" in text
    assert "warped_knn_top1; dataset digits for cifar10" in text


def test_a_reduced_scale_compares_effects_where_values_cannot_be(measured: Workspace) -> None:
    text = measured.call("compare", NAME).out
    assert "effect of loss dcl over infonce" in text
    assert "+4.8" in text


def test_where_no_printed_effect_has_a_measured_one_no_table_is_printed(
    measured: Workspace,
) -> None:
    """At batch 16 nothing is printed, at 256 nothing is measured."""
    words = ("compare", NAME, "--effects", "--where", "batch_size=16,256")
    answer = measured.call(*words)
    told = "no printed effect has a measured one at scale cpu\n"
    assert (answer.status, answer.out) == (0, told)
    assert any(row["n"] == 5 for row in measured.call(*words, "--json").json)


def test_exported_tables_have_the_effects_of_their_cells(measured: Workspace) -> None:
    assert measured.call("export", NAME, "--to", "tables").status == 0
    words = ("compare", NAME, "--effects", "--json")
    assert measured.call("--results", "tables", *words).json == measured.call(*words).json


def test_without_results_or_baselines_it_says_so(measured: Workspace) -> None:
    answer = measured.call("compare", NAME, "--scale", "paper", "--effects")
    assert (answer.status, answer.out) == (3, "none of 60 effects is measured at scale paper\n")
    answer = measured.call("compare", "small", "--effects")
    told = "the suite names no baseline, so its printed rows have no effects\n"
    assert (answer.status, answer.out) == (3, told)


def test_effects_are_the_papers(measured: Workspace) -> None:
    answer = measured.call("compare", NAME, "--effects", "--with", "results")
    assert answer.status == 2
    assert answer.err == "bench: --effects sets results beside the paper: leave --with out\n"


@pytest.mark.slow
def test_the_pages_of_artifact_and_suite_have_a_table_and_a_figure(measured: Workspace) -> None:
    assert measured.call("report", NAME, "--to", "site", "--formats", "csv").status == 0
    site = measured.root / "site"
    row = "| knn_top1 | 32 | +4.8 | +4.00 [+3.53, +4.47] | 5 | 0.64 | same direction, smaller |"
    for page, picture in (
        ("dcl/table-1-cifar10.md", "table-1-cifar10-effects.svg"),
        (f"{NAME}/cpu/index.md", "effects-table-1-cifar10.svg"),
    ):
        text = (site / page).read_text()
        assert row in text
        assert f"]({picture})" in text
        assert (site / page).with_name(picture).read_text().count("measured at scale cpu") == 1
        html = (site / page).with_suffix(".html").read_text()
        assert f'src="{picture}"' in html
        assert "less dcl/table-1-cifar10, row 1" in html
    assert (site / NAME / "cpu" / "effects-table-1-cifar10.csv").exists()
