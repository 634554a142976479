"""Both views of a batch: parameters drawn on the CPU, applied on the device of the images."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bench.data.views.apply import colour, cut, mirror, move, soften
from bench.data.views.crops import Floats
from bench.data.views.parameters import ViewParameters, crop_numbers, draw_parameters
from bench.data.views.recipes import Recipe, recipes_of


@dataclass(frozen=True, slots=True)
class Views:
    """Two random views of each image, each drawn by its recipe."""

    recipes: tuple[Recipe, Recipe]
    size: int  # height and width of the views, in pixels

    @property
    def count(self) -> int:
        """How many views of an image there are."""
        return len(self.recipes)

    def draw(self, rng: np.random.Generator, batch: int, height: int, width: int) -> ViewParameters:
        """Return the parameters of both views of `batch` images of height x width pixels."""
        return draw_parameters(self.recipes, rng, batch, (height, width), self.size)

    def crop_numbers(self, rng: np.random.Generator, batch: int) -> Floats:
        """Return what `draw` draws first, (2, batch, U) for `crop_box`, for images of any size."""
        return crop_numbers(self.recipes, rng, batch)

    @torch.no_grad()
    def apply(
        self, pixels: Tensor | None, parameters: ViewParameters, *, cropped: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return both views, float32 (B, 3, size, size) in [0, 1], on the images' device.

        Args:
            pixels: uint8 (B, 3, H, W), H and W as the parameters were drawn for.
            parameters: from `draw`.
            cropped: in place of pixels (None): uint8 (2, B, 3, size, size), cropped and resized by
                `crop_box` already; the rest, flips included, is done here.

        Raises:
            ValueError: not one of pixels and cropped, or its shape or type does not fit.
        """
        B, S = parameters.flip.shape[1], self.size
        if cropped is not None:
            _check("cropped", cropped, (2, B, 3, S, S))
            images = mirror(cropped, parameters)
        elif pixels is not None:
            _check("pixels", pixels, (B, 3, *parameters.source))
            images = cut(pixels, parameters, S)
        else:
            raise ValueError("needs pixels or cropped")
        images = move(soften(colour(images, parameters), parameters), parameters)
        first, second = images.clamp_(0.0, 1.0).view(2, B, 3, S, S)
        return first, second


def _check(name: str, images: Tensor, shape: tuple[int, ...]) -> None:
    if images.dtype != torch.uint8 or images.shape != shape:
        raise ValueError(
            f"{name} must be uint8 of shape {shape}, found {images.dtype} {tuple(images.shape)}"
        )


def make_views(name: str, *, size: int, strength: float = 1.0) -> Views:
    """Return the view set of a name, for views of size x size pixels.

    Args:
        name: one of `view_names()`.
        size: at least 2.
        strength: 1 is the published one. It multiplies the colour jitter of a whole set, and what
            a single transform does (the share that crop may lose, a probability, a width).

    Raises:
        ValueError: unknown name, or a size or strength out of its range.
    """
    if size < 2:
        raise ValueError(f"size must be at least 2 pixels, found {size}")
    return Views(recipes_of(name, strength), size)
