"""The experiment `baseline`: what is evaluated is what the name says, by pretrain's evaluations."""

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from bench.cells.baseline import BASELINES, Baseline
from bench.errors import DataFailure
from bench.evaluate.features import Features
from bench.evaluate.knn import knn_top1
from bench.experiments import Outcome, Result
from bench.experiments.baseline import nothing_learned, probe, run
from bench.experiments.pretrain import run as pretrain
from bench.results.folder import CellFolder, Folders
from bench.results.store import Store
from bench.train.sources import open_source
from tests.fakes.cells import baseline_cell, small_cell

FULL: dict[str, Any] = {
    "few_shot": 2, "few_shot_draws": 2, "linear": "logistic", "test_warp": "digits-25",
}  # fmt: skip


def outcome(root: Path, cell: Baseline) -> Outcome:
    folders = Folders([CellFolder(root / cell.id)], encoders=root, data=root)
    folders[0].path.mkdir(parents=True, exist_ok=True)
    (found,) = run([cell], folders, "cpu")
    return found


def metrics(root: Path, cell: Baseline) -> dict[str, float]:
    found = outcome(root, cell)
    assert isinstance(found, Result), found
    return found.metrics


@pytest.mark.parametrize("kind", BASELINES)
def test_a_baseline_gives_every_metric_it_names(tmp_path: Path, kind: str) -> None:
    found = metrics(tmp_path, baseline_cell(kind, **FULL))
    assert set(found) == set(Baseline.metrics)
    assert all(np.isfinite(value) for value in found.values())


def test_raw_inputs_are_the_pixels_that_an_encoder_sees(tmp_path: Path) -> None:
    cell = baseline_cell("raw")
    source = open_source(cell, tmp_path, "cpu")
    train, test = (torch.cat(list(source.plain(part))).flatten(1) for part in ("train", "test"))
    assert train.shape == (96, 3 * 8 * 8)
    features = Features(train, source.labels["train"], test, source.labels["test"])
    expected = knn_top1(features, k=[5], tau=[0.1], classes=10)[5, 0.1].top1
    assert metrics(tmp_path, cell)["knn_top1"] == expected


def test_the_untrained_network_is_the_one_that_pretraining_begins_with(tmp_path: Path) -> None:
    """At a rate of 1e-30 pretraining stays there; running statistics of batch norm alone move."""
    store = Store(tmp_path)
    cell = small_cell(lr=1e-30, weight_decay=0.0, epochs=1)
    (still,) = pretrain([cell], store.folders([cell], tmp_path), "cpu")
    assert isinstance(still, Result)
    encoders = list((tmp_path / "trained").glob("*/encoder.pt"))
    weights = torch.load(encoders[0], weights_only=True)
    encoder = nothing_learned(baseline_cell("untrained"), "cpu")
    for name, value in encoder.named_parameters():
        assert_close(value.detach(), weights[f"backbone.{name}"], atol=1e-20, rtol=0)


def test_labels_teach_the_network(tmp_path: Path) -> None:
    """Of 600 digits at 16x16: more than nothing does, on plain digits and on warped ones."""
    size = {"train_images": 600, "image_size": 16, "width": 8, "epochs": 12, "lr": 0.1}
    changes = size | {"test_warp": "digits-25"}
    taught, untaught = (
        metrics(tmp_path, baseline_cell(kind, **changes)) for kind in ("labels", "untrained")
    )
    assert taught["knn_top1"] > untaught["knn_top1"] + 5
    assert taught["warped_knn_top1"] > untaught["warped_knn_top1"] + 20


def test_a_training_leaves_its_history(tmp_path: Path) -> None:
    cell = baseline_cell("labels")
    metrics(tmp_path, cell)
    lines = CellFolder(tmp_path / cell.id).history()
    assert [line["epoch"] for line in lines] == [1, 2]


def test_data_that_are_too_few_are_told(tmp_path: Path) -> None:
    found = outcome(tmp_path, baseline_cell("raw", knn_k=97))
    assert isinstance(found, DataFailure)
    assert str(found) == "knn_k is 97, but there are only 96 labelled training images"


@pytest.mark.parametrize("kind", BASELINES)
def test_a_probe_times_what_is_computed(tmp_path: Path, kind: str) -> None:
    cell = baseline_cell(kind)
    spent = probe(cell, tmp_path, "cpu", count(step=1.0).__next__)
    assert spent.shared == 0
    ticks = spent.own  # one each time the clock is read
    assert ticks > 1.5 if kind == "labels" else ticks == pytest.approx(1.0)
