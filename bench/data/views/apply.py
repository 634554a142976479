"""Apply view parameters to V * B images (V * B, 3, S, S) in [0, 1] on one device.

Operations act only on the selected images. The selection is known on the CPU, so the device need
not synchronise.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from bench.data.images import sent
from bench.data.views.colour import (
    jitter_,
    keep_colour,
    keep_light,
    luma,
    plan_jitter,
    solarize,
)
from bench.data.views.geometry import blur, resized_crops, shifted, warp
from bench.data.views.parameters import ViewParameters


def cut(pixels: Tensor, parameters: ViewParameters, size: int) -> Tensor:
    """Return the crops of uint8 (B, 3, H, W), resized and mirrored.

    Args:
        pixels: uint8 images, (B, 3, H, W).
        parameters: view parameters with crop boxes.
        size: side of a view in pixels.
    """
    box, flip = parameters.box, parameters.flip
    H, W = pixels.shape[-2:]
    if box is None and (size, size) == (H, W):
        return mirror(pixels.expand(len(flip), *pixels.shape), parameters)
    if box is None:
        box = torch.zeros(4, dtype=torch.int64, device=flip.device)
        box[2].fill_(H)
        box[3].fill_(W)
        box = box.expand(*flip.shape, 4)
    return resized_crops(pixels, _sent(box, pixels), _sent(flip, pixels), size)


def mirror(crops: Tensor, parameters: ViewParameters) -> Tensor:
    """Return uint8 crops (V, B, 3, S, S) as float images, some mirrored."""
    images = crops.flatten(0, 1).float().div_(255)
    return _change(images, parameters, "flip", lambda some: some.flip(-1))


def shift(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Return the images shifted and padded with zeros, if the parameters include a shift."""
    if parameters.shift is None:
        return images
    return shifted(images, _sent(parameters.shift.flatten(0, 1), images))


def colour(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Return the images, some jittered and some grey, in the order given by the parameters."""
    if parameters.grayscale_first:
        images = _change(images, parameters, "grayscale", _gray)
    images = _jittered(images, parameters)
    if not parameters.grayscale_first:
        images = _change(images, parameters, "grayscale", _gray)
    return images


def _jittered(images: Tensor, parameters: ViewParameters) -> Tensor:
    if "jitter" in parameters.never:
        return images
    numbers = parameters.factors.flatten(0, 1), parameters.order.flatten(0, 1)
    return jitter_(images, plan_jitter(parameters.jitter.flatten(), *numbers))


def _gray(some: Tensor) -> Tensor:
    return luma(some).expand_as(some)


def soften(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Return the images, some blurred and some solarized."""
    images = _change(images, parameters, "blur", blur, parameters.sigma)
    return _change(images, parameters, "solarize", solarize)


def move(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Return the images warped, brightened and noisy, if the parameters include a warp."""
    matrix, brightness, noise = parameters.matrix, parameters.brightness, parameters.noise
    if matrix is None or brightness is None or noise is None:
        return images
    images = warp(images, _sent(matrix.flatten(0, 1), images))
    images.mul_(_sent(brightness.flatten(), images)[:, None, None, None])
    return images.add_(_sent(noise.flatten(0, 1), images)[:, None])


def filtered(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Return the images, some with only the channel L, the others with only a and b."""
    if parameters.keep is None:
        return images
    images = _replace(images, parameters.keep == 1, keep_light)
    return _replace(images, parameters.keep == 2, keep_colour)


def _change(
    images: Tensor,
    parameters: ViewParameters,
    name: str,
    change: Callable[..., Tensor],
    *numbers_VB: Tensor,
) -> Tensor:
    """Return the images with an operation done to those it is on for, if a recipe has it."""
    if name in parameters.never:
        return images
    return _replace(images, getattr(parameters, name), change, *numbers_VB)


def _replace(
    images: Tensor, on_VB: Tensor, change: Callable[..., Tensor], *numbers_VB: Tensor
) -> Tensor:
    """Return the images, those that are on replaced by `change(images, their numbers)`."""
    rows = on_VB.flatten().nonzero()[:, 0]
    if len(rows) == 0:
        return images
    index = _sent(rows, images)
    numbers = [_sent(number.flatten()[rows], images) for number in numbers_VB]
    return images.index_copy_(0, index, change(images.index_select(0, index), *numbers))


def _sent(numbers: Tensor, like: Tensor) -> Tensor:
    return sent(numbers, like.device)
