"""What parameters do to images: V * B images (V * B, 3, S, S) in [0, 1] on one device."""

from collections.abc import Callable

import torch
from torch import Tensor

from bench.data.views.colour import jitter_, luma, plan_jitter, solarize
from bench.data.views.geometry import blur, resized_crops, shifted, warp
from bench.data.views.lab import keep_colour, keep_light
from bench.data.views.parameters import ViewParameters


def cut(pixels: Tensor, parameters: ViewParameters, size: int) -> Tensor:
    """Return the crops of uint8 (B, 3, H, W), resized and mirrored."""
    box, flip = parameters.box, parameters.flip
    H, W = pixels.shape[-2:]
    if box is None and (size, size) == (H, W):
        return mirror(pixels.expand(len(flip), *pixels.shape), parameters)
    if box is None:
        box = torch.tensor([0, 0, H, W]).expand(*flip.shape, 4)
    return resized_crops(pixels, _sent(box, pixels), _sent(flip, pixels), size)


def mirror(crops: Tensor, parameters: ViewParameters) -> Tensor:
    """Return uint8 crops (V, B, 3, S, S) as images, some mirrored."""
    images = crops.flatten(0, 1).float().div_(255)
    return _change(images, parameters.flip, lambda some, _: some.flip(-1))


def shift(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Return the images shifted, zeros coming in, if the parameters have that."""
    if parameters.shift is None:
        return images
    return shifted(images, _sent(parameters.shift.flatten(0, 1), images))


def colour(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Jitter some and make some gray, in place, in the order that the parameters say."""
    plan = plan_jitter(
        parameters.jitter.flatten(),
        parameters.factors.flatten(0, 1),
        parameters.order.flatten(0, 1),
    )
    if parameters.grayscale_first:
        _change(images, parameters.grayscale, lambda some, _: luma(some).expand_as(some))
    jitter_(images, plan.to(images.device))
    if not parameters.grayscale_first:
        _change(images, parameters.grayscale, lambda some, _: luma(some).expand_as(some))
    return images


def soften(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Blur some and solarize some, in place."""
    sigma_N = parameters.sigma.flatten()
    _change(images, parameters.blur, lambda some, at: blur(some, _sent(sigma_N[at], some)))
    return _change(images, parameters.solarize, lambda some, _: solarize(some))


def move(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Return the images warped, brightened and made noisy, if the parameters have that."""
    affine = parameters.affine
    if affine is None:
        return images
    images = warp(images, _sent(affine.matrix.flatten(0, 1), images))
    brightness, noise = affine.brightness.flatten(), affine.noise.flatten(0, 1)
    images.mul_(_sent(brightness, images)[:, None, None, None])
    return images.add_(_sent(noise, images)[:, None])


def filtered(images: Tensor, parameters: ViewParameters) -> Tensor:
    """Keep L of some and the colours a and b of others, in place."""
    if parameters.keep is None:
        return images
    _change(images, parameters.keep == 1, lambda some, _: keep_light(some))
    return _change(images, parameters.keep == 2, lambda some, _: keep_colour(some))


def _change(images: Tensor, on_VB: Tensor, change: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Replace the images that are on by `change(images, their indices on the CPU)`, in place."""
    index = on_VB.flatten().nonzero()[:, 0]
    if len(index) == 0:
        return images
    place = _sent(index, images)
    return images.index_copy_(0, place, change(images.index_select(0, place), index))


def _sent(numbers: Tensor, like: Tensor) -> Tensor:
    return numbers.to(like.device, non_blocking=True)
