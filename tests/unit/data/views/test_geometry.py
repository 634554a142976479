"""Resize, blur and warp against torchvision, beyond what a recipe draws."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

from bench.data.views import make_views
from bench.data.views.geometry import blur, blur_kernel, resized, resized_crops, shifted, warp
from bench.data.views.parameters import affine_matrix
from tests.fakes.torchvision_views import kernel_size, random_pixels


@pytest.mark.parametrize("size", [5, 12, 40])
def test_every_kind_of_box(size: int) -> None:
    """One pixel, a corner, a line, all of it: shrunk, kept and stretched."""
    pixels = random_pixels(5, 3, 12, 17)
    boxes = torch.tensor(
        [[3, 4, 1, 1], [0, 0, 5, 12], [11, 0, 1, 17], [2, 16, 10, 1], [0, 0, 12, 17]]
    )
    found = resized_crops(pixels, boxes[None], torch.zeros(1, 5, dtype=torch.bool), size)
    for image, box, mine in zip(pixels, boxes.tolist(), found, strict=True):
        whole = functional.to_dtype(image, torch.float32, scale=True)
        expected = functional.resized_crop(whole, *box, size=[size, size], antialias=True)
        assert_close(mine, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("size", [8, 12, 40, 256])
def test_resized_is_torchvisions_resize(size: int) -> None:
    """Rounded once; of uint8 images, torchvision rounds after each axis."""
    pixels = random_pixels(4, 3, 12, 17)
    whole, twice = (
        functional.resize(images, [size, size], antialias=True)
        for images in (pixels.float(), pixels)
    )
    found = resized(pixels, size)
    assert (found.dtype, found.shape) == (torch.uint8, (4, 3, size, size))
    assert_close(found.float(), whole, rtol=0, atol=0.501)
    assert_close(found.int(), twice.int(), rtol=0, atol=1)


@pytest.mark.parametrize("size", [2, 3, 9, 32, 64, 96])
def test_blur_is_torchvisions(size: int) -> None:
    images = random_pixels(6, 3, max(4, size), max(4, size))[..., :size, :size] / 255
    sigma = torch.tensor([0.1, 0.3, 0.8, 1.0, 1.7, 2.0])
    for image, s, mine in zip(images, sigma.tolist(), blur(images, sigma), strict=True):
        expected = functional.gaussian_blur(image, [kernel_size(size)] * 2, [s, s])
        assert_close(mine, expected, rtol=0, atol=1e-5)


def test_shift_is_a_crop_of_the_padded_image() -> None:
    """Every shift of 4 pixels at most, to the bit, zeros coming in."""
    images = random_pixels(81, 3, 12, 12) / 255
    shift = torch.cartesian_prod(*[torch.arange(-4, 5)] * 2)
    for image, (down, right), mine in zip(
        images, shift.tolist(), shifted(images, shift), strict=True
    ):
        padded = functional.pad(image, [4] * 4)
        assert torch.equal(mine, functional.crop(padded, 4 - down, 4 - right, 12, 12))


def test_the_kernel_is_the_published_one() -> None:
    """SimCLR and BYOL: 23 pixels at 224."""
    assert [blur_kernel(size) for size in (16, 32, 64, 96, 224)] == [3, 3, 7, 9, 23]


def test_warp_is_torchvisions_affine() -> None:
    """Torchvision's has no aspect ratio: 1 here; the shear is in degrees there."""
    images = random_pixels(6, 3, 16, 16) / 255
    rng = np.random.default_rng(0)
    angle, shear = np.deg2rad(rng.uniform(-40, 40, 6)), rng.uniform(-0.4, 0.4, 6)
    scale, shift = rng.uniform(0.5, 1.5, 6), rng.uniform(-0.3, 0.3, (6, 2))
    matrix = affine_matrix(angle=angle, scale=scale, aspect=np.ones(6), shear=shear, shift=shift)
    found = warp(images, torch.from_numpy(matrix).float())
    for n, image in enumerate(images):
        expected = functional.affine(
            image,
            angle=math.degrees(angle[n]),
            translate=(16 * shift[n]).tolist(),
            scale=float(scale[n]),
            shear=[math.degrees(math.atan(shear[n])), 0.0],
            interpolation=InterpolationMode.BILINEAR,
        )
        assert_close(found[n], expected, rtol=0, atol=1e-5)


def test_aspect_stretches_across_and_squeezes_down() -> None:
    matrix = affine_matrix(
        angle=np.zeros(1), scale=np.ones(1), aspect=np.full(1, 4.0), shear=np.zeros(1),
        shift=np.zeros((1, 2)),
    )  # fmt: skip
    assert_close(torch.from_numpy(matrix)[0].tolist(), [[0.5, 0.0, 0.0], [0.0, 2.0, 0.0]])


def test_affine_views_are_warped_brightened_and_noisy() -> None:
    pixels = random_pixels(5, 3, 16, 16)
    views = make_views("affine", size=16)
    parameters = views.draw(np.random.default_rng(0), 5, 16, 16)
    matrix, brightness, noise = parameters.matrix, parameters.brightness, parameters.noise
    assert matrix is not None
    assert brightness is not None
    assert noise is not None
    for view, images in enumerate(views.apply(pixels, parameters)):
        warped = warp(pixels / 255, matrix[view])
        expected = warped * brightness[view, :, None, None, None]
        expected = (expected + noise[view, :, None]).clamp(0, 1)
        assert_close(images, expected, rtol=0, atol=1e-6)


def test_affine_keeps_gray_gray() -> None:
    """A digit image has three equal channels and keeps them."""
    pixels = random_pixels(5, 3, 16, 16)[:, :1].expand(5, 3, 16, 16)
    views = make_views("affine", size=16)
    for images in views.apply(pixels, views.draw(np.random.default_rng(0), 5, 16, 16)):
        assert torch.equal(images[:, 0], images[:, 2])


def test_affine_resizes_first() -> None:
    pixels = random_pixels(3, 3, 8, 8)
    views = make_views("affine", size=16, strength=0.0)
    parameters = dataclasses.replace(views.draw(np.random.default_rng(0), 3, 8, 8))
    expected = functional.resize(pixels / 255, [16, 16], antialias=True)
    assert_close(views.apply(pixels, parameters)[0], expected, rtol=0, atol=1e-5)
