"""CIE 1976 L*a*b* of N images (N, 3, H, W) in sRGB, by IEC 61966-2-1 and CIE 15 at white D65.

L is 0 to 100; of sRGB colours a is -86.2 to 98.3 and b is -107.9 to 94.5.
"""

from functools import cache

import torch
from torch import Tensor

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
    """Return sRGB images (N, 3, H, W) in [0, 1] as L, a and b, float32 or wider."""
    images = images if images.dtype == torch.float64 else images.float()
    linear = torch.where(images > 0.04045, ((images + 0.055) / 1.055) ** 2.4, images / 12.92)
    share = _mixed(linear, _TO_WHITE)
    bent = share / (3 * _DELTA**2) + 4 / 29
    x, y, z = torch.where(share > _DELTA**3, share.clamp(min=0) ** (1 / 3), bent).unbind(1)
    return torch.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], 1)


def lab_to_rgb(lab: Tensor) -> Tensor:
    """Return L, a and b (N, 3, H, W) as sRGB, colours that sRGB lacks clipped to [0, 1]."""
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
    """Return the images' L alone, as gray sRGB images."""
    light = rgb_to_lab(images)[:, :1]
    return lab_to_rgb(torch.cat([light, torch.zeros_like(light).expand(-1, 2, -1, -1)], 1))


def keep_colour(images: Tensor) -> Tensor:
    """Return the images' a and b at L = 50, clipped to sRGB."""
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
