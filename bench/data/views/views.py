"""The views of a batch, and warped test images.

Parameters are drawn on the CPU and applied on the device of the images.

Shapes: m test images, D draws of a warp for each, S x S pixels.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from bench.cells.view_recipes import Recipe, Warp, recipes_of
from bench.data.streams import Purpose, stream
from bench.data.views.apply import colour, cut, filtered, mirror, move, shift, soften
from bench.data.views.geometry import warp
from bench.data.views.parameters import (
    Floats,
    ViewParameters,
    affine_matrix,
    crop_numbers,
    draw_parameters,
)


@dataclass(frozen=True, slots=True)
class Views:
    """V random views of each image, each drawn by its recipe."""

    recipes: tuple[Recipe, ...]
    size: int  # height and width of the views, in pixels
    local_size: int | None = None  # of the views whose recipe is local

    @property
    def count(self) -> int:
        """How many views of an image there are."""
        return len(self.recipes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Height and width of each view, in pixels."""
        local = self.local_size or self.size
        return tuple(local if recipe.local else self.size for recipe in self.recipes)

    def first(self) -> "Views":
        """Return the same set with its first view alone."""
        return replace(self, recipes=self.recipes[:1])

    def draw(self, rng: np.random.Generator, batch: int, height: int, width: int) -> ViewParameters:
        """Return the parameters of all views of `batch` images of height x width pixels.

        Args:
            rng: where the numbers come from.
            batch: number of images.
            height: of the images, in pixels.
            width: of the images, in pixels.
        """
        return draw_parameters(self.recipes, rng, batch, (height, width), self.size)

    def crop_numbers(self, rng: np.random.Generator, batch: int) -> Floats:
        """Return what `draw` draws first, (V, batch, U) for `crop_box`, for images of any size."""
        return crop_numbers(self.recipes, rng, batch)

    @torch.no_grad()
    def apply(
        self,
        pixels: Tensor | None,
        parameters: ViewParameters,
        *,
        cropped: Sequence[Tensor] | None = None,
    ) -> tuple[Tensor, ...]:
        """Return the V views, float32 (B, 3, S, S) in [0, 1] with S = `sizes`, on one device.

        Args:
            pixels: uint8 (B, 3, H, W), H and W as the parameters were drawn for.
            parameters: from `draw`.
            cropped: instead of pixels (None): V times uint8 (B, 3, S, S), cropped and resized by
                `crop_box` already; the rest, flips included, is done here.

        Raises:
            ValueError: not one of pixels and cropped, or a shape or type does not fit.
        """
        B = parameters.flip.shape[1]
        if cropped is not None:
            if len(cropped) != self.count:
                raise ValueError(f"cropped must be {self.count} views, found {len(cropped)}")
            for images, size in zip(cropped, self.sizes, strict=True):
                _check("cropped", images, (B, 3, size, size))
        elif pixels is not None:
            _check("pixels", pixels, (B, 3, *parameters.source))
        views: list[Tensor] = []
        for run, size in self._runs():
            drawn = parameters.of(run)
            if cropped is not None:
                images = mirror(torch.stack(list(cropped[run])), drawn)
            elif pixels is not None:
                images = cut(pixels, drawn, size)
            else:
                raise ValueError("needs pixels or cropped")
            images = soften(colour(shift(images, drawn), drawn), drawn)
            images = filtered(move(images, drawn), drawn).clamp_(0.0, 1.0)
            views.extend(images.view(-1, B, 3, size, size))
        return tuple(views)

    def _runs(self) -> Iterator[tuple[slice, int]]:
        """Yield the stretches of views of one size, which are made together, and their size."""
        start = 0
        for size, run in groupby(self.sizes):
            stop = start + len(list(run))
            yield slice(start, stop), size
            start = stop


def _check(name: str, images: Tensor, shape: tuple[int, ...]) -> None:
    if images.dtype != torch.uint8 or images.shape != shape:
        raise ValueError(
            f"{name} must be uint8 of shape {shape}, found {images.dtype} {tuple(images.shape)}"
        )


def make_views(
    name: str, *, size: int, strength: float = 1.0, local_size: int | None = None
) -> Views:
    """Return the view set of a name, for views of size x size pixels.

    Args:
        name: one of `view_names()`.
        size: at least 2.
        strength: 1 is the published one. It multiplies the colour jitter of a whole set, and what
            a single transform does (the share that crop may lose, a probability, a width).
        local_size: height and width of the local views of a set that has them, at least 2; None
            for other sets.

    Raises:
        ValueError: unknown name, a size or strength out of its range, or a local size too many or
            too few.
    """
    recipes = recipes_of(name, strength)
    for what, side in (("size", size), ("local_size", local_size)):
        if side is not None and side < 2:
            raise ValueError(f"{what} must be at least 2 pixels, found {side}")
    if any(recipe.local for recipe in recipes) != (local_size is not None):
        raise ValueError(
            f"views: local_size is needed with local views and with no others, '{name}' has "
            f"{'some' if local_size is None else 'none'}"
        )
    return Views(recipes, size, local_size)


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
