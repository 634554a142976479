"""One view of one image, by torchvision's functional transforms, one after the other."""

import math

import torch
from torch import Tensor
from torchvision.transforms.v2 import functional

from bench.data.views import ViewParameters, Views, make_views

JITTER = [
    functional.adjust_brightness,
    functional.adjust_contrast,
    functional.adjust_saturation,
    functional.adjust_hue,
]


def views_named(name: str, size: int) -> Views:
    """Return a set by its name, its local views of half the size."""
    return make_views(name, size=size, local_size=size // 2 if name == "multi-crop" else None)


def jittered(image: Tensor, order: Tensor, factors: Tensor) -> Tensor:
    for op in order.tolist():
        image = JITTER[op](image, factors[op].item())
    return image


def random_pixels(*shape: int, seed: int = 0) -> Tensor:
    """Return uint8 noise with runs of gray, black, white and pure red among it."""
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    pixels[..., 0, :, :2] = pixels[..., 1, :, :2] = pixels[..., 2, :, :2]
    pixels[..., :, 0, 2:4] = 0
    pixels[..., :, 1, 2:4] = 255
    pixels[..., 1:, 2, 2:4] = 0
    return pixels


def kernel_size(size: int) -> int:
    """SimCLR's released code: a tenth, halved down, twice that and one; here at least 3."""
    return max(3, 2 * math.floor(size / 10 / 2) + 1)


def one_view(pixels: Tensor, p: ViewParameters, view: int, n: int, size: int) -> Tensor:
    """Return view `view` of image `n` (3, H, W) in float32, all but affine and Lab."""
    image: Tensor = functional.to_dtype(pixels, torch.float32, scale=True)
    if p.box is not None:
        box = p.box[view, n].tolist()
        image = functional.resized_crop(image, *box, size=[size, size], antialias=True)
    elif image.shape[-2:] != (size, size):
        image = functional.resize(image, [size, size], antialias=True)
    if p.flip[view, n]:
        image = functional.horizontal_flip(image)
    if p.shift is not None:
        (down, right), most = p.shift[view, n].tolist(), size // 8
        image = functional.pad(image, [most] * 4)
        image = functional.crop(image, most - down, most - right, size, size)
    if p.grayscale[view, n] and p.grayscale_first:
        image = functional.rgb_to_grayscale(image, 3)
    if p.jitter[view, n]:
        image = jittered(image, p.order[view, n], p.factors[view, n])
    if p.grayscale[view, n] and not p.grayscale_first:
        image = functional.rgb_to_grayscale(image, 3)
    if p.blur[view, n]:
        sigma = p.sigma[view, n].item()
        image = functional.gaussian_blur(image, [kernel_size(size)] * 2, [sigma, sigma])
    if p.solarize[view, n]:
        image = functional.solarize(image, 0.5)
    return image
