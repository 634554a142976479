"""Pixels as an encoder sees them: resized, and normalised.

Shapes: B images, H x W pixels.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from bench.cells.datasets import Triple
from bench.data.views import scaled_lab


def at_size(values: Tensor, size: int) -> Tensor:
    """Return images in [0, 1], (B, 3, H, W), as (B, 3, size, size), resized where they are not."""
    if values.shape[-2:] == (size, size):
        return values
    shown = nn.functional.interpolate(values, (size, size), mode="bilinear", antialias=True)
    return shown.clamp(0, 1)


def normalised(
    colour: str, of_mean: Triple, of_std: Triple, device: torch.device | str
) -> Callable[[Tensor], Tensor]:
    """Return the function that takes pixels in [0, 1] to what an encoder sees.

    With colour "rgb" that has mean 0 and variance 1 a channel; with "lab" it is `scaled_lab`, the
    same for every data set.

    Args:
        colour: "rgb" or "lab".
        of_mean: the data set's mean of each channel.
        of_std: the data set's standard deviation of each channel.
        device: where the pixels are.
    """
    if colour == "lab":
        return lambda pixels: scaled_lab(pixels).contiguous(memory_format=torch.channels_last)
    shape = (1, 3, 1, 1)
    mean = torch.tensor(of_mean, device=device).view(shape)
    scale = 1 / torch.tensor(of_std, device=device).view(shape)

    def normalise(pixels: Tensor) -> Tensor:
        return ((pixels - mean) * scale).contiguous(memory_format=torch.channels_last)

    return normalise
