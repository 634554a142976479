"""CutMix (arXiv:1905.04899): a box of another image of the batch is pasted into each image.

How the box is drawn is that paper's; unigrad, cutmix-rule, leaves it open.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.data.images import sent


class CutMix(NamedTuple):
    """Which box of which image is pasted into each of N images, on the CPU."""

    partner_N: Tensor  # int64, a permutation of the batch
    box_N4: Tensor  # int64: top, left, height, width in pixels; may be empty
    share_N: Tensor  # float32 in [0, 1]: of the image that is left, unigrad's r


def draw_cutmix(rng: np.random.Generator, batch: int, size: int) -> CutMix:
    """Return one box an image of `size` x `size` pixels.

    The remaining share r is drawn from Beta(1, 1), which is uniform. The box is a square of area
    1 - r with its centre anywhere in the image; it is clipped to the image, its edges rounded to
    whole pixels, and r is recomputed from what is left.

    Args:
        rng: where the numbers come from.
        batch: number of images.
        size: side of an image in pixels.
    """
    partner = rng.permutation(batch)
    half = np.sqrt(1 - rng.beta(1.0, 1.0, batch)) / 2
    centre = rng.random((batch, 2))
    low, high = (
        np.rint(size * edge.clip(0, 1)).astype(np.int64)
        for edge in (centre - half[:, None], centre + half[:, None])
    )
    box = np.concatenate([low, high - low], 1)
    share = 1 - box[:, 2] * box[:, 3] / size**2
    return CutMix(torch.from_numpy(partner), torch.from_numpy(box), torch.from_numpy(share).float())


def cutmix(images_NCSS: Tensor, parameters: CutMix) -> Tensor:
    """Return the images with the boxes of their partners pasted in, on the images' device.

    Args:
        images_NCSS: one view of each image, of the size that the boxes were drawn for.
        parameters: from `draw_cutmix`.

    Raises:
        ValueError: there are more or fewer images than were drawn for, or they are no squares.
    """
    N, size = len(parameters.partner_N), images_NCSS.shape[-1]
    if images_NCSS.ndim != 4 or len(images_NCSS) != N or images_NCSS.shape[-2] != size:
        raise ValueError(f"needs ({N}, C, S, S), found {tuple(images_NCSS.shape)}")
    partner_N, box_N4 = (sent(x, images_NCSS.device) for x in parameters[:2])
    line_S = torch.arange(size, device=images_NCSS.device)
    inside_N2S = (line_S >= box_N4[:, :2, None]) & (
        line_S < (box_N4[:, :2] + box_N4[:, 2:])[..., None]
    )
    inside_N1SS = (inside_N2S[:, 0, :, None] & inside_N2S[:, 1, None])[:, None]
    return torch.where(inside_N1SS, images_NCSS[partner_N], images_NCSS)
