"""CutMix: boxes as arXiv:1905.04899 draws them, pasted as a loop over images would."""

import re

import numpy as np
import pytest
import torch
from scipy import stats

from bench.data.views import CutMix, cutmix, draw_cutmix

BATCH = 4000
SIZE = 224
LEAST_P = 0.001


def rng(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def test_boxes_are_pasted_from_the_partners() -> None:
    images = torch.rand(40, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    drawn = draw_cutmix(rng(), 40, 16)
    before = images.clone()
    found = cutmix(images.contiguous(memory_format=torch.channels_last), drawn)
    assert torch.equal(images, before)
    for n, (top, left, height, width) in enumerate(drawn.box_N4.tolist()):
        expected = images[n].clone()
        box = (slice(None), slice(top, top + height), slice(left, left + width))
        expected[box] = images[int(drawn.partner_N[n])][box]
        assert torch.equal(found[n], expected)
        own = 1 - height * width / 16**2
        assert drawn.share_N[n].item() == pytest.approx(own, abs=1e-6)


def test_partners_are_the_batch_in_another_order() -> None:
    drawn = draw_cutmix(rng(), 50, 8)
    assert drawn.partner_N.dtype == drawn.box_N4.dtype == torch.int64
    assert drawn.share_N.dtype == torch.float32
    assert sorted(drawn.partner_N.tolist()) == list(range(50))
    assert drawn.partner_N.tolist() != list(range(50))


def test_boxes_are_drawn_as_in_the_paper() -> None:
    """Its code image by image: r uniform, a square of area 1 - r about any pixel, clipped."""
    drawn = draw_cutmix(rng(), BATCH, SIZE)
    theirs, shares = [], []
    draw = rng(1)
    for _ in range(BATCH):
        cut = int(SIZE * np.sqrt(1 - draw.beta(1, 1)))
        y, x = draw.integers(SIZE, size=2)
        low = np.clip([y - cut // 2, x - cut // 2], 0, SIZE)
        high = np.clip([y + cut // 2, x + cut // 2], 0, SIZE)
        theirs.append([*low, *(high - low)])
        shares.append(1 - np.prod(high - low) / SIZE**2)
    for mine, other in zip(drawn.box_N4.T.numpy(), np.array(theirs).T, strict=True):
        assert stats.ks_2samp(mine, other).pvalue > LEAST_P
    assert stats.ks_2samp(drawn.share_N.numpy(), shares).pvalue > LEAST_P


def test_boxes_that_are_not_clipped_are_squares_of_a_uniform_share() -> None:
    top, left, height, width = draw_cutmix(rng(), BATCH, SIZE).box_N4.T
    inside = (top > 0) & (left > 0) & (top + height < SIZE) & (left + width < SIZE)
    assert bool(((height - width)[inside].abs() <= 1).all())
    assert min(top.min(), left.min(), height.min(), width.min()) >= 0
    assert (top + height).max() == (left + width).max() == SIZE
    # The area of the square before it is clipped: inside a window of the image's middle, where
    # boxes up to its half are never clipped, the areas below that are uniform.
    middle_y, middle_x = top + height / 2, left + width / 2
    middle = ((middle_y - SIZE / 2).abs() < SIZE / 8) & ((middle_x - SIZE / 2).abs() < SIZE / 8)
    area = (height * width / SIZE**2)[middle & inside].double()
    small = area[area < 0.25].numpy()
    assert len(small) > 50
    assert stats.kstest(small, stats.uniform(0, 0.25).cdf).pvalue > LEAST_P


def test_boxes_and_partners_of_equal_generators_are_equal() -> None:
    first, again = draw_cutmix(rng(3), 20, 16), draw_cutmix(rng(3), 20, 16)
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first.box_N4, draw_cutmix(rng(4), 20, 16).box_N4)


def test_an_empty_box_and_one_of_the_whole_image() -> None:
    images = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    box = torch.tensor([[2, 2, 0, 2], [0, 0, 4, 4]])
    found = cutmix(images, CutMix(torch.tensor([1, 0]), box, torch.tensor([1.0, 0.0])))
    assert torch.equal(found, images[[0, 0]])


@pytest.mark.parametrize("shape", [(3, 3, 4, 4), (2, 3, 4, 5), (2, 4, 4)])
def test_images_that_were_not_drawn_for(shape: tuple[int, ...]) -> None:
    told = f"the images must have shape (2, C, S, S), found {shape}"
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        cutmix(torch.zeros(shape), draw_cutmix(rng(), 2, 4))
