"""Whole views: against torchvision image by image, and what a batch may not change."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from bench.data.views import ViewParameters, crop_box, make_views, rgb_to_lab, view_names
from tests.fakes.torchvision_views import one_view, random_pixels, views_named

EXACT = [name for name in view_names() if name not in ("affine", "lab-filters")]


def rng(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def some_of(parameters: ViewParameters, images: list[int]) -> ViewParameters:
    """Return the parameters of some images of the batch."""
    found = {
        field.name: getattr(parameters, field.name) for field in dataclasses.fields(parameters)
    }
    chosen: dict[str, Any] = {
        name: v[:, images] for name, v in found.items() if isinstance(v, Tensor | np.ndarray)
    }
    return dataclasses.replace(parameters, **chosen)


@pytest.mark.slow
# A solarized pixel within rounding of the threshold may fall on the other side of it: the seeds
# here have none.
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(("source", "size"), [((32, 32), 32), ((16, 16), 16), ((20, 26), 24)])
def test_a_view_is_torchvisions(name: str, source: tuple[int, int], size: int) -> None:
    """Equal parameters, equal pixels to 1e-5: smaller, equal and larger than the crop."""
    pixels = random_pixels(24, 3, *source)
    views = views_named(name, size)
    parameters = views.draw(rng(), 24, *source)
    found = views.apply(pixels, parameters)
    for view, (images, own) in enumerate(zip(found, views.sizes, strict=True)):
        expected = [one_view(pixels[n], parameters, view, n, own) for n in range(24)]
        assert_close(images, torch.stack(expected), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", view_names())
def test_range_shape_and_type(name: str) -> None:
    pixels = random_pixels(16, 3, 20, 20)
    views = views_named(name, 16)
    sizes = (16, 16) + (8,) * 6 * (name == "multi-crop")
    assert (views.count, views.sizes) == (len(sizes), sizes)
    found = views.apply(pixels, views.draw(rng(), 16, 20, 20))
    for images, size in zip(found, sizes, strict=True):
        assert (images.shape, images.dtype) == ((16, 3, size, size), torch.float32)
        assert images.is_contiguous()
        assert images.min() >= 0
        assert images.max() <= 1


@pytest.mark.parametrize("name", view_names())
def test_equal_generators_give_equal_bytes(name: str) -> None:
    """And nothing global is read: its state may differ."""
    pixels = random_pixels(8, 3, 16, 16)
    views = views_named(name, 16)
    first = views.apply(pixels, views.draw(rng(5), 8, 16, 16))
    with torch.random.fork_rng():
        torch.manual_seed(99)
        again = views.apply(pixels, views.draw(rng(5), 8, 16, 16))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    if name != "none":
        other = views.apply(pixels, views.draw(rng(6), 8, 16, 16))
        assert not torch.equal(first[0], other[0])
        assert not torch.equal(first[0], first[1])


@pytest.mark.parametrize("name", EXACT)
def test_a_view_depends_on_no_other_image(name: str) -> None:
    pixels = random_pixels(12, 3, 16, 16)
    views = views_named(name, 16)
    parameters = views.draw(rng(), 12, 16, 16)
    whole = views.apply(pixels, parameters)
    some = [7, 2, 11]
    for a, b in zip(whole, views.apply(pixels[some], some_of(parameters, some)), strict=True):
        assert_close(b, a[some], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["simclr", "moco-v1", "flip", "none"])
def test_crops_made_elsewhere_give_the_same_views(name: str) -> None:
    """A worker that crops by `crop_box` and rounds to bytes: equal to half a byte before colour."""
    pixels = random_pixels(10, 3, 20, 24)
    plain = make_views("crop" if name != "none" else "none", size=16)
    views = make_views(name, size=16)
    parameters = views.draw(rng(), 10, 20, 24)
    numbers = views.crop_numbers(rng(), 10)
    np.testing.assert_array_equal(numbers, parameters.crop_numbers)
    if parameters.box is not None:
        box = torch.from_numpy(np.stack(crop_box(numbers, 20, 24), -1))
        assert torch.equal(box, parameters.box)
    off = torch.zeros(2, 10, dtype=torch.bool)
    uncoloured = dataclasses.replace(parameters, jitter=off, grayscale=off, blur=off, solarize=off)
    unflipped = dataclasses.replace(uncoloured, flip=off)
    cropped = [crop.mul(255).round().byte() for crop in plain.apply(pixels, unflipped)]
    expected = views.apply(pixels, uncoloured)
    for a, b in zip(expected, views.apply(None, uncoloured, cropped=cropped), strict=True):
        assert_close(b, a, rtol=0, atol=0.51 / 255)


@pytest.mark.parametrize("name", ["simclr", "multi-crop", "crop-flip"])
def test_cropped_images_get_the_rest_of_the_view(name: str) -> None:
    views = views_named(name, 16)
    cropped = [random_pixels(6, 3, s, s, seed=v) for v, s in enumerate(views.sizes)]
    parameters = dataclasses.replace(views.draw(rng(), 6, 16, 16), box=None)
    for view, images in enumerate(views.apply(None, parameters, cropped=cropped)):
        own = views.sizes[view]
        expected = [one_view(cropped[view][n], parameters, view, n, own) for n in range(6)]
        assert_close(images, torch.stack(expected), rtol=0, atol=1e-5)


def test_none_is_the_image() -> None:
    pixels = random_pixels(4, 3, 16, 16)
    views = make_views("none", size=16)
    for images in views.apply(pixels, views.draw(rng(), 4, 16, 16)):
        assert torch.equal(images, pixels.float() / 255)


def test_strength_zero_leaves_the_image() -> None:
    pixels = random_pixels(4, 3, 16, 16)
    for name in ("crop", "flip", "jitter", "grayscale", "solarize", "affine", "lab-filters"):
        views = make_views(name, size=16, strength=0.0)
        for images in views.apply(pixels, views.draw(rng(), 4, 16, 16)):
            assert_close(images, pixels / 255, rtol=0, atol=2e-6)


def test_the_first_view_of_a_set() -> None:
    views = views_named("multi-crop", 16)
    alone = views.first()
    pixels = random_pixels(6, 3, 16, 16)
    (images,) = alone.apply(pixels, alone.draw(rng(), 6, 16, 16))
    assert images.shape == (6, 3, 16, 16)
    assert alone.recipes == views.recipes[:1]


def test_local_sizes_are_of_sets_with_local_views() -> None:
    with pytest.raises(
        ValueError, match=r"^local_size must be set, because the views 'multi-crop' include local"
    ):
        make_views("multi-crop", size=16)
    with pytest.raises(
        ValueError, match=r"^local_size must be null, because views 'simclr' have no local"
    ):
        make_views("simclr", size=16, local_size=8)
    with pytest.raises(ValueError, match=r"^local_size must be at least 2 pixels, found 1$"):
        make_views("multi-crop", size=16, local_size=1)


def test_lab_filters_keep_the_light_or_the_colours() -> None:
    """A kept L makes gray; kept colours have their a and b, where sRGB has them at L = 50."""
    pixels = (96 + random_pixels(40, 3, 16, 16) // 4).to(torch.uint8)
    views = make_views("lab-filters", size=16)
    parameters = views.draw(rng(), 40, 16, 16)
    lab = rgb_to_lab(pixels / 255)
    assert parameters.keep is not None
    for kept, images in zip(parameters.keep, views.apply(pixels, parameters), strict=True):
        found = rgb_to_lab(images)
        light, colours = kept == 1, kept == 2
        assert bool((light | colours).all())
        assert_close(found[light, 0], lab[light, 0], rtol=0, atol=1e-3)
        assert_close(found[light, 1:], torch.zeros_like(lab[light, 1:]), rtol=0, atol=1e-3)
        assert_close(found[colours, 0], torch.full_like(lab[colours, 0], 50), rtol=0, atol=1e-3)
        assert_close(found[colours, 1:], lab[colours, 1:], rtol=0, atol=1e-3)


def test_unknown_names_and_what_is_out_of_range() -> None:
    unknown = "views 'simcrl' is unknown. Did you mean 'simclr'? Allowed here: simclr, "
    with pytest.raises(ValueError, match=f"^{re.escape(unknown)}"):
        make_views("simcrl", size=32)
    with pytest.raises(ValueError, match=r"^size must be at least 2 pixels, found 1$"):
        make_views("simclr", size=1)
    for name, strength in [
        ("crop", 1.2),
        ("flip", 2.1),
        ("jitter", 2.6),
        ("simclr", -0.1),
        ("lab-filters", 1.1),
    ]:
        text = f"views: strength {strength} lies outside the range that '{name}' allows"
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            make_views(name, size=32, strength=strength)


def test_images_that_do_not_fit_the_parameters() -> None:
    views = make_views("simclr", size=8)
    parameters = views.draw(rng(), 2, 8, 8)
    text = "pixels must be uint8 of shape (2, 3, 8, 8), found torch.float32 (2, 3, 8, 8)"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        views.apply(torch.zeros(2, 3, 8, 8), parameters)
    crops = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)
    text = "cropped must be uint8 of shape (2, 3, 8, 8), found torch.uint8 (2, 3, 8, 4)"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        views.apply(None, parameters, cropped=[crops, crops[..., :4]])
    with pytest.raises(ValueError, match=r"^cropped must hold 2 views, found 1$"):
        views.apply(None, parameters, cropped=[crops])
    with pytest.raises(ValueError, match=r"^one of the arguments `pixels` and `cropped` must be"):
        views.apply(None, parameters)
