"""Named view sets with a recipe per view, and named warps of test images."""

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt
from pydantic.dataclasses import dataclass

from bench.errors import choices
from bench.record import Record

Chance = Annotated[float, Field(ge=0, le=1)]  # a probability
Share = Annotated[float, Field(gt=0, le=1)]
Hue = Annotated[float, Field(ge=0, le=0.5)]  # in turns
Warping = Annotated[float, Field(ge=0, le=3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Distribution of one random view; operations are applied in the order of the fields.

    `grayscale_first` applies grayscale before the colour jitter. The blur kernel is 10 % of the
    image size, rounded to an odd number of at least 3 pixels (SimCLR, arXiv:2002.05709, App. A: 23
    pixels at 224).
    """

    crop: tuple[Share, Share] | None = None  # kept share of the area; None: the whole image
    local: bool = False  # cropped to the set's local size, in place of its size
    flip: Chance = 0.0  # probability, left to right
    shift: Chance = 0.0  # share of the size: zeros put on each side, then a crop of full size
    jitter: tuple[NonNegativeFloat, NonNegativeFloat, NonNegativeFloat, Hue] = (0.0, 0.0, 0.0, 0.0)
    jitter_p: Chance = 0.0
    grayscale: Chance = 0.0  # probability
    grayscale_first: bool = False
    blur: Chance = 0.0  # probability
    blur_sigma: tuple[PositiveFloat, PositiveFloat] = (0.1, 2.0)  # pixels
    solarize: Chance = 0.0  # probability; threshold 0.5
    affine: Warping = 0.0  # strength of a warp, brightness and noise: see `draw_affine`
    lab_filter: Chance = 0.0  # probability; keeps L or the colours a and b, by halves


def _scaled(recipe: Recipe, by: float) -> Recipe:
    brightness, contrast, saturation, hue = (by * s for s in recipe.jitter)
    return dataclasses.replace(recipe, jitter=(brightness, contrast, saturation, hue))


# SimCLR, arXiv:2002.05709, App. A, as DCL, arXiv:2110.06848, App. 4 restates it.
_SIMCLR = Recipe(
    crop=(0.08, 1.0), flip=0.5, jitter=(0.8, 0.8, 0.8, 0.2), jitter_p=0.8, grayscale=0.2, blur=0.5
)
# MoCo, arXiv:1911.05722, Sec. 3.3, in the order of the released code.
_MOCO = Recipe(
    crop=(0.2, 1.0), flip=0.5, jitter=(0.4, 0.4, 0.4, 0.4), jitter_p=1.0,
    grayscale=0.2, grayscale_first=True,
)  # fmt: skip
# MoCo v2, arXiv:2003.04297, Sec. 3, and the released code.
_MOCO_V2 = Recipe(
    crop=(0.2, 1.0), flip=0.5, jitter=(0.4, 0.4, 0.4, 0.1), jitter_p=0.8, grayscale=0.2, blur=0.5
)
# BYOL, arXiv:2006.07733, Table 6: the first view T, the second T'.
_BYOL = Recipe(
    crop=(0.08, 1.0), flip=0.5, jitter=(0.4, 0.4, 0.2, 0.1), jitter_p=0.8, grayscale=0.2, blur=1.0
)
# Wang and Isola, arXiv:2005.10242, STL-10, in the order of the released code.
_HYPERSPHERE = Recipe(
    crop=(0.08, 1.0), flip=0.5, jitter=(0.4, 0.4, 0.4, 0.4), jitter_p=1.0, grayscale=0.2
)
# Whole sets: `strength` multiplies the jitter alone, as SimCLR's s does.
_SETS: dict[str, tuple[Recipe, ...]] = {
    "simclr": (_SIMCLR, _SIMCLR),
    # SimCLR, App. B.9: jitter of half the strength, no blur.
    "simclr-cifar": (
        dataclasses.replace(_SIMCLR, jitter=(0.4, 0.4, 0.4, 0.1), blur=0.0),
        dataclasses.replace(_SIMCLR, jitter=(0.4, 0.4, 0.4, 0.1), blur=0.0),
    ),
    "moco-v1": (_MOCO, _MOCO),
    # mutual-information, pretrain-cmc-lab: no grayscale, jitter kept.
    "moco-v1-lab": (dataclasses.replace(_MOCO, grayscale=0.0, grayscale_first=False),) * 2,
    "moco-v2": (_MOCO_V2, _MOCO_V2),
    # unigrad, multi-crop: 2 global and 6 local views; colours as released-code-pretrain has them.
    "multi-crop": (
        *(dataclasses.replace(_MOCO_V2, crop=(0.4, 1.0)),) * 2,
        *(dataclasses.replace(_MOCO_V2, crop=(0.05, 0.4), local=True),) * 6,
    ),
    "byol": (_BYOL, dataclasses.replace(_BYOL, blur=0.1, solarize=0.2)),
    "hypersphere": (_HYPERSPHERE, _HYPERSPHERE),
    # CIFAR's supervised standard: 4 pixels of zeros around 32 (ResNet, arXiv:1512.03385, Sec. 4.2).
    "crop-flip": (Recipe(flip=0.5, shift=1 / 8),) * 2,
    "none": (Recipe(), Recipe()),
}
# One transform alone: `strength` multiplies what it does. At 1 it is SimCLR's (solarize: BYOL's;
# affine: this project's own, for digits, whose class a flip would change; lab-filters:
# mutual-information, fig-4-view-sets).
_SINGLES: dict[str, Callable[[float], Recipe]] = {
    "crop": lambda s: Recipe(crop=(1 - 0.92 * s, 1.0)),
    "flip": lambda s: Recipe(flip=0.5 * s),
    "jitter": lambda s: Recipe(jitter=(0.8 * s, 0.8 * s, 0.8 * s, 0.2 * s), jitter_p=0.8),
    "grayscale": lambda s: Recipe(grayscale=0.2 * s),
    "blur": lambda s: Recipe(blur=0.5, blur_sigma=(0.1, 0.1 + 1.9 * s)),
    "solarize": lambda s: Recipe(solarize=0.2 * s),
    "affine": lambda s: Recipe(affine=s),
    "lab-filters": lambda s: Recipe(lab_filter=s),
}


def view_names() -> list[str]:
    """Return the names of all view sets."""
    return [*_SETS, *_SINGLES]


def recipes_of(name: str, strength: float) -> tuple[Recipe, ...]:
    """Return the recipes of a view set; strength 1 is the published strength.

    Raises:
        ValueError: the name is unknown, or the strength moves a parameter out of its range.
    """
    if name not in view_names():
        raise ValueError(f"views '{name}' is unknown. {choices(name, view_names())}")
    try:
        if name in _SINGLES:
            return (_SINGLES[name](strength),) * 2
        return tuple(_scaled(recipe, strength) for recipe in _SETS[name])
    except ValueError as error:
        raise ValueError(
            f"views: strength {strength} lies outside the range that '{name}' allows"
        ) from error


class Warp(Record):
    """Random warps of test images, equal for every cell; each parameter is uniform."""

    rotation: NonNegativeFloat  # degrees: from minus this to this
    scale: Annotated[float, Field(ge=1)]  # from 1 / scale to scale, in its logarithm
    shift: NonNegativeFloat  # half widths, across and down: from minus this to this
    draws: PositiveInt  # warps per test image, each of which counts as a test image


WARPS: dict[str, Warp] = {
    "digits-25": Warp(rotation=25.0, scale=1.3, shift=0.2, draws=5),
}


def draws_of(warp: str) -> int:
    """Return the number of warps per test image; 1 for `none`."""
    return WARPS[warp].draws if warp in WARPS else 1


def warp_record(name: str) -> dict[str, Any]:
    """Return a warp's settings under `warp` for cell ids; empty for `none`."""
    return {"warp": WARPS[name].model_dump(mode="json")} if name in WARPS else {}
