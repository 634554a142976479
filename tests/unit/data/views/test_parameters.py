"""Drawn parameters follow torchvision's distributions; seeds are fixed, so nothing here is luck."""

import dataclasses
import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import stats
from torch import Tensor
from torchvision.transforms import RandomResizedCrop

from bench.data.views import ViewParameters, crop_box, make_views, view_names
from bench.data.views.parameters import WHOLE, draw_crop_numbers
from bench.papers.reader import load_paper
from tests.fakes.torchvision_views import views_named

BATCH = 4000  # two views: 8000 draws
LEAST_P = 0.001  # of a test of equal distributions


def rng(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("height", "width", "least"), [(32, 32, 0.08), (96, 96, 0.2), (50, 37, 0.08), (20, 90, 0.08)]
)
def test_crop_boxes_are_distributed_as_torchvisions(height: int, width: int, least: float) -> None:
    """The last two shapes make tries fail; in the last most end in the middle box."""
    image, scale, ratio = torch.empty(3, height, width), [least, 1.0], [3 / 4, 4 / 3]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = np.array([RandomResizedCrop.get_params(image, scale, ratio) for _ in range(BATCH)])
    mine = np.stack(crop_box(draw_crop_numbers(rng(), [(least, 1.0)], BATCH), height, width), -1)[0]
    assert mine.shape == theirs.shape
    for column in range(4):
        assert stats.ks_2samp(mine[:, column], theirs[:, column]).pvalue > LEAST_P
    shape = (mine[:, 2] / mine[:, 3], theirs[:, 2] / theirs[:, 3])
    assert stats.ks_2samp(*shape).pvalue > LEAST_P


def test_a_box_lies_in_its_image_and_no_crop_is_all_of_it() -> None:
    numbers = draw_crop_numbers(rng(), [(0.08, 1.0), WHOLE], 500)
    for height, width in [(8, 8), (30, 40), (1, 50), (333, 500)]:
        top, left, h, w = crop_box(numbers, height, width)
        assert min(top.min(), left.min()) >= 0
        assert min(h.min(), w.min()) >= 1
        assert (top + h).max() <= height
        assert (left + w).max() <= width
    whole = np.stack(crop_box(numbers[1], 30, 40), -1)
    middle = np.stack(crop_box(numbers[1], 30, 50), -1)
    tall = np.stack(crop_box(numbers[1], 50, 30), -1)
    assert (whole == [0, 0, 30, 40]).all()
    assert (middle == [0, 5, 30, 40]).all()
    assert (tall == [5, 0, 40, 30]).all()


def test_a_box_of_one_sample_is_the_box_in_the_batch() -> None:
    numbers = draw_crop_numbers(rng(), [(0.08, 1.0)], 20)
    together = np.stack(crop_box(numbers, 40, 33), -1)
    for n in range(20):
        assert tuple(together[0, n]) == tuple(int(x) for x in crop_box(numbers[0, n], 40, 33))


def test_jitter_factors_are_uniform_in_torchvisions_ranges() -> None:
    """ColorJitter: max(0, 1 - s) to 1 + s; hue -s to s. Strength multiplies s."""
    for name, strength, strengths in [
        ("simclr", 1.0, (0.8, 0.8, 0.8, 0.2)),
        ("simclr-cifar", 1.0, (0.4, 0.4, 0.4, 0.1)),
        ("byol", 0.5, (0.2, 0.2, 0.1, 0.05)),
        ("jitter", 2.0, (1.6, 1.6, 1.6, 0.4)),
    ]:
        parameters = make_views(name, size=8, strength=strength).draw(rng(), BATCH, 8, 8)
        for op, s in enumerate(strengths):
            low, high = (-s, s) if op == 3 else (max(0.0, 1 - s), 1 + s)
            factors = parameters.factors[..., op].flatten().numpy()
            uniform = stats.uniform(low, high - low)
            assert stats.kstest(factors, uniform.cdf).pvalue > LEAST_P
            near = 0.003 * (high - low)
            assert low - 1e-6 <= factors.min() < low + near
            assert high - near < factors.max() <= high + 1e-6


def test_the_order_of_the_jitter_is_uniform_and_independent_of_the_factors() -> None:
    parameters = make_views("simclr", size=8).draw(rng(), BATCH, 8, 8)
    order = parameters.order.flatten(0, 1)
    assert torch.equal(order.sort(1).values, torch.arange(4).expand(2 * BATCH, 4))
    codes = (order * torch.tensor([64, 16, 4, 1])).sum(1)
    counts = codes.unique(return_counts=True)[1]
    assert len(counts) == math.factorial(4)
    assert stats.chisquare(counts.numpy()).pvalue > LEAST_P
    first_is_hue = order[:, 0] == 3
    hue = parameters.factors[..., 3].flatten()
    assert stats.ks_2samp(hue[first_is_hue], hue[~first_is_hue]).pvalue > LEAST_P


