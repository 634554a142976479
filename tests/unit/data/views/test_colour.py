"""Colour jitter in every order, hue on every kind of colour, solarize at its threshold."""

import itertools

import pytest
import torch
from torch.testing import assert_close
from torchvision.transforms.v2 import functional

from bench.data.views.colour import jitter_, luma, plan_jitter, shift_hue, solarize
from tests.fakes.torchvision_views import jittered, random_pixels


@pytest.mark.parametrize("hue", [-0.5, 0.2, 0.5])
def test_jitter_in_all_24_orders(hue: float) -> None:
    """Clamps between the steps included, and every fifth image is not touched."""
    order = torch.tensor(list(itertools.permutations(range(4))))
    generator = torch.Generator().manual_seed(0)
    factors = 1.8 * torch.rand(24, 4, generator=generator)
    factors[:, 3] = hue
    on = torch.arange(24) % 5 != 0
    images = random_pixels(24, 3, 8, 8) / 255
    found = jitter_(images.clone(), plan_jitter(on, factors, order))
    for n in range(24):
        expected = jittered(images[n], order[n], factors[n]) if on[n] else images[n]
        assert_close(found[n], expected, rtol=0, atol=0 if not on[n] else 1e-5)


def test_hue_of_all_colours_of_a_grid() -> None:
    """Ties between channels, grays and pure colours are on the grid."""
    colours = torch.cartesian_prod(*[torch.arange(0, 256, 15)] * 3).T.float() / 255
    for turns in (-0.5, -0.1, 0.0, 1 / 3, 0.5):
        expected = functional.adjust_hue(colours[:, None], turns)[:, 0]
        assert_close(
            shift_hue(colours[None], torch.tensor([turns]))[0], expected, rtol=0, atol=1e-5
        )


def test_luma_is_torchvisions_grayscale() -> None:
    images = random_pixels(3, 3, 8, 8) / 255
    assert_close(luma(images), functional.rgb_to_grayscale(images))


def test_solarize_at_its_threshold() -> None:
    images = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0])
    assert_close(solarize(images), torch.tensor([0.0, 0.25, 0.5, 0.25, 0.0]))


def test_jitter_of_nothing() -> None:
    images = random_pixels(2, 3, 8, 8) / 255
    off = torch.zeros(2, dtype=torch.bool)
    plan = plan_jitter(off, torch.ones(2, 4), torch.arange(4).expand(2, 4))
    assert torch.equal(jitter_(images.clone(), plan), images)
