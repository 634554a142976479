"""CutMix (arXiv:1905.04899): paste a box from another image of the batch into each image.

The box distribution follows that paper; unigrad, cutmix-rule, does not specify it.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.data.images import sent


class CutMix(NamedTuple):
    """Box and source image for each of N images, on the CPU."""

    partner_N: Tensor  # int64, a permutation of the batch
    box_N4: Tensor  # int64: top, left, height, width in pixels; may be empty
    share_N: Tensor  # float32 in [0, 1]: of the image that is left, unigrad's r


def draw_cutmix(rng: np.random.Generator, batch: int, size: int) -> CutMix:
    """Return one random box per image of `size` x `size` pixels.

    The remaining share r is uniform (Beta(1, 1)). The box is a square of area 1 - r. Its centre is
    uniform in the image. The box is clipped to the image and rounded to whole pixels. Then r is
    recomputed from the remaining area.

    Args:
        rng: source of randomness.
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
    """Return the images with the boxes of their source images pasted in, on the images' device.

    Args:
        images_NCSS: one view of each image, with the size used for the boxes.
        parameters: result of `draw_cutmix`.

    Raises:
        ValueError: the number of images differs from the parameters, or images are not square.
    """
    N, size = len(parameters.partner_N), images_NCSS.shape[-1]
    if images_NCSS.ndim != 4 or len(images_NCSS) != N or images_NCSS.shape[-2] != size:
        raise ValueError(
            f"the images must have shape ({N}, C, S, S), found {tuple(images_NCSS.shape)}"
        )
    partner_N, box_N4 = (sent(x, images_NCSS.device) for x in parameters[:2])
    line_S = torch.arange(size, device=images_NCSS.device)
    inside_N2S = (line_S >= box_N4[:, :2, None]) & (
        line_S < (box_N4[:, :2] + box_N4[:, 2:])[..., None]
    )
    inside_N1SS = (inside_N2S[:, 0, :, None] & inside_N2S[:, 1, None])[:, None]
    return torch.where(inside_N1SS, images_NCSS[partner_N], images_NCSS)
