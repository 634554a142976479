"""Warped test images: the same for every cell, where the warp says, none lost."""

import torch
from torch.testing import assert_close

from bench.cells.view_recipes import WARPS, Warp
from bench.data.images import load_digits
from bench.data.views.views import warped
from bench.evaluate.features import Features
from bench.evaluate.knn import knn_top1

STILL = Warp(rotation=0.0, scale=1.0, shift=0.0, draws=2)


def test_without_a_warp_each_draw_is_the_images() -> None:
    images = torch.rand(5, 3, 8, 8)
    found = torch.cat(list(warped(lambda: images.split(2), 5, STILL)))
    assert_close(found, images.repeat(2, 1, 1, 1))


def test_warps_do_not_depend_on_the_size_of_a_batch() -> None:
    images, by = torch.rand(5, 3, 8, 8), WARPS["digits-25"]
    whole = torch.cat(list(warped(lambda: images.split(5), 5, by)))
    parts = torch.cat(list(warped(lambda: images.split(2), 5, by)))
    assert whole.shape == (25, 3, 8, 8)
    assert_close(whole, parts)
    assert not torch.equal(whole[:5], whole[5:10])  # every draw is another one


def test_a_shift_is_in_half_widths() -> None:
    """A point in the middle of 32 pixels moves by up to 0.5 * 16 = 8 of them, and that far."""
    image = torch.zeros(1000, 3, 32, 32)
    image[:, :, 15:17, 15:17] = 1.0
    by = Warp(rotation=0.0, scale=1.0, shift=0.5, draws=1)
    column = torch.cat(list(warped(lambda: [image], 1000, by)))[:, 0].sum(dim=1)
    moved = (column * (torch.arange(32) + 0.5)).sum(dim=1) / column.sum(dim=1) - 16
    assert 7.8 < moved.abs().max() <= 8.001
    assert 3.7 < float(moved.abs().mean()) < 4.3


def test_raw_digits_have_room_when_they_are_warped() -> None:
    """Nearest training digits by pixels: 96 % of plain test digits, under two thirds of warped."""
    digits, by = load_digits(), WARPS["digits-25"]
    train, test = (part.pixels.float() / 255 for part in (digits.train, digits.test))
    seen = torch.cat(list(warped(lambda: [test], len(test), by))).flatten(1)
    labels = digits.test.labels.repeat(by.draws)
    features = Features(train.flatten(1), digits.train.labels, seen, labels)
    found = knn_top1(features, k=[20], tau=[0.1], classes=10)[20, 0.1].top1
    assert 62 < found < 67
