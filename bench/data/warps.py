"""Warped test images: the same warps whatever the cell and its seed.

Shapes: m test images, D draws of a warp for each, S x S pixels.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from bench.cells.view_recipes import Warp
from bench.data.streams import Purpose, stream
from bench.data.views.geometry import warp
from bench.data.views.parameters import affine_matrix

WARP_SEED = 2513  # of the warps, the same for every cell


def warped(batches: Callable[[], Iterable[Tensor]], images: int, by: Warp) -> Iterator[Tensor]:
    """Yield all images once per draw, batch by batch, each warped by a matrix of its own.

    Args:
        batches: gives the images from the first on, float32 (B, 3, S, S).
        images: m, all of them together.
        by: what is drawn; places that lie outside the image are 0.
    """
    for draw in range(by.draws):
        matrix_m23, begin = _matrices(images, by, draw), 0
        for batch in batches():
            own_B23 = matrix_m23[begin : begin + len(batch)]
            yield warp(batch, own_B23.to(batch.device))
            begin += len(batch)


def _matrices(images: int, by: Warp, draw: int) -> Tensor:
    """Return the matrices (m, 2, 3) of a draw, as `warp` takes them."""
    u_m4 = stream(WARP_SEED, Purpose.DATA, 1 + draw).random((images, 4))
    turn, size, right, down = (2 * u_m4 - 1).T
    matrix_m23 = affine_matrix(
        angle=np.deg2rad(by.rotation) * turn,
        scale=by.scale**size,
        aspect=np.ones(images),
        shear=np.zeros(images),
        shift=by.shift / 2 * np.stack([right, down], -1),  # in widths
    )
    return torch.from_numpy(matrix_m23.astype(np.float32))
