"""Views of a batch, and warped test images.

Parameters are drawn on the CPU and applied on the device of the images.

Shapes: m test images, D random warps of each, S x S pixels.
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
    """V random views of each image, one recipe per view."""

    recipes: tuple[Recipe, ...]
    size: int  # height and width of the views, in pixels
    local_size: int | None = None  # of the views whose recipe is local

    @property
    def count(self) -> int:
        """Number of views per image."""
        return len(self.recipes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Height and width of each view, in pixels."""
        local = self.local_size or self.size
        return tuple(local if recipe.local else self.size for recipe in self.recipes)

    def first(self) -> "Views":
        """Return the view set restricted to its first view."""
        return replace(self, recipes=self.recipes[:1])

    def draw(self, rng: np.random.Generator, batch: int, height: int, width: int) -> ViewParameters:
        """Return the parameters of all views of `batch` images of height x width pixels.

        Args:
            rng: source of randomness.
            batch: number of images.
            height: height of the images, in pixels.
            width: width of the images, in pixels.
        """
        return draw_parameters(self.recipes, rng, batch, (height, width), self.size)

    def crop_numbers(self, rng: np.random.Generator, batch: int) -> Floats:
        """Return the crop numbers (V, batch, U) that `draw` draws first, for images of any size."""
        return crop_numbers(self.recipes, rng, batch)

    @torch.no_grad()
    def apply(
        self,
        pixels: Tensor | None,
        parameters: ViewParameters,
        *,
        cropped: Sequence[Tensor] | None = None,
    ) -> tuple[Tensor, ...]:
        """Return the V views, float32 (B, 3, S, S) in [0, 1] with S from `sizes`, on one device.

        Args:
            pixels: uint8 (B, 3, H, W), with the height and width used for the parameters.
            parameters: result of `draw`.
            cropped: V tensors uint8 (B, 3, S, S), already cropped and resized by `crop_box`. They
                replace `pixels`, which is then None. All other operations, including flips, are
                applied here.

        Raises:
            ValueError: not exactly one of pixels and cropped is given, or a shape or dtype is
                wrong.
        """
        B = parameters.flip.shape[1]
        if cropped is not None:
            if len(cropped) != self.count:
                raise ValueError(f"cropped must hold {self.count} views, found {len(cropped)}")
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
                raise ValueError("one of the arguments `pixels` and `cropped` must be given")
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
    """Return the view set with this name, for views of size x size pixels.

    Args:
        name: one of `view_names()`.
        size: side of a view in pixels, at least 2.
        strength: augmentation strength; 1 is the published strength. It multiplies the colour
            jitter of a standard set, or the parameter of a single transform (cropped share,
            probability or width).
        local_size: side of the local views in pixels, at least 2; None for sets without local
            views.

    Raises:
        ValueError: the name is unknown, a size or strength is out of range, or local_size is
            missing or not allowed.
    """
    recipes = recipes_of(name, strength)
    for what, side in (("size", size), ("local_size", local_size)):
        if side is not None and side < 2:
            raise ValueError(f"{what} must be at least 2 pixels, found {side}")
    has_local = any(recipe.local for recipe in recipes)
    if has_local and local_size is None:
        raise ValueError(f"local_size must be set, because the views '{name}' include local crops")
    if not has_local and local_size is not None:
        raise ValueError(f"local_size must be null, because views '{name}' have no local views")
    return Views(recipes, size, local_size)


WARP_SEED = 2513  # of the warps, the same for every cell


def warped(batches: Callable[[], Iterable[Tensor]], images: int, by: Warp) -> Iterator[Tensor]:
    """Yield all images once per random warp, in batches; each image has its own matrix.

    Args:
        batches: function that returns an iterator over all images, float32 (B, 3, S, S).
        images: total number m of images.
        by: distribution of the warps. Pixels outside the image are 0.
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
