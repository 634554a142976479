"""Colour operations on N images in [0, 1]: jitter, greyscale, solarize and Lab.

Shapes: P pixels of an image. Jitter, grayscale and solarize agree with torchvision's functional
transforms to 1e-5 in float32.

Lab is CIE 1976 L*a*b* of sRGB (IEC 61966-2-1, CIE 15, white point D65). L is 0 to 100. For sRGB
colours, a is -86.2 to 98.3 and b is -107.9 to 94.5.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from bench.data.images import sent

_LUMA = (0.2989, 0.587, 0.114)  # ITU-R BT.601 as torchvision rounds it
HUE = 3  # of brightness, contrast, saturation, hue


class JitterPlan(NamedTuple):
    """Jitter operations per image, computed on the CPU so the device need not synchronise.

    Brightness, contrast and saturation are x -> clamp(M x + s mean(gray)), with a 3x3 matrix M and
    a number s per image. Images are sorted by the position of hue among the four operations, so
    images with hue before step k are contiguous.
    """

    index_N: Tensor  # the jittered images, in sorted order
    matrix_3N33: Tensor  # M of the three steps
    to_mean_3N11: Tensor  # s of the three steps
    hue_N: Tensor  # shift in turns
    bounds: list[int]  # hue comes before step k for the images bounds[k] to bounds[k + 1]


def plan_jitter(on_N: Tensor, factors_N4: Tensor, order_N4: Tensor) -> JitterPlan:
    """Return the plan: jittered images, factors and order of operations, on the CPU.

    Args:
        on_N: bool, whether each image is jittered.
        factors_N4: factors of brightness, contrast, saturation; shift of the hue, in turns.
        order_N4: operation at each position, 0 to 3, numbered like the factors.
    """
    place_N = (order_N4 == HUE).int().argmax(1)
    index_N = torch.where(on_N, place_N, 4).argsort(stable=True)[: int(on_N.sum())]
    factors = factors_N4[index_N]
    matrix, to_mean = _steps(factors, order_N4[index_N])
    counts = place_N[index_N].bincount(minlength=4).cumsum(0)
    return JitterPlan(index_N, matrix, to_mean, factors[:, HUE], [0, *counts.tolist()])


def _steps(factors_N4: Tensor, order_N4: Tensor) -> tuple[Tensor, Tensor]:
    """Return M (3, N, 3, 3) and s (3, N, 1, 1) of the three steps other than hue, in their
    order."""
    step_N3 = order_N4[order_N4 != HUE].view(-1, 3)
    factor_3N11 = factors_N4.gather(1, step_N3).T[..., None, None]
    is_contrast, is_saturation = ((step_N3 == op).T[..., None, None] for op in (1, 2))
    gray_33 = torch.tensor(_LUMA).expand(3, 3)
    rest_3N11 = 1 - factor_3N11
    matrix = factor_3N11 * torch.eye(3) + rest_3N11 * is_saturation * gray_33
    return matrix, rest_3N11 * is_contrast


def jitter_(images: Tensor, plan: JitterPlan) -> Tensor:
    """Jitter the plan's images of (N, 3, S, S) in place (torchvision, ColorJitter)."""
    if len(plan.index_N) == 0:
        return images
    index_N, matrix, to_mean, hue_N = (sent(numbers, images.device) for numbers in plan[:4])
    some = images.index_select(0, index_N).flatten(2)
    for step in range(4):
        run = slice(plan.bounds[step], plan.bounds[step + 1])
        some[run] = shift_hue(some[run], hue_N[run])
        if step < 3:
            some = _step(some, matrix[step], to_mean[step])
    return images.index_copy_(0, index_N, some.view(-1, *images.shape[1:]))


def _step(images_NCP: Tensor, matrix_N33: Tensor, to_mean_N11: Tensor) -> Tensor:
    offset_N11 = to_mean_N11 * luma(images_NCP.mean(2, keepdim=True))
    return torch.baddbmm(offset_N11, matrix_N33, images_NCP).clamp_(0.0, 1.0)


