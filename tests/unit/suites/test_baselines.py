"""A scale with baselines: which cells it adds to a suite, and when."""

from pathlib import Path
from typing import Any

import pytest

from bench.cells.baseline import Baseline
from bench.cells.cell import Cell
from bench.errors import SuiteError
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.suites import DIGITS
from tests.fakes.workspace import Workspace

LABELS = {"views": "affine", "batch_size": 32, "optimizer": "sgd", "lr": 0.1, "weight_decay": 0.0,
          "lr_schedule": "cosine"}  # fmt: skip


def write(workspace: Workspace, baselines: Any, **changes: Any) -> Path:
    scale = {"what": "seconds", "protocol": "reduced", "baselines": baselines}
    data = DIGITS | {"scales": {"tiny": scale}} | changes
    return workspace.suite(data, "digits")


def cells_of(path: Path, **choice: Any) -> list[Cell]:
    return expand(load_suite(path), "tiny", path, **choice)


def test_each_evaluation_and_seed_has_each_baseline_once(workspace: Workspace) -> None:
    """Three temperatures have the same baselines; two ways to evaluate do not."""
    path = write(workspace, LABELS, grid={"knn_k": [3, 7], "tau": [0.1, 0.2, 0.5]}, seeds=[0, 1])
    cells = cells_of(path)
    own = [cell for cell in cells if isinstance(cell, Baseline)]
    assert len(cells) == 12 + len(own)
    found = sorted((cell.baseline, cell.knn_k, cell.seed) for cell in own)
    seeds = {"labels": (0, 1), "raw": (0,), "untrained": (0, 1)}  # raw inputs have none
    assert found == [(kind, k, seed) for kind in seeds for k in (3, 7) for seed in seeds[kind]]


def test_baselines_have_the_cells_data_network_and_epochs(workspace: Workspace) -> None:
    cells = cells_of(write(workspace, LABELS))
    labels = next(c for c in cells if isinstance(c, Baseline) and c.baseline == "labels")
    assert (labels.dataset, labels.train_images, labels.image_size) == ("digits", 128, 8)
    assert (labels.arch, labels.stem, labels.width, labels.epochs) == ("small", "half", 4, 3)
    assert (labels.batch_size, labels.lr) == (32, 0.1)  # the scale's


def test_a_scale_that_names_none_has_none(workspace: Workspace) -> None:
    assert not any(isinstance(cell, Baseline) for cell in cells_of(write(workspace, None)))


def test_where_chooses_baselines_and_those_of_the_cells_chosen(workspace: Workspace) -> None:
    path = write(workspace, LABELS)
    assert len(cells_of(path, where={"knn_k": [3]})) == 1 + 3
    chosen = cells_of(path, where={"baseline": ["raw", "labels"], "knn_k": [3]})
    kinds = [cell.baseline for cell in chosen if isinstance(cell, Baseline)]
    assert kinds == ["raw", "labels"]
    assert len(chosen) == 2


def test_null_chooses_the_cells_that_are_no_baselines(workspace: Workspace) -> None:
    path = write(workspace, LABELS)
    alone = cells_of(path, where={"baseline": [None]})
    assert alone
    assert not any(isinstance(cell, Baseline) for cell in alone)
    more = cells_of(path, where={"baseline": [None, "raw"]})
    assert {getattr(cell, "baseline", None) for cell in more} == {None, "raw"}


def test_a_baseline_that_is_none_is_told(workspace: Workspace) -> None:
    with pytest.raises(SuiteError) as caught:
        cells_of(write(workspace, LABELS), where={"baseline": ["rw"]})
    assert str(caught.value) == (
        "--where baseline: there is no baseline 'rw'. Did you mean 'raw'? Allowed "
        "here: raw, untrained, labels."
    )


def test_a_setting_that_does_not_fit_is_told_at_its_place(workspace: Workspace) -> None:
    path = write(workspace, LABELS | {"lr": -1.0})
    with pytest.raises(SuiteError) as caught:
        cells_of(path)
    assert str(caught.value) == (
        f"{path}: scales.tiny.baselines.lr: found -1.0, expected a value greater than 0."
    )


def test_a_plan_tells_baselines_by_their_kind(workspace: Workspace) -> None:
    write(workspace, LABELS)
    cells = workspace.call("plan", "digits", "--json").json["cells"]
    assert [cell["axes"] for cell in cells][1:3] == [
        {"baseline": None, "knn_k": 7, "seed": 0},
        {"baseline": "raw", "knn_k": 3, "seed": 0},
    ]
