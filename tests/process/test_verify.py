"""Done cells are computed again: the same to the bit, or what differs and by how much."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.results.digests import write_digests
from bench.results.export_tables import export_cells
from bench.results.store import Store
from tests.fakes.archives import picture
from tests.fakes.cells import PRETRAIN
from tests.fakes.results import alter, cells_of
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace


@pytest.fixture
def done(workspace: Workspace) -> Workspace:
    workspace.suite(changed(SUITE, {"grid.mi_true": [2], "seeds": [0], "fixed.steps": 20}))
    assert workspace.call("run", "small", "--executor", "inline").status == 0
    return workspace


def summaries(workspace: Workspace) -> list[Path]:
    return sorted((workspace.root / "results" / "gaussian-mi").glob("*/summary.json"))


def set_metric(file: Path, key: str, value: float) -> float:
    """Change a metric of a summary, its digest too; return what it was."""
    metrics = json.loads(file.read_text())["metrics"]
    before = float(metrics[key])
    alter(file, metrics=metrics | {key: value})
    return before


def test_the_same_to_the_bit_and_nothing_written(done: Workspace) -> None:
    before = picture(done.root / "results")
    answer = done.call("verify", "small", "--json")
    assert (answer.status, len(answer.json)) == (0, 4)
    for row in answer.json:
        assert row == {
            "id": row["id"], "experiment": "gaussian-mi", "seed": 0, "same": True,
            "largest_difference": 0.0, "metrics": {}, "history": False, "arrays": [],
            "versions": {}, "same_model": row["same_model"], "only_metrics": False, "error": None,
        }  # fmt: skip
    assert picture(done.root / "results") == before
    told = "small at scale tiny:\n4 cells computed again: 4 gave results identical to the bit\n"
    assert done.call("verify", "small").out == told


def test_a_summary_that_was_altered_is_found(done: Workspace) -> None:
    file = summaries(done)[1]
    true = set_metric(file, "mi_lower_bound", 1.5)
    answer = done.call("verify", "small", "--json")
    assert answer.status == 1
    (row,) = [row for row in answer.json if not row["same"]]
    assert row["id"] == file.parent.name
    assert row["metrics"] == {
        "mi_lower_bound": {"then": 1.5, "now": true, "difference": true - 1.5}
    }
    assert row["largest_difference"] == abs(true - 1.5)
    told = done.call("verify", "small").out
    assert "only the summary file differs, so it may have been edited" in told
    assert told.endswith("4 cells computed again: 3 gave results identical to the bit\n")


def test_other_versions_are_named(done: Workspace) -> None:
    first, second = (path.parent for path in summaries(done)[:2])
    set_metric(first / "summary.json", "mi_lower_bound", 1.5)
    origin = json.loads((first / "provenance.json").read_text())
    true = origin["packages"]["torch"]
    origin["packages"]["torch"] = "1.0"
    (first / "provenance.json").write_text(json.dumps(origin | {"wall_s": 0.0}))
    history = (second / "history.jsonl").read_text()
    (second / "history.jsonl").write_text(history.replace('"step": ', '"step": 1'))
    for folder in (first, second):
        write_digests(folder, (folder / "summary.json").read_bytes())
    rows = {row["id"]: row for row in done.call("verify", "small", "--json").json}
    assert rows[first.name]["versions"] == {"packages.torch": ["1.0", true]}
    assert (rows[second.name]["same"], rows[second.name]["history"]) == (False, True)


def test_the_model_of_the_processor_may_be_the_reason(done: Workspace) -> None:
    """Not recorded, it may be; recorded and other, it is named; the same, it is not the reason."""
    folder = summaries(done)[0].parent
    set_metric(folder / "summary.json", "mi_lower_bound", 1.5)
    origin = json.loads((folder / "provenance.json").read_text())
    told = "; the processor's model is not recorded: processors with the same name can compute"
    for model, reason in ((None, True), ("family 1 model 2 stepping 3", False)):
        alter(folder / "provenance.json", machine=origin["machine"] | {"processor_model": model})
        out = done.call("verify", "small").out
        assert (told in out) == reason
        assert (f"machine.processor_model: stored {model}, now family" in out) == (not reason)
    machine = origin["machine"] | {"processor_model": None}
    alter(folder / "provenance.json", machine=machine, packages={"torch": "1.0"})
    out = done.call("verify", "small").out
    assert told in out, "beside another version too"
    assert "packages.torch: stored 1.0" in out
    alter(folder / "provenance.json", packages=origin["packages"])
    alter(folder / "provenance.json", machine=machine | {"processor": "a different processor"})
    out = done.call("verify", "small").out
    assert told not in out, "their names differ"
    assert "machine.processor: stored a different processor" in out
    alter(folder / "provenance.json", machine=origin["machine"])
    assert told not in done.call("verify", "small").out


def test_a_sample_is_the_same_each_time(done: Workspace) -> None:
    ids = [row["id"] for row in done.call("verify", "small", "--sample", "1", "--json").json]
    assert ids == [min(path.parent.name for path in summaries(done))]


def test_rows_of_tables_are_verified_by_their_metrics(done: Workspace) -> None:
    cells = cells_of(done.root / "suites" / "small.yaml", "tiny")
    export_cells(cells, Store(done.root / "results"), done.root / "tables")
    answer = done.call("--results", "tables", "verify", "small", "--where", "K=8")
    assert (answer.status, answer.out) == (
        0, "small at scale tiny:\n2 cells computed again (2 from "
            "exported tables, for which only the metrics are compared): "
            "2 gave results identical to the bit\n",
    )  # fmt: skip


def test_nothing_done_is_told(done: Workspace) -> None:
    answer = done.call("verify", "small", "--scale", "long")
    assert (answer.status, answer.err) == (
        3, "bench: small at scale long: no cell is finished in results, "
            "so there is nothing to verify\n"
    )  # fmt: skip


def test_encoders_are_trained_anew(workspace: Workspace) -> None:
    """A store whose encoder is not what its settings give is found out."""
    workspace.suite(PRETRAIN)
    workspace.call("run", "small", "--executor", "inline")
    (summary,) = (workspace.root / "results" / "trained").glob("*/summary.json")
    set_metric(summary, "train_loss", 7.0)
    (cell,) = (workspace.root / "results" / "pretrain").glob("*/summary.json")
    assert set_metric(cell, "train_loss", 7.0) != 7.0
    answer = workspace.call("verify", "small", "--json")
    assert answer.status == 1
    assert list(answer.json[0]["metrics"]) == ["train_loss"]


def test_a_cell_that_cannot_be_computed_now_is_told(
    done: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench.experiments import EXPERIMENTS

    def broken(*_: Any) -> Any:
        raise ValueError("no such luck")

    monkeypatch.setitem(EXPERIMENTS, "gaussian-mi", broken)
    answer = done.call("verify", "small", "--sample", "1", "--json")
    assert (answer.status, answer.json[0]["same"]) == (1, False)
    assert answer.json[0]["error"] == "ValueError: no such luck"
