"""Which cells a claim needs: baselines too, where it speaks of an accuracy."""

from pathlib import Path

import pytest

from bench.analysis.compare import needed_by_claims
from bench.cells.baseline import Baseline, without_baselines
from bench.suites.load import load_suite
from tests.fakes.results import cells_of
from tests.fakes.rooms import CHECK, ROOMY
from tests.fakes.suites import changed
from tests.fakes.workspace import Workspace


def kinds(path: Path, seed: int) -> list[str]:
    """Return what the suite's claim needs with a seed: the loss or baseline and seed of cells."""
    cells = {cell.id: cell for cell in cells_of(path, "tiny")}
    sets = needed_by_claims(load_suite(path), "tiny", without_baselines(list(cells.values())))
    (needed,) = [ids for _, of, ids in sets if of == seed]
    own = [cells[name] for name in needed]
    names = [c.baseline if isinstance(c, Baseline) else c.settings["loss"] for c in own]
    return sorted(f"{name} {cell.seed}" for name, cell in zip(names, own, strict=True))


SIDES = ["dcl 1", "dcl 1", "infonce 1", "infonce 1"]


@pytest.mark.parametrize(
    ("metric", "baselines"),
    [("knn_top1", ["labels 1", "raw 0", "untrained 1"]), ("q_b", [])],
)
def test_a_claim_on_an_accuracy_needs_its_floor_and_ceiling(
    workspace: Workspace, metric: str, baselines: list[str]
) -> None:
    claims = {"small-batch-cifar-stl10": [CHECK | {"metric": metric}]}
    path = workspace.suite(changed(ROOMY, {"claims": claims}))
    assert kinds(path, 1) == sorted(SIDES + baselines)


def test_a_scale_without_baselines_needs_none(workspace: Workspace) -> None:
    path = workspace.suite(changed(ROOMY, {"scales.tiny.baselines": None}))
    assert kinds(path, 1) == SIDES
