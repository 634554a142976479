"""The cell of a method of one's own travels to where nobody knows the method's file."""

import json
from pathlib import Path

import pytest

from tests.fakes.results import alter
from tests.fakes.suites import DIGITS, changed
from tests.fakes.workspace import Workspace

OWN = changed(
    DIGITS,
    {
        "fixed.method": "mine",
        "fixed.epochs": 1,
        "grid.knn_k": [3],
        "tables": [{"title": "kNN", "metric": "knn_top1", "rows": ["loss"]}],
    },
)
"""The method `mine` is moco-v2 under another loss."""
SPELT_OUT = changed(OWN, {"fixed.method": "moco-v2", "fixed.loss": "dcl"})


@pytest.fixture
def elsewhere(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A folder with no suites and no methods; `../here` holds a finished cell of a method."""
    here, there = workspace.root / "here", workspace.root / "there"
    for folder in (here, there):
        folder.mkdir()
    monkeypatch.chdir(here)
    Workspace(here, workspace.call).suite(OWN)
    (here / "suites" / "methods").mkdir()
    (here / "suites" / "methods" / "own.yaml").write_text(
        "mine: {what: MoCo v2 under DCL's loss, like: moco-v2, coordinates: {loss: [dcl, me]}}\n"
    )
    answer = workspace.call("run", "digits", "--executor", "inline")
    counts = answer.out.splitlines()[0]
    assert (answer.status, counts) == (0, "cells: 1 done, 0 failed, 0 missing"), answer.err
    words = ("export", "digits", "--to", "cells.tar", "--encoders", "--json")
    assert workspace.call(*words).json["cells"] == 1
    monkeypatch.chdir(there)
    return Workspace(there, workspace.call)


def the_summary(folder: Path) -> Path:
    (path,) = folder.glob("pretrain/*/summary.json")
    return path


@pytest.mark.slow
def test_a_cell_of_an_own_method_is_read_where_the_method_is_not(elsewhere: Workspace) -> None:
    added = elsewhere.call("import", "../here/cells.tar", "--json")
    assert (added.status, added.err) == (0, "")
    assert (added.json["added"], added.json["left_out"]) == (1, [])
    merged = elsewhere.call("--results", "merged", "merge", "../here/results", "--json")
    assert (merged.status, merged.json["added"], merged.json["left_out"]) == (0, 1, [])
    summary = the_summary(elsewhere.root / "merged")
    record = json.loads(summary.with_name("cell.json").read_text())
    assert (record["method"], record["loss"]) == ("mine", "dcl")
    again = elsewhere.call("merge", "merged", "--json")
    assert (again.json["added"], again.json["same"], again.json["conflicts"]) == (0, 1, [])

    assert elsewhere.call("compare", "results", "merged", "--json").json["same"] == 1
    metrics = json.loads(summary.read_text())["metrics"]
    alter(summary, metrics=metrics | {"knn_top1": metrics["knn_top1"] + 1})
    (moved,) = elsewhere.call("compare", "results", "merged", "--json").json["moved"]
    assert list(moved["metrics"]) == ["knn_top1"]


@pytest.mark.slow
def test_a_suite_that_spells_the_method_out_has_the_same_cell(elsewhere: Workspace) -> None:
    elsewhere.suite(SPELT_OUT, "spelt-out")
    assert elsewhere.call("import", "../here/cells.tar").status == 0
    assert elsewhere.call("status", "spelt-out", "--json").json["done"] == 1
    (cells,) = (
        finding["detail"]
        for finding in elsewhere.call("doctor", "--json").json
        if finding["what"] == "cells"
    )
    assert cells.startswith("1 cell and 1 encoder are finished and readable;")
    with_here = elsewhere.call("compare", "spelt-out", "--with", "../here/results", "--json")
    assert (with_here.status, with_here.json["same"]) == (0, 1)
    assert elsewhere.call("compare", "spelt-out").status == 3  # no printed value
    assert elsewhere.call("claims").status == 3  # the suite tests no claim
    assert elsewhere.call("report", "spelt-out").status == 0
    page = (elsewhere.root / "reports" / "spelt-out" / "tiny" / "index.md").read_text()
    accuracy = json.loads(the_summary(elsewhere.root / "results").read_text())["metrics"]
    assert f"| dcl | {accuracy['knn_top1']:.2f} |" in page
    assert elsewhere.call("export", "spelt-out", "--to", "tables", "--json").json["cells"] == 1
    assert elsewhere.call("--results", "tables", "compare", "spelt-out").status == 3
