"""A search is scored on training images: the same ones for every cell, of each class its share."""

from pathlib import Path

import pytest
import torch

from bench.cells.datasets import size_of
from bench.data.folders import Files
from bench.data.images import load_digits
from bench.data.load import with_held_out
from bench.data.streaming import ImageFiles
from bench.train.sources import open_source
from tests.fakes.cells import small_cell


def rows_of(images: torch.Tensor) -> set[bytes]:
    return {row.numpy().tobytes() for row in images}


def test_held_out_images_are_training_images_that_are_trained_on_no_more() -> None:
    whole, found = load_digits(), with_held_out(load_digits(), 0.1)
    assert len(found.train.labels) + len(found.test.labels) == len(whole.train.labels)
    assert rows_of(found.test.pixels) <= rows_of(whole.train.pixels)
    assert not rows_of(found.test.pixels) & rows_of(found.train.pixels)
    assert not rows_of(found.test.pixels) & rows_of(whole.test.pixels)
    for label in range(10):
        own = int((whole.train.labels == label).sum())
        assert int((found.test.labels == label).sum()) == round(0.1 * own)
    assert found.fingerprint == whole.fingerprint


def test_every_cell_holds_out_the_same_images() -> None:
    cells = [small_cell(held_out=0.1, seed=seed, train_images=n) for seed, n in ((0, 96), (1, 500))]
    first, other = (open_source(cell, Path(), "cpu") for cell in cells)
    assert all(map(torch.equal, first.plain("test"), other.plain("test")))
    assert [len(source.labels["train"]) for source in (first, other)] == [96, 500]


def test_sizes_follow() -> None:
    """Sizes that plans know are right up to rounding in each class."""
    size, found = size_of("digits", 0.1), with_held_out(load_digits(), 0.1)
    assert size is not None
    assert abs(size.test - len(found.test.labels)) <= 5
    assert small_cell(held_out=0.1).step_of("knn_top1") == pytest.approx(100 / 135)
    assert small_cell(held_out=0.1, train_images=1300).asked_of_data()[0].most == 1212


def test_files_are_held_out_alike() -> None:
    """Images without a label stay."""
    labels = torch.tensor([0] * 10 + [1] * 20 + [-1] * 5)
    files = Files([Path(str(i)) for i in range(35)], labels)
    whole = ImageFiles("own", 2, 8, (0, 0, 0), (1, 1, 1), "f", files, Files([], labels[:0]))
    found = with_held_out(whole, 0.2)
    assert found.test.labels.tolist() == [0, 0, 1, 1, 1, 1]
    assert sorted(found.test.paths + found.train.paths) == sorted(files.paths)
    assert {Path(str(i)) for i in range(30, 35)} <= set(found.train.paths)
    assert [int(labels[int(path.name)]) for path in found.test.paths] == [0, 0, 1, 1, 1, 1]
