"""Floor, ceiling and room from finished baselines."""

from pathlib import Path
from typing import Any

import pytest

from bench.analysis.evidence import gather
from bench.analysis.room import Room, room_of
from bench.cells.baseline import Baseline, without_baselines
from bench.cells.cell import Cell
from bench.papers.reader import NO_PAPER
from bench.results.reader import Results
from bench.suites.load import load_suite
from tests.fakes.results import cells_of, finish
from tests.fakes.suites import DIGITS, REMOVED, changed
from tests.fakes.workspace import Workspace

LABELS = {"views": "affine", "batch_size": 32, "optimizer": "sgd", "lr": 0.1, "weight_decay": 0.0,
          "lr_schedule": "cosine"}  # fmt: skip
ACCURACY = {"raw": 60.0, "untrained": 40.0, "labels": 90.0}


@pytest.fixture
def path(workspace: Workspace) -> Path:
    """Return a suite of two network widths and two seeds, with baselines."""
    scale = {"what": "seconds", "protocol": "reduced", "baselines": LABELS}
    changes = {"scales": {"tiny": scale}, "fixed.width": REMOVED, "seeds": [0, 1]}
    return workspace.suite(changed(DIGITS, changes | {"grid": {"width": [4, 8]}}), "digits")


def accuracy(cell: Any) -> dict[str, float]:
    """Return what is planted: seeds 1 apart, the wide network 2 better."""
    wide = 2.0 * (cell.width == 8)
    return {"knn_top1": ACCURACY[cell.baseline] + cell.seed + wide}


def room(path: Path, done: list[Cell], judged: list[Cell], metric: str = "knn_top1") -> Room | None:
    root = path.parent.parent / "results"
    root.mkdir()
    finish(root, done, accuracy)
    baselines = Results(root).finished(cells_of(path, "tiny"))
    return room_of(metric, judged, baselines, load_suite(path), "tiny")


def baselines_of(path: Path) -> list[Cell]:
    return [cell for cell in cells_of(path, "tiny") if isinstance(cell, Baseline)]


def width(cells: list[Cell], value: int) -> list[Cell]:
    return [cell for cell in without_baselines(cells) if cell.settings["width"] == value]


def test_room_is_from_the_larger_of_raw_and_untrained_to_labels(path: Path) -> None:
    found = room(path, baselines_of(path), width(cells_of(path, "tiny"), 8))
    assert found is not None
    assert (found.raw.mean, found.untrained.mean, found.labels.mean) == (60.0, 42.5, 92.5)
    assert (found.floor, found.ceiling, found.room) == (60.0, 92.5, 32.5)
    assert (found.raw.n, found.untrained.n, found.labels.n) == (1, 2, 2)


def test_of_several_networks_room_is_what_all_have(path: Path) -> None:
    """The highest untrained network, the lowest ceiling."""
    found = room(path, baselines_of(path), without_baselines(cells_of(path, "tiny")))
    assert found is not None
    assert (found.untrained.mean, found.labels.mean, found.labels.n) == (42.5, 90.5, 2)


@pytest.mark.parametrize("kind", ["raw", "untrained", "labels"])
def test_there_is_none_without_each_kind(path: Path, kind: str) -> None:
    done = [c for c in baselines_of(path) if c.settings["baseline"] != kind]
    assert room(path, done, without_baselines(cells_of(path, "tiny"))) is None


def test_there_is_none_of_what_is_not_measured(path: Path) -> None:
    judged = without_baselines(cells_of(path, "tiny"))
    assert room(path, baselines_of(path), judged, "linear_top1") is None


def test_baselines_are_kept_apart_from_what_is_judged(path: Path) -> None:
    cells = cells_of(path, "tiny")
    root = path.parent.parent / "results"
    root.mkdir()
    finish(root, baselines_of(path), accuracy)
    evidence = gather(load_suite(path), "tiny", cells, NO_PAPER, Results(root))
    assert evidence.cells == without_baselines(cells)
    assert (evidence.done, [cell for cell, _ in evidence.baselines]) == ([], baselines_of(path))
