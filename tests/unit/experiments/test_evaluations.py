"""What a linear classifier is shown of training images."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from bench.cells.pretrain import Pretrain
from bench.evaluate.features import Accuracy, Features, extract
from bench.experiments.evaluations import CROP_FLIP, Evaluator
from bench.methods.online_network import Online
from bench.train.sources import open_source, views_of
from tests.fakes.cells import small_cell


def evaluator_of(cell: Pretrain) -> Evaluator:
    return Evaluator([cell], open_source(cell, Path(), "cpu"))


def test_a_new_view_of_the_same_images_in_every_epoch() -> None:
    cell = small_cell()
    evaluator, online = evaluator_of(cell), Online(cell)
    shown = evaluator._shown(cell, CROP_FLIP(cell.image_size).first(), online)
    batches = [torch.tensor([5, 1, 7]), torch.tensor([0, 2])]
    first, again, second = (list(shown(epoch, batches)) for epoch in (0, 0, 1))
    assert [tuple(x.shape) for x in first] == [(3, 16), (2, 16)]
    for one, same, other in zip(first, again, second, strict=True):
        assert torch.equal(one, same)
        assert not torch.equal(one, other)


def test_as_in_pretraining_are_the_cells_own_views_of_the_rows_asked_for() -> None:
    cell = small_cell(views="none")
    evaluator, online = evaluator_of(cell), Online(cell)
    shown = evaluator._shown(cell, views_of(cell).first(), online)
    plain = extract(online.backbone, evaluator.source.plain("train"))
    rows = torch.from_numpy(np.random.default_rng(0).permutation(96))
    (found,) = shown(0, [rows])
    assert_close(found, plain[rows])


def test_the_watched_source_keeps_its_views() -> None:
    cell = small_cell()
    evaluator = evaluator_of(cell)
    before = evaluator.source.views
    list(evaluator._shown(cell, CROP_FLIP(8), Online(cell))(0, [torch.tensor([0])]))
    assert evaluator.source.views is before


@pytest.mark.parametrize(
    ("linear", "once", "shown"),
    [("moco", False, True), ("moco", True, False), ("logistic", False, False)],
)
def test_a_protocol_decides_what_is_shown(
    linear: str, once: bool, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}

    def fitted(features: Features, **settings: Any) -> Accuracy:
        told.update(settings)
        return Accuracy(1.0, 2.0)

    monkeypatch.setattr("bench.experiments.evaluations.linear_top1", fitted)
    cell = small_cell(linear=linear, linear_once=once)
    found = evaluator_of(cell).linear(cell, Online(cell))
    assert found == {"linear_top1": 1.0, "linear_top5": 2.0}
    assert (told["shown"] is not None) == shown == (told["protocol"].shown != "image")


def test_knn_may_look_at_another_layer_than_the_classifier() -> None:
    plain, outputs = small_cell(), small_cell(knn_features="projector")
    online = Online(plain)
    found = [
        evaluator_of(cell).knn(cell, online)
        for cell in (outputs, small_cell(features="projector"), plain)
    ]
    assert found[0] == found[1] != found[2]
    assert outputs.training_id == plain.training_id
    assert outputs.evaluation_id("knn") != plain.evaluation_id("knn")
    assert outputs.evaluation_id("linear") == plain.evaluation_id("linear")


def test_the_spread_of_the_outputs_is_0_where_they_are_alike_and_1_where_they_lie_all_around(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell = small_cell(spread=True)
    evaluator, online = evaluator_of(cell), Online(cell)
    around = torch.randn(4000, 8, generator=torch.Generator().manual_seed(0))
    labels = torch.zeros(4000, dtype=torch.int64)
    for outputs, expected in ((around, 1.0), (3 * torch.ones(4000, 8) + 1e-4 * around, 0.0)):
        shown = Features(outputs, labels, outputs, labels)
        monkeypatch.setattr(evaluator, "_features", lambda *_, shown=shown: shown)
        metrics = evaluator.evaluate("spread", cell, online)
        assert metrics == {"output_std": pytest.approx(expected, abs=1e-3)}
    assert evaluator.evaluate("spread", small_cell(), online) == {}
