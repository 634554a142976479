"""What a linear classifier is shown of training images."""

from pathlib import Path

import numpy as np
import torch
from torch.testing import assert_close

from bench.cells.pretrain import Pretrain
from bench.evaluate.features import extract
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


def test_a_protocol_decides_what_is_shown() -> None:
    found = {
        name: evaluator_of(cell).linear(cell, Online(cell))["linear_top1"]
        for name in ("mutual-information", "mutual-information-cifar10")
        for cell in [small_cell(linear=name)]
    }
    assert set(found) == {"mutual-information", "mutual-information-cifar10"}
