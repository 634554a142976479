"""CIE 1976 L*a*b* of sRGB at D65, against the values that are printed of well-known colours."""

import pytest
import torch
from torch.testing import assert_close

from bench.data.views.colour import (
    keep_colour,
    keep_light,
    lab_to_rgb,
    rgb_to_lab,
    scaled_lab,
)

# sRGB bytes and L, a, b as Lindbloom's calculator and EasyRGB print them, to two digits.
PRINTED = {
    "black": ((0, 0, 0), (0.0, 0.0, 0.0)),
    "white": ((255, 255, 255), (100.0, 0.0, 0.0)),
    "gray 119": ((119, 119, 119), (50.03, 0.0, 0.0)),
    "gray 128": ((128, 128, 128), (53.59, 0.0, 0.0)),
    "red": ((255, 0, 0), (53.24, 80.09, 67.20)),
    "green": ((0, 255, 0), (87.73, -86.18, 83.18)),
    "blue": ((0, 0, 255), (32.30, 79.19, -107.86)),
    "cyan": ((0, 255, 255), (91.11, -48.09, -14.13)),
    "magenta": ((255, 0, 255), (60.32, 98.23, -60.82)),
    "yellow": ((255, 255, 0), (97.14, -21.55, 94.48)),
}
GRID = torch.cartesian_prod(*[torch.arange(0, 256, 15)] * 3).T[None, :, None].double() / 255


@pytest.mark.parametrize("name", PRINTED)
def test_printed_colours(name: str) -> None:
    rgb, lab = (torch.tensor(values)[None, :, None, None].double() for values in PRINTED[name])
    assert_close(rgb_to_lab(rgb / 255), lab, rtol=0, atol=0.01)
    assert_close(lab_to_rgb(lab), rgb / 255, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 2e-5), (torch.float64, 1e-6)])
def test_there_and_back(dtype: torch.dtype, atol: float) -> None:
    """The thresholds of the two curves, as the standards round them, leave a step of 1e-7."""
    images = GRID.to(dtype)
    lab = rgb_to_lab(images)
    assert lab.dtype == dtype
    assert_close(lab_to_rgb(lab), images, rtol=0, atol=atol)


def test_dark_gray_is_on_the_straight_part_of_both_curves() -> None:
    """CIE 15: L = 903.3 Y below Y = 0.008856; IEC 61966-2-1: Y = value / 12.92 to 0.04045."""
    values = torch.tensor([0.001, 0.01, 0.04], dtype=torch.float64)
    found = rgb_to_lab(values.expand(1, 3, 1, 3))[0, :, 0]
    assert_close(found[0], 29**3 / 3**3 * values / 12.92)
    assert_close(found[1:], torch.zeros(2, 3, dtype=torch.float64), rtol=0, atol=1e-9)


def test_what_srgb_lacks_is_clipped() -> None:
    outside = torch.tensor([[50.0, 110.0, -110.0], [130.0, 0.0, 0.0], [-9.0, 0.0, 0.0]])
    found = lab_to_rgb(outside[:, :, None, None])[:, :, 0, 0]
    assert bool(((found >= 0) & (found <= 1)).all())
    assert_close(found[1:], torch.tensor([[1.0] * 3, [0.0] * 3]))


def test_scaled_lab_is_within_one() -> None:
    found, lab = scaled_lab(GRID), rgb_to_lab(GRID)
    assert_close(50 * (found[:, 0] + 1), lab[:, 0])
    assert_close(110 * found[:, 1:], lab[:, 1:])
    assert found.abs().max() <= 1 + 1e-6
    assert found.amin((0, 2, 3)).max() < -0.7
    assert found.amax((0, 2, 3)).min() > 0.8


def test_filters_of_printed_colours() -> None:
    """Gray 128 has L 53.59 and so is the gray of everything as light; red's L is 53.24."""
    red = torch.tensor([1.0, 0.0, 0.0])[None, :, None, None]
    gray = torch.full((1, 3, 1, 1), 128 / 255)
    assert_close(keep_light(gray), gray, rtol=0, atol=1e-5)
    assert_close(keep_light(red), torch.full_like(gray, 127.1 / 255), rtol=0, atol=1e-3)
    assert_close(keep_colour(gray), torch.full_like(gray, 118.9 / 255), rtol=0, atol=1e-3)
    assert bool((keep_colour(red)[:, 0] > 0.9).all())


def test_narrow_images_are_widened() -> None:
    assert rgb_to_lab(GRID.bfloat16()).dtype == torch.float32
    assert lab_to_rgb(torch.zeros(1, 3, 1, 1, dtype=torch.bfloat16)).dtype == torch.float32
