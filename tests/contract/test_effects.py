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


def made(workspace: Workspace, scale: str) -> Workspace:
    """Return a workspace with made-up results of one suite below batch 128."""
    data = yaml.safe_load((ROOT / "suites" / f"{NAME}.yaml").read_text())
    data["scales"] = {k: v for k, v in data["scales"].items() if k in ("paper", scale)}
    data["scale"] = scale
    path = workspace.suite(data, NAME)
    cells: list[Any] = cells_of(path, scale)
    own = [c for c in cells if isinstance(c, Baseline) or c.batch_size < 128]
    finish(workspace.root / "results", own, metrics)
    return workspace


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    """On CIFAR-10, at batch 32 and 64."""
    return made(workspace, "cifar")


def test_effects_beside_those_of_the_paper(measured: Workspace) -> None:
    answer = measured.call("compare", NAME, "--effects", "--json")
    assert answer.status == 0
    rows = [
        row for row in answer.json
        if row["artifact"] == "dcl/table-1-cifar10" and row["metric"] == "knn_top1"
    ]  # fmt: skip
    assert [(r["at"]["batch_size"], r["published"], r["n"], r["verdict"]) for r in rows] == [
        (32, 4.8, 5, "smaller"), (64, 4.0, 5, "smaller"), (128, 3.3, 0, "not measured"),
        (256, 2.8, 0, "not measured"), (512, 2.2, 0, "not measured"),
    ]  # fmt: skip
    text = measured.call("compare", NAME, "--effects").out
    assert "dcl/table-1-cifar10: effect of loss DCL over InfoNCE, scale cifar" in text


def test_what_was_measured_on_other_data_is_listed_once_without_a_verdict(
    workspace: Workspace,
) -> None:
    digits = made(workspace, "cpu")
    answer = digits.call("compare", NAME, "--effects", "--json")
    assert answer.status == 0
    other = [row for row in answer.json if row["measured"] is not None]
    assert {(row["on_other_data"], row["data"], row["verdict"]) for row in other} == {
        (True, "digits", None)
    }
    assert len({(row["metric"], *row["cells"]) for row in other}) == len(other)
    assert all("dcl/table-1-cifar10" in row["artifacts"] for row in other)
    assert {row["at"].get("dataset", "digits") for row in other} == {"digits"}
    text = digits.call("compare", NAME, "--effects").out
    title = "Effects measured on data that the published numbers do not use; they have no verdict"
    assert title in " ".join(text.split())
    assert "dcl/table-1-cifar10: effect" not in text


def test_a_reduced_scale_compares_effects_where_values_cannot_be(measured: Workspace) -> None:
    text = measured.call("compare", NAME).out
    assert "effect of loss DCL over InfoNCE" in text
    assert "+4.8" in text


def test_show_has_what_others_measured_on_the_same_data_before_the_next_command(
    measured: Workspace,
) -> None:
    """By hand from one source's README; a line for each metric and row of the table."""
    lines = " ".join(measured.call("show", NAME).out.split()).split("By others, ")[1:]
    nakhli = "(raminnakhli/Decoupled-Contrastive-Learning)"
    assert (
        f"linear accuracy, loss = dcl: batch_size = 32: 84.6 {nakhli}; batch_size = 64: 85.6"
        in lines[-1]
    )
    assert [line.partition(": ")[0] for line in lines] == [
        "linear accuracy, loss = infonce",
        lines[-1][:27],
    ]
    assert lines[-1].index("`bench others dcl-table-1`") < lines[-1].index("Next: ")
    rows = measured.call("show", NAME, "--json").json
    assert {other["data"] for row in rows for other in row["others"]} == {"cifar10"}
    assert {row["metric"] for row in rows if row["others"]} == {"linear_top1"}


def test_show_has_nobodys_numbers_beside_other_data(workspace: Workspace) -> None:
    digits = made(workspace, "cpu")
    assert not any(row["others"] for row in digits.call("show", NAME, "--json").json)
    assert "By others" not in digits.call("show", NAME).out


def test_exported_tables_have_the_effects_of_their_cells(measured: Workspace) -> None:
    assert measured.call("export", NAME, "--to", "tables").status == 0
    words = ("compare", NAME, "--effects", "--json")
    assert measured.call("--results", "tables", *words).json == measured.call(*words).json


def test_without_results_or_baselines_it_says_so(measured: Workspace) -> None:
    answer = measured.call("compare", NAME, "--scale", "paper", "--effects")
    first, second, *_ = answer.out.splitlines()
    assert (answer.status, first) == (
        3,
        "None of the published effects was measured at scale paper.",
    )
    assert second.startswith("By others, dcl/table-1-imagenet1k: ")
    answer = measured.call("compare", "small", "--effects")
    told = (
        "The suite names no baseline row, so no effects can be computed from the "
        "published values.\n"
    )
    assert (answer.status, answer.out) == (3, told)


def test_effects_are_the_papers(measured: Workspace) -> None:
    answer = measured.call("compare", NAME, "--effects", "--with", "results")
    assert answer.status == 2
    assert (
        answer.err == "bench: --effects compares results with the paper, so it cannot be "
        "combined with --with\n"
    )


@pytest.mark.slow
def test_the_pages_of_artifact_and_suite_have_a_table_and_a_figure(measured: Workspace) -> None:
    assert measured.call("report", NAME, "--to", "site", "--formats", "csv").status == 0
    site = measured.root / "site"
    row = "| kNN top-1 (%) | 32 | +4.8 | +4.00 [+3.53, +4.47] | 5 | 0.64 | smaller |"
    for page, picture in (
        ("dcl/table-1-cifar10.md", "table-1-cifar10-effects.svg"),
        (f"{NAME}/cifar/index.md", "effects-table-1-cifar10.svg"),
    ):
        text = (site / page).read_text()
        assert row in text
        assert f"]({picture})" in text
        assert (site / page).with_name(picture).read_text().count("measured at scale cifar") == 1
        html = (site / page).with_suffix(".html").read_text()
        assert f'src="{picture}"' in html
        assert "less dcl/table-1-cifar10, row 1" in html
    assert (site / NAME / "cifar" / "effects-table-1-cifar10.csv").exists()