# Of the numbers that `test_what_is_drawn_does_not_change` draws.
DIGESTS = {
    "simclr": "ecc0b694",
    "simclr-cifar": "c356d0c6",
    "moco-v1": "a8c98755",
    "moco-v1-lab": "bb39009a",
    "moco-v2": "277c8e57",
    "multi-crop": "a6ccae26",
    "byol": "fff63076",
    "hypersphere": "75749aa0",
    "crop-flip": "25f818ac",
    "none": "328c9e92",
    "crop": "cd0c3fdc",
    "flip": "12f48773",
    "jitter": "d491822f",
    "grayscale": "bb2029aa",
    "blur": "eb1665e5",
    "solarize": "50dc0bae",
    "affine": "3388b7e6",
    "lab-filters": "48296355",
}


# flip, jitter, grayscale, blur, solarize of the first and second view, as the papers print them.
CHANCES = {
    "simclr": [(0.5, 0.8, 0.2, 0.5, 0.0)] * 2,
    "simclr-cifar": [(0.5, 0.8, 0.2, 0.0, 0.0)] * 2,
    "moco-v1": [(0.5, 1.0, 0.2, 0.0, 0.0)] * 2,
    "moco-v1-lab": [(0.5, 1.0, 0.0, 0.0, 0.0)] * 2,
    "moco-v2": [(0.5, 0.8, 0.2, 0.5, 0.0)] * 2,
    "multi-crop": [(0.5, 0.8, 0.2, 0.5, 0.0)] * 8,
    "crop-flip": [(0.5, 0.0, 0.0, 0.0, 0.0)] * 2,
    "byol": [(0.5, 0.8, 0.2, 1.0, 0.0), (0.5, 0.8, 0.2, 0.1, 0.2)],
    "hypersphere": [(0.5, 1.0, 0.2, 0.0, 0.0)] * 2,
    "none": [(0.0, 0.0, 0.0, 0.0, 0.0)] * 2,
    "flip": [(0.5, 0.0, 0.0, 0.0, 0.0)] * 2,
    "jitter": [(0.0, 0.8, 0.0, 0.0, 0.0)] * 2,
    "grayscale": [(0.0, 0.0, 0.2, 0.0, 0.0)] * 2,
    "blur": [(0.0, 0.0, 0.0, 0.5, 0.0)] * 2,
    "solarize": [(0.0, 0.0, 0.0, 0.0, 0.2)] * 2,
}


@pytest.mark.parametrize("name", CHANCES)
def test_chances(name: str) -> None:
    p = views_named(name, 8).draw(rng(), BATCH, 8, 8)
    assert p.grayscale_first == (name == "moco-v1")
    assert len(p.flip) == len(CHANCES[name])
    for view, chances in enumerate(CHANCES[name]):
        for on, chance in zip(
            (p.flip, p.jitter, p.grayscale, p.blur, p.solarize), chances, strict=True
        ):
            found = int(on[view].sum())
            assert stats.binomtest(found, BATCH, chance).pvalue > LEAST_P


def test_chances_and_views_are_independent() -> None:
    p = make_views("simclr", size=8).draw(rng(), BATCH, 8, 8)
    columns = torch.stack([*p.flip, *p.jitter, *p.grayscale, *p.blur, *p.sigma]).numpy()
    correlation = np.corrcoef(columns) - np.eye(len(columns))
    assert np.abs(correlation).max() < 4 / math.sqrt(BATCH)


def test_blur_widths_and_crop_shares() -> None:
    p = make_views("moco-v2", size=8).draw(rng(), BATCH, 64, 64)
    uniform = stats.uniform(0.1, 1.9)
    assert stats.kstest(p.sigma.flatten().numpy(), uniform.cdf).pvalue > LEAST_P
    less = make_views("blur", size=8, strength=0.5).draw(rng(), BATCH, 8, 8)
    assert 1.04 < less.sigma.max() <= 1.05
    share = p.crop_numbers[..., :10]
    assert 0.2 <= share.min() < 0.201
    weaker = make_views("crop", size=8, strength=0.5).draw(rng(), BATCH, 64, 64)
    assert 0.54 <= weaker.crop_numbers[..., :10].min() < 0.541


