"""Headroom on the pages, in tables and in what the command line prints."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.cells.baseline import Baseline
from bench.cells.cell import Cell
from tests.fakes.rooms import ROOMY, better, fill, unlearned
from tests.fakes.suites import REMOVED, changed
from tests.fakes.workspace import Workspace

pytestmark = pytest.mark.slow

ROOM = "raw pixels 40.0, untrained network 25.0, with labels 70.0: headroom 30.0"


@pytest.fixture
def path(workspace: Workspace) -> Path:
    return workspace.suite(ROOMY)


def pages(
    workspace: Workspace,
    path: Path,
    accuracy: Callable[[Any], float] = better,
    keep: Callable[[Cell], bool] = lambda _: True,
) -> dict[str, str]:
    """Return the texts of the site, by their paths, of results made by hand."""
    fill(workspace.root / "results", path, accuracy, keep)
    assert workspace.call("report", "--formats", "tex,csv").status == 0
    site = workspace.root / "reports"
    texts = (file for file in site.rglob("*") if file.suffix in (".md", ".html", ".tex", ".csv"))
    return {str(file.relative_to(site)): file.read_text() for file in texts}


def test_room_stands_below_each_table_of_an_accuracy(workspace: Workspace, path: Path) -> None:
    texts = pages(workspace, path)
    page = texts["roomy/tiny/index.md"]
    last_row = "| infonce | 50.20 ± 0.50 | 50.20 ± 0.50 |\n\n"
    assert f"{last_row}{ROOM}\n\n**q_B" in page
    assert "| metric | raw pixels | untrained network | with labels | headroom |\n" in page
    assert "| kNN top-1 (%) | 40.0 | 25.0 ± 0.0 | 70.0 ± 0.0 | 30.0 |\n" in page
    assert "not computed yet" not in page
    assert "did not learn" not in page
    assert f"<p>{ROOM}</p>" in texts["roomy/tiny/index.html"]
    assert f"\\par\\footnotesize {ROOM}\n" in texts["roomy/tiny/knn-top-1.tex"]
    assert (
        texts["roomy/tiny/room.csv"].splitlines()[1]
        == "kNN top-1 (%),40.0,25.0 ± 0.0,70.0 ± 0.0,30.0"
    )
    assert f"**holds** ({ROOM})" in page


def test_the_page_of_an_artifact_has_room_too(workspace: Workspace, path: Path) -> None:
    texts = pages(workspace, path)
    for suffix in ("md", "html"):
        page = texts[f"dcl/table-1-cifar10.{suffix}"]
        assert "Trivial baselines, supervised accuracy and headroom" in page
        assert page.count(ROOM) == 2  # below the table, beside the check


def test_the_page_says_who_did_not_learn(workspace: Workspace, path: Path) -> None:
    texts = pages(workspace, path, unlearned)
    who, what = "batch_size = 16, loss = infonce", "kNN accuracy 39.0, raw pixels 40.0"
    told = f"cells with {who} are not detectably above baseline: {what}"
    page = texts["roomy/tiny/index.md"]
    assert f"Checks that compare the following cells are not judged:\n\n- {told}\n" in page
    assert f"**cannot tell** ({told}; {ROOM})" in page
    low = "\\* 1 of 4 entries: the lower end of the interval is not above the trivial baseline"
    assert f"{ROOM}\n\n{low}\n" in page
    assert f"<li>{told}</li>" in texts["roomy/tiny/index.html"]


def test_the_page_says_what_is_not_computed_yet(workspace: Workspace, path: Path) -> None:
    kept = lambda c: not (isinstance(c, Baseline) and c.baseline == "labels")  # noqa: E731
    page = pages(workspace, path, keep=kept)["roomy/tiny/index.md"]
    command = "bench run roomy --scale tiny --where baseline=raw,untrained,labels"
    assert (
        "3 of the 7 baseline cells, for trivial baselines and supervised accuracies, are not "
        f"computed yet; `{command}` computes these cells." in page
    )
    baselines = "not all baselines (raw pixels, untrained network, training with labels)"
    assert f"\n\n{baselines} are computed yet\n" in page
    assert "): the trivial baseline and supervised accuracy are not computed yet\n" in page
    assert "headroom 30.0" not in page


def test_a_missing_baseline_of_one_network_does_not_hide_the_others(workspace: Workspace) -> None:
    grid = {"width": [8, 16], "loss": ["infonce", "dcl"], "batch_size": [32]}
    path = workspace.suite(changed(ROOMY, {"grid": grid, "fixed.width": REMOVED}))
    missing = {"baseline": "labels", "width": 16}
    page = pages(workspace, path, keep=lambda c: not missing.items() <= c.known.items())
    below = f"{ROOM}\n\nsome of these baselines are not computed yet for other entries\n"
    assert below in page["roomy/tiny/index.md"]


def test_a_scale_without_baselines_says_nothing_of_them(workspace: Workspace) -> None:
    path = workspace.suite(changed(ROOMY, {"scales.tiny.baselines": None}))
    page = pages(workspace, path)["roomy/tiny/index.md"]
    assert "ceiling" not in page
    unknown = "the accuracies of raw pixels and of an untrained network are unknown"
    assert f"**holds** ({unknown})" in page


def test_a_suite_of_which_baselines_alone_are_done_has_no_results(
    workspace: Workspace, path: Path
) -> None:
    """Other suites of the scale computed them."""
    texts = pages(workspace, path, keep=lambda c: isinstance(c, Baseline))
    assert "roomy/tiny/index.md" not in texts
    assert "no results yet: `bench run roomy`" in texts["index.md"]


def test_claims_tell_room(workspace: Workspace, path: Path) -> None:
    fill(workspace.root / "results", path)
    own = workspace.call("claims", "roomy", "--json")
    every = workspace.call("claims", "--paper", "dcl", "--json")
    expected = {"metric": "knn_top1", "raw": 40.0, "untrained": 25.0, "labels": 70.0,
                "floor": 40.0, "ceiling": 70.0, "room": 30.0}  # fmt: skip
    for answer in (own, every):
        (record,) = [r for r in json.loads(answer.out) if r["n"]]
        assert (record["room"], record["verdict"], record["unlearned"]) == (expected, "holds", [])
    printed = " ".join(workspace.call("claims", "roomy").out.split())
    assert "raw pixels 40.0" in printed
    printed = " ".join(workspace.call("claims", "--paper", "dcl").out.split())
    assert "trivial baseline 40.0, supervised 70.0" in printed


def test_compared_accuracies_have_room_and_gains_have_none(
    workspace: Workspace, path: Path
) -> None:
    fill(workspace.root / "results", path)
    rows = [r for r in workspace.call("compare", "roomy", "--json").json if r["n"]]
    told = {(r["artifact"].split("/")[1], r["room"] and r["room"]["room"]) for r in rows}
    assert told == {("table-1-cifar10", 30.0), ("text-4.2-gains-batch32-cifar", None)}
    assert workspace.call("compare", "roomy").out.splitlines().count(ROOM) == 1


def test_baselines_are_counted_exported_and_imported(workspace: Workspace, path: Path) -> None:
    fill(workspace.root / "results", path)
    assert workspace.call("status", "roomy", "--json").json["done"] == 12 + 7
    assert workspace.call("suites", "--json").json[0]["scales"] == {
        "tiny": {"cells": 19, "done": 19, "baselines_done": 7}
    }
    for to in ("tables", "all.tar"):
        assert workspace.call("export", "roomy", "--to", to, "--json").json["cells"] == 19
    assert workspace.call("--results", "there", "import", "all.tar", "--json").json["added"] == 19
    for results in ("tables", "there"):
        (record,) = workspace.call("--results", results, "claims", "roomy", "--json").json
        assert record["room"]["room"] == 30.0
