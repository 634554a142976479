"""Random parameters of all views of a batch, drawn on the CPU from one generator.

Crops follow torchvision's RandomResizedCrop, for many images at once.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bench.cells.view_recipes import Recipe

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRIES = 10
NUMBERS = 2 * TRIES + 2  # area and aspect ratio of each try, then where the box lies
WHOLE = (2.0, 2.0)  # shares with which no try fits, so that the box is the image's middle or all
_RATIO = (3 / 4, 4 / 3)  # width / height


def draw_crop_numbers(
    rng: np.random.Generator, shares: list[tuple[float, float]], batch: int
) -> Floats:
    """Return random numbers (V, batch, NUMBERS); V views with (least, most) area share.

    Each sample has uniform area shares of 10 tries, their aspect ratios, log-uniform in 3/4 to 4/3,
    and two uniform numbers for the position. They apply to images of any size.

    Args:
        rng: source of randomness.
        shares: least and most kept share of the area, per view.
        batch: number of images.
    """
    numbers = rng.random((len(shares), batch, NUMBERS))
    low, high = np.array(shares)[:, :, None, None].swapaxes(0, 1)
    numbers[..., :TRIES] = low + (high - low) * numbers[..., :TRIES]
    log_low, log_high = np.log(_RATIO)
    ratio = numbers[..., TRIES:-2]
    numbers[..., TRIES:-2] = np.exp(log_low + (log_high - log_low) * ratio)
    return numbers


def crop_box(numbers: Floats, height: int, width: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return (top, left, height, width) of crops in images of height x width, in pixels.

    The crop is the first try that fits, else the largest central box with an allowed aspect ratio
    (torchvision, RandomResizedCrop). `numbers` has shape (..., NUMBERS), the results (...).

    Args:
        numbers: result of `draw_crop_numbers`.
        height: height of the images, in pixels.
        width: width of the images, in pixels.
    """
    area, ratio = height * width * numbers[..., :TRIES], numbers[..., TRIES:-2]
    w, h = np.rint(np.sqrt(area * ratio)), np.rint(np.sqrt(area / ratio))
    fits = (w > 0) & (w <= width) & (h > 0) & (h <= height)
    first = fits.argmax(-1)[..., None]
    any_fits = fits.any(-1)
    last_h = min(height, round(width / _RATIO[0]))
    last_w = min(width, round(height * _RATIO[1]))
    h = np.where(any_fits, np.take_along_axis(h, first, -1)[..., 0], last_h)
    w = np.where(any_fits, np.take_along_axis(w, first, -1)[..., 0], last_w)
    top = np.where(any_fits, np.floor(numbers[..., -2] * (height - h + 1)), (height - h) // 2)
    left = np.where(any_fits, np.floor(numbers[..., -1] * (width - w + 1)), (width - w) // 2)
    return top.astype(np.int64), left.astype(np.int64), h.astype(np.int64), w.astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewParameters:
    """Parameters of V views of each of B images, on the CPU.

    Every image has all parameters, even those of operations that are not applied to it.
    """

    source: tuple[int, int]  # height and width of the images, in pixels
    crop_numbers: Floats  # (V, B, U), for `crop_box`
    box: Tensor | None  # int64 (V, B, 4): top, left, height, width in pixels; None: all of it
    flip: Tensor  # bool (V, B)
    shift: Tensor | None  # int64 (V, B, 2): down and right, in pixels of the view, zeros come in
    jitter: Tensor  # bool (V, B)
    factors: Tensor  # float32 (V, B, 4): brightness, contrast, saturation; hue shift in turns
    order: Tensor  # int64 (V, B, 4): which of the four comes first, second, ...
    grayscale: Tensor  # bool (V, B)
    grayscale_first: bool  # before the jitter
    blur: Tensor  # bool (V, B)
    sigma: Tensor  # float32 (V, B), pixels
    solarize: Tensor  # bool (V, B)
    never: frozenset[str]  # which of flip, jitter, grayscale, blur, solarize no recipe has
    matrix: Tensor | None  # float32 (V, B, 2, 3), for `warp`, and with it:
    brightness: Tensor | None  # float32 (V, B), a factor
    noise: Tensor | None  # float32 (V, B, S, S), added to every channel
    keep: Tensor | None  # int64 (V, B): 0 all of an image, 1 its L, 2 its a and b

    def of(self, run: slice) -> "ViewParameters":
        """Return the parameters of some views."""
        return self._cut(run)

    def rows(self, share: slice) -> "ViewParameters":
        """Return the parameters of some images, in all views."""
        return self._cut((slice(None), share))

    def _cut(self, where: slice | tuple[slice, slice]) -> "ViewParameters":
        numbers = {field.name: getattr(self, field.name) for field in fields(self)}
        some: dict[str, Any] = {
            k: v[where] for k, v in numbers.items() if isinstance(v, Tensor | np.ndarray)
        }
        return replace(self, **some)


# The columns of an image's uniform numbers: the same whatever the recipe, so that two view sets
# that share an operation draw it alike from equal generators.
_COLUMNS = 14
_CHANCES = ("flip", "jitter", "grayscale", "blur", "solarize")


def draw_parameters(
    recipes: tuple[Recipe, ...],
    rng: np.random.Generator,
    batch: int,
    source: tuple[int, int],
    size: int,
) -> ViewParameters:
    """Return the parameters of one view per recipe; crop numbers are drawn first.

    Args:
        recipes: one recipe per view.
        rng: the only source of randomness.
        batch: number of images.
        source: height and width of the images before cropping, in pixels.
        size: height and width of the views, in pixels.
    """
    numbers = crop_numbers(recipes, rng, batch)
    crops = any(r.crop for r in recipes)
    uniform = rng.random((len(recipes), batch, _COLUMNS))
    chances = np.array([[r.flip, r.jitter_p, r.grayscale, r.blur, r.solarize] for r in recipes])
    flip, jitter, grayscale, blur, solarize = torch.from_numpy(
        uniform[..., :5] < chances[:, None]
    ).unbind(-1)
    sigma = np.array([r.blur_sigma for r in recipes])
    affine = draw_affine(recipes, rng, batch, size) if any(r.affine for r in recipes) else None
    matrix, brightness, noise = affine or (None, None, None)
    return ViewParameters(
        source=source,
        crop_numbers=numbers,
        box=torch.from_numpy(np.stack(crop_box(numbers, *source), -1)) if crops else None,
        flip=flip,
        shift=draw_shift(recipes, rng, batch, size) if any(r.shift for r in recipes) else None,
        jitter=jitter,
        factors=_single(_between(*_factor_ranges(recipes), uniform[..., 6:10])),
        order=torch.from_numpy(uniform[..., 10:14].argsort(-1)),
        grayscale=grayscale,
        grayscale_first=recipes[0].grayscale_first,
        blur=blur,
        sigma=_single(_between(sigma[:, :1], sigma[:, 1:], uniform[..., 5])),
        solarize=solarize,
        never=frozenset(name for name, p in zip(_CHANCES, chances.T, strict=True) if not p.any()),
        matrix=matrix,
        brightness=brightness,
        noise=noise,
        keep=draw_filters(recipes, rng, batch) if any(r.lab_filter for r in recipes) else None,
    )


def crop_numbers(recipes: tuple[Recipe, ...], rng: np.random.Generator, batch: int) -> Floats:
    """Return the numbers (V, batch, U) that `crop_box` converts to boxes.

    If a recipe does not crop, the box is the whole image, limited to the aspect ratios 3/4 and 4/3.

    Args:
        recipes: one recipe per view.
        rng: source of randomness.
        batch: number of images.
    """
    return draw_crop_numbers(rng, [r.crop or WHOLE for r in recipes], batch)


def draw_shift(
    recipes: tuple[Recipe, ...], rng: np.random.Generator, batch: int, size: int
) -> Tensor:
    """Return uniform shifts down and right, (V, batch, 2), in whole pixels up to the padding.

    Args:
        recipes: one recipe per view.
        rng: source of randomness.
        batch: number of images.
        size: side of a view in pixels.
    """
    reach = np.array([int(size * r.shift) for r in recipes])[:, None, None]
    return torch.from_numpy(rng.integers(-reach, reach + 1, (len(recipes), batch, 2)))


def draw_filters(recipes: tuple[Recipe, ...], rng: np.random.Generator, batch: int) -> Tensor:
    """Return which channels each image keeps, (V, batch): 0 all, 1 only L, 2 only a and b.

    Args:
        recipes: one recipe per view.
        rng: source of randomness.
        batch: number of images.
    """
    chance = np.array([r.lab_filter for r in recipes])[:, None]
    u = rng.random((len(recipes), batch))
    return torch.from_numpy(np.where(u < chance, np.where(u < chance / 2, 1, 2), 0))


def draw_affine(
    recipes: tuple[Recipe, ...], rng: np.random.Generator, batch: int, size: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return warp matrices, brightness and noise, each range scaled by the recipe's `affine`.

    The ranges are: rotation +-20 degrees, scale 0.7 to 1.2, aspect ratio 1/1.18 to 1.18
    (log-uniform), shear +-0.2, translation +-0.15 of the size, brightness 0.7 to 1.3, noise of
    sigma 0 to 0.1.

    Args:
        recipes: one recipe per view.
        rng: source of randomness.
        batch: number of images.
        size: side of a view in pixels.
    """
    strength = np.array([r.affine for r in recipes])[:, None]
    u = np.moveaxis(rng.random((len(recipes), batch, 8)), -1, 0)
    turn, aspect, shear, right, down, light = strength * (2 * u[:6] - 1)
    noise = rng.standard_normal((len(recipes), batch, size, size), dtype=np.float32)
    noise *= (0.1 * strength * u[6]).astype(np.float32)[..., None, None]
    matrix = affine_matrix(
        angle=np.deg2rad(20) * turn,
        scale=1 + strength * (0.5 * u[7] - 0.3),
        aspect=np.exp(np.log(1.18) * aspect),
        shear=0.2 * shear,
        shift=0.15 * np.stack([right, down], -1),
    )
    return _single(matrix), _single(1 + 0.3 * light), torch.from_numpy(noise)


def affine_matrix(
    *, angle: Floats, scale: Floats, aspect: Floats, shear: Floats, shift: Floats
) -> Floats:
    """Return the matrices (..., 2, 3) that map positions in the view to positions in the image.

    The image is sheared (x - shear y), stretched by sqrt(aspect) across and its inverse down,
    scaled, rotated clockwise by `angle` about its centre, and shifted. Without `aspect` this agrees
    with torchvision's `affine`.

    Args:
        angle: radians, clockwise, shape (...).
        scale: scale factor, above 0; 1 keeps the size.
        aspect: width divided by height of a stretched square, above 0.
        shear: slope of the horizontal shear, the tangent of its angle.
        shift: (right, down) in shares of the image's side, shape (..., 2).
    """
    cos, sin, wide = np.cos(angle), np.sin(angle), np.sqrt(aspect)
    # Inverse of turn @ diag(wide, 1 / wide) @ shear, over the scale.
    first = np.stack([cos / wide - shear * sin * wide, sin / wide + shear * cos * wide], -1)
    second = np.stack([-sin * wide, cos * wide], -1)
    inverse = np.stack([first, second], -2) / scale[..., None, None]
    moved = inverse @ (2 * shift)[..., None]  # in half sizes
    return np.concatenate([inverse, -moved], -1)


def _factor_ranges(recipes: tuple[Recipe, ...]) -> tuple[Floats, Floats]:
    """Return the least and greatest factors, (V, 1, 4) each, as torchvision's ColorJitter."""
    strengths = np.array([r.jitter for r in recipes])[:, None]
    middle = np.array([1.0, 1.0, 1.0, 0.0])
    low = middle - strengths
    low[..., :3] = low[..., :3].clip(min=0)
    return low, middle + strengths


def _between(low: Floats, high: Floats, uniform: Floats) -> Floats:
    return low + (high - low) * uniform


def _single(numbers: Floats) -> Tensor:
    return torch.from_numpy(numbers.astype(np.float32))