def shift_hue(images_NCP: Tensor, turns_N: Tensor) -> Tensor:
    """Return (N, 3, P) with the HSV hue shifted by -1/2 to 1/2 turns.

    The code has no branches, for speed. With c = max - min, the hue is (1 + (g + b - r - min) / c)
    / 6 turns from red, with the sign of g - b. A channel whose own hue differs from it by d turns
    has the value min + 6 c clamp(1/3 - d, 0, 1/6).
    """
    red, green, blue = images_NCP.unbind(1)
    low_NP = torch.minimum(torch.minimum(red, green), blue)
    chroma_NP = torch.maximum(torch.maximum(red, green), blue).sub_(low_NP)
    hue_NP = (green + blue).sub_(red).sub_(low_NP)
    hue_NP.div_(chroma_NP.clamp(min=1e-20)).add_(1.0).div_(6.0)
    hue_NP.copysign_(green - blue).add_(turns_N[:, None])
    own_C1 = torch.arange(3, device=images_NCP.device)[:, None] / 3
    away_NCP = hue_NP[:, None] - own_C1
    away_NCP.sub_(away_NCP.round()).abs_()
    ramp_NCP = away_NCP.neg_().add_(1 / 3).clamp_(0.0, 1 / 6)
    return ramp_NCP.mul_(chroma_NP.mul_(6.0)[:, None]).add_(low_NP[:, None])


def luma(images: Tensor) -> Tensor:
    """Return the weighted sum of the channels of (N, 3, ...), as one channel."""
    red, green, blue = images.split(1, dim=1)
    gray: Tensor = (red * _LUMA[0]).add_(green, alpha=_LUMA[1]).add_(blue, alpha=_LUMA[2])
    return gray


def solarize(images: Tensor, threshold: float = 0.5) -> Tensor:
    """Return the images with the values at or above the threshold inverted."""
    return (images - (images >= threshold).to(images.dtype)).abs_()  # 1 - x is |x - 1|


# X, Y, Z of linear sRGB's primaries; the rows sum to the white point (0.95047, 1, 1.08883).
_XYZ = torch.tensor(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ],
    dtype=torch.float64,
)
_TO_WHITE = _XYZ / _XYZ.sum(1, keepdim=True)  # shares of the white point's X, Y, Z
_FROM_WHITE = _TO_WHITE.inverse()
_DELTA = 6 / 29
L_MIDDLE, AB_REACH = 50.0, 110.0  # of `scaled_lab`


def rgb_to_lab(images: Tensor) -> Tensor:
    """Return L, a and b of sRGB images (N, 3, H, W) in [0, 1], float32 or wider."""
    images = images if images.dtype == torch.float64 else images.float()
    linear = torch.where(images > 0.04045, ((images + 0.055) / 1.055) ** 2.4, images / 12.92)
    share = _mixed(linear, _TO_WHITE)
    bent = share / (3 * _DELTA**2) + 4 / 29
    x, y, z = torch.where(share > _DELTA**3, share.clamp(min=0) ** (1 / 3), bent).unbind(1)
    return torch.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], 1)


def lab_to_rgb(lab: Tensor) -> Tensor:
    """Return L, a and b (N, 3, H, W) as sRGB, with out-of-gamut colours clipped to [0, 1]."""
    lab = lab if lab.dtype == torch.float64 else lab.float()
    light, a, b = lab.unbind(1)
    y = (light + 16) / 116
    bent = torch.stack([y + a / 500, y, y - b / 200], 1)
    share = torch.where(bent > _DELTA, bent**3, 3 * _DELTA**2 * (bent - 4 / 29))
    linear = _mixed(share, _FROM_WHITE).clamp(0, 1)
    return torch.where(linear > 0.0031308, 1.055 * linear ** (1 / 2.4) - 0.055, 12.92 * linear)


def scaled_lab(images: Tensor) -> Tensor:
    """Return sRGB images in [0, 1] as (L / 50 - 1, a / 110, b / 110), each within [-1, 1]."""
    light, a, b = rgb_to_lab(images).unbind(1)
    return torch.stack([light / L_MIDDLE - 1, a / AB_REACH, b / AB_REACH], 1)


def keep_light(images: Tensor) -> Tensor:
    """Return sRGB images with only L: grey images."""
    light = rgb_to_lab(images)[:, :1]
    return lab_to_rgb(torch.cat([light, torch.zeros_like(light).expand(-1, 2, -1, -1)], 1))


def keep_colour(images: Tensor) -> Tensor:
    """Return sRGB images with a and b at L = 50, clipped to the sRGB gamut."""
    ab = rgb_to_lab(images)[:, 1:]
    return lab_to_rgb(torch.cat([torch.full_like(ab[:, :1], L_MIDDLE), ab], 1))


def _mixed(images: Tensor, matrix: Tensor) -> Tensor:
    """Return the matrix times the channels, by sums that no setting of the products narrows."""
    red, green, blue = images.split(1, dim=1)
    column = _columns(matrix, images.device, images.dtype)
    mixed: Tensor = red * column[0] + green * column[1] + blue * column[2]
    return mixed


@cache
def _columns(matrix: Tensor, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Return the columns of a matrix on a device, which are copied there once."""
    return matrix.to(device, dtype)[:, :, None, None].unbind(1)