def test_global_and_local_crops_keep_their_shares() -> None:
    """unigrad, multi-crop: 0.4 to 1 and 0.05 to 0.4, in boxes of the same images."""
    (case,) = load_paper("unigrad").protocol("multi-crop").cases
    local_views = case.stated["views.local_count"]
    p = views_named("multi-crop", 64).draw(rng(), BATCH, 96, 96)
    assert p.box is not None
    area = (p.box[..., 2] * p.box[..., 3]).double() / 96**2
    for view in range(8):
        low, high = case.stated["views.crop" if view < 8 - local_views else "views.local_crop"]
        share = p.crop_numbers[view, :, :10].ravel()
        assert stats.kstest(share, stats.uniform(low, high - low).cdf).pvalue > LEAST_P
        assert low - 0.01 < area[view].min() < low + 0.02
        assert high - 0.02 < area[view].max() <= high + 0.01
    assert np.unique(p.crop_numbers[:, 0], axis=0).shape == p.crop_numbers[:, 0].shape


def test_shifts_are_uniform_up_to_an_eighth() -> None:
    p = make_views("crop-flip", size=32).draw(rng(), BATCH, 32, 32)
    assert p.shift is not None
    for axis in p.shift.unbind(-1):
        for view in axis:
            values, counts = view.unique(return_counts=True)
            assert values.tolist() == list(range(-4, 5))
            assert stats.chisquare(counts.numpy()).pvalue > LEAST_P
    correlation = np.corrcoef(p.shift.permute(0, 2, 1).flatten(0, 1).numpy()) - np.eye(4)
    assert np.abs(correlation).max() < 4 / math.sqrt(BATCH)


@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_lab_filters_are_drawn_by_halves(strength: float) -> None:
    p = make_views("lab-filters", size=8, strength=strength).draw(rng(), BATCH, 8, 8)
    assert p.keep is not None
    for view in p.keep:
        for kept in (1, 2):
            found = int((view == kept).sum())
            assert stats.binomtest(found, BATCH, strength / 2).pvalue > LEAST_P
    pairs = (3 * p.keep[0] + p.keep[1]).unique(return_counts=True)[1]
    assert strength < 1 or stats.chisquare(pairs.numpy()).pvalue > LEAST_P


def numbers_of(part: ViewParameters) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, Tensor | np.ndarray):
            yield field.name, np.asarray(value)


def test_what_is_drawn_does_not_change() -> None:
    """A digest of each set's numbers to six digits: results of earlier runs rest on them."""
    found = {}
    for name in view_names():
        p = views_named(name, 16).draw(rng(1), 32, 20, 26)
        digest = hashlib.sha256()
        for what, values in sorted(numbers_of(p)):
            whole = np.rint(values * 1e6) if values.dtype.kind == "f" else values
            digest.update(what.encode() + whole.astype(np.int64).tobytes())
        found[name] = digest.hexdigest()[:8]
    assert found == DIGESTS


def test_affine_ranges() -> None:
    """As stated for the digit images: the extremes of 8000 draws come near the bounds."""
    p = make_views("affine", size=8).draw(rng(), BATCH, 8, 8)
    assert p.matrix is not None
    assert p.brightness is not None
    assert p.noise is not None
    inverse = p.matrix[..., :2].flatten(0, 1).double()
    scale = inverse.det().rsqrt()
    # Into view places: the first column is scale sqrt(aspect) (cos, sin), its shear is minus the
    # share of it in the second.
    first, second = inverse.inverse().unbind(2)
    angle = torch.rad2deg(torch.atan2(first[:, 1], first[:, 0]))
    assert 19.9 < angle.abs().max() <= 20 + 1e-4
    aspect = (first.norm(dim=1) / scale).square()
    assert 1.179 < aspect.max() <= 1.18 + 1e-5
    assert 1.179 < 1 / aspect.min() <= 1.18 + 1e-5
    shear = -(first * second).sum(1) / first.square().sum(1)
    assert 0.199 < shear.abs().max() <= 0.2 + 1e-5
    assert 0.7 <= scale.min() < 0.701
    assert 1.199 < scale.max() <= 1.2
    shift = -0.5 * torch.linalg.solve(inverse, p.matrix[..., 2].flatten(0, 1).double())
    assert 0.149 < shift.abs().max() <= 0.15 + 1e-6
    assert 0.7 <= p.brightness.min() < 0.701
    assert 1.299 < p.brightness.max() <= 1.3
    deviation = p.noise.flatten(2).std(2)
    assert deviation.min() < 0.001
    assert deviation.mean() == pytest.approx(0.05, rel=0.03)
