"""A metric that is added later reaches finished cells whose encoder was kept, and no others."""

import json
import shutil
from typing import Any

import pytest

from bench.cells import axes
from bench.cells.pretrain import Pretrain
from bench.experiments import evaluations
from bench.experiments.evaluations import Evaluator
from tests.fakes.cells import PRETRAIN
from tests.fakes.suites import changed
from tests.fakes.workspace import Workspace

pytestmark = pytest.mark.slow
ONE = changed(PRETRAIN, {"tables": [{"title": "kNN", "metric": "knn_top1", "rows": ["epochs"]}]})


@pytest.fixture
def finished(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with a finished cell, and then a metric `hardness` of the geometry."""
    workspace.suite(ONE)
    assert workspace.call("run", "small", "--executor", "inline").status == 0
    geometry = axes.EVALUATIONS["geometry"]
    more = geometry._replace(metrics=(*geometry.metrics, "hardness"))
    monkeypatch.setitem(axes.EVALUATIONS, "geometry", more)
    monkeypatch.setattr(Pretrain, "metrics", (*Pretrain.metrics, "hardness"))
    monkeypatch.setitem(
        evaluations._EVALUATIONS,
        "geometry",
        lambda *asked: Evaluator.geometry(*asked) | {"hardness": 0.25},
    )
    monkeypatch.setattr(
        "bench.experiments.pretrain.SharedTraining.train",
        lambda *_: pytest.fail("it is trained again"),
    )
    return workspace


def metrics_of(workspace: Workspace) -> dict[str, float]:
    (summary,) = (workspace.root / "results" / "pretrain").glob("*/summary.json")
    metrics: dict[str, float] = json.loads(summary.read_text())["metrics"]
    return metrics


def test_a_kept_encoder_is_evaluated_again(
    finished: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = metrics_of(finished)
    status = finished.call("status", "small")
    assert "1 missing" in status.out
    assert (
        "the metric hardness is missing in 1 cell; `bench run` measures it with the stored "
        "encoders" in " ".join(status.out.split())
    )
    done: list[str] = []
    ask = Evaluator.evaluate

    def noted(self: Evaluator, name: str, *rest: Any) -> dict[str, float]:
        done.append(name)
        return ask(self, name, *rest)

    monkeypatch.setattr(Evaluator, "evaluate", noted)
    run = finished.call("run", "small", "--executor", "inline")
    assert "1 finished cell: evaluating the stored encoder again to measure hardness" in run.err
    assert run.out.startswith("cells: 1 done, 0 failed, 0 missing")
    assert done == ["geometry"]
    after = metrics_of(finished)
    assert after["hardness"] == 0.25
    assert {name: after[name] for name in before} == before
    assert finished.call("run", "small", "--executor", "inline").out.startswith("cells: 1 done")
    assert done == ["geometry"]


def test_nothing_is_trained_for_a_metric(finished: Workspace) -> None:
    shutil.rmtree(finished.root / "results" / "trained")
    told = (
        "the metric hardness is missing in 1 cell, and cannot be measured because no encoder is "
        "stored"
    )
    for verb in ("status", "show", "compare"):
        assert told in " ".join(finished.call(verb, "small").out.split()), verb
    assert "1 done" in finished.call("status", "small").out
    run = finished.call("run", "small", "--executor", "inline")
    assert (run.status, "again" in run.err) == (0, False)
    assert finished.call("plan", "small", "--json").json["missing"] == 0


def test_an_evaluation_gives_the_metrics_that_it_declares(
    finished: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the cell would be evaluated again for ever; what was measured before stays."""
    monkeypatch.setitem(evaluations._EVALUATIONS, "geometry", Evaluator.geometry)
    before = metrics_of(finished)
    run = finished.call("run", "small", "--executor", "inline")
    assert run.status == 1
    told = "evaluation geometry returns the metrics alignment, uniformity, class_separation, but"
    assert told in " ".join(run.out.split())
    assert metrics_of(finished) == before


def test_ranks_are_asked_of_finished_cells_by_the_suite_alone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.suite(ONE)
    assert workspace.call("run", "small", "--executor", "inline").status == 0
    assert "rankme" not in metrics_of(workspace)
    assert "1 done" in workspace.call("status", "small").out
    workspace.suite(changed(ONE, {"fixed.ranks": True}))
    assert "the metric lidar is missing in 1 cell" in (workspace.call("status", "small").out)
    monkeypatch.setattr(
        "bench.experiments.pretrain.SharedTraining.train",
        lambda *_: pytest.fail("it is trained again"),
    )
    assert workspace.call("run", "small", "--executor", "inline").out.startswith("cells: 1 done")
    assert metrics_of(workspace).keys() > {"rankme", "effective_rank", "lidar", "alignment"}
    workspace.suite(ONE)
    assert "1 done" in workspace.call("status", "small").out
