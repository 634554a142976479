"""Time both views of a batch against torchvision's transforms, image by image, on one thread.

The peer is what one would write in a loader's worker: the recipe as `torchvision.transforms.v2` on
each uint8 tensor, twice, then a stack; no process start, no copy between processes is counted.

    python -m benchmarks.views [--repeats 5]
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torchvision.transforms import v2

from bench.cells.view_recipes import Recipe, recipes_of
from bench.data.views import make_views
from bench.data.views.geometry import blur_kernel

SETS = ("simclr", "simclr-cifar", "moco-v1", "moco-v2", "byol", "affine")
SHAPES = ((32, 256), (16, 64))


def transform(recipe: Recipe, size: int) -> v2.Transform:
    """Return a recipe as torchvision has it."""
    if recipe.affine:
        return v2.Compose(
            [
                v2.ToDtype(torch.float32, scale=True),
                v2.RandomAffine(
                    20, (0.15, 0.15), (0.7, 1.2), 11.3, interpolation=v2.InterpolationMode.BILINEAR
                ),
                v2.ColorJitter(brightness=0.3),
                v2.GaussianNoise(sigma=0.1),
            ]
        )
    gray = v2.RandomGrayscale(recipe.grayscale)
    jitter = v2.RandomApply([v2.ColorJitter(*recipe.jitter)], recipe.jitter_p)
    blur = v2.GaussianBlur(blur_kernel(size), recipe.blur_sigma)
    assert recipe.crop is not None
    return v2.Compose(
        [
            v2.RandomResizedCrop(size, scale=recipe.crop, antialias=True),
            v2.RandomHorizontalFlip(recipe.flip),
            *((gray, jitter) if recipe.grayscale_first else (jitter, gray)),
            *([v2.RandomApply([blur], recipe.blur)] if recipe.blur else []),
            *([v2.RandomSolarize(128, recipe.solarize)] if recipe.solarize else []),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )


def peer(name: str, pixels: Tensor) -> Callable[[], object]:
    """Return both views of a batch, image by image."""
    both = [transform(recipe, pixels.shape[-1]) for recipe in recipes_of(name, 1.0)]
    return lambda: [torch.stack([one(image) for image in pixels]) for one in both]


def batched(name: str, pixels: Tensor) -> Callable[[], object]:
    """Return both views of a batch as `bench` makes them, drawing included."""
    views, rng = make_views(name, size=pixels.shape[-1]), np.random.default_rng(0)
    shape = (len(pixels), *pixels.shape[2:])
    return lambda: views.apply(pixels, views.draw(rng, *shape))


def timed(step: Callable[[], object]) -> float:
    """Return the time of one call in milliseconds."""
    began = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - began)


def main() -> None:
    """Print one line a set and shape; times are the best of the repeats, taken in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    print(f"{'views':<13} {'size':>4} {'batch':>5} {'ms':>7} {'torchvision ms':>14} {'ratio':>6}")
    for size, batch in SHAPES:
        generator = torch.Generator().manual_seed(0)
        pixels = torch.randint(
            0, 256, (batch, 3, size, size), generator=generator, dtype=torch.uint8
        )
        for name in SETS:
            mine, theirs = batched(name, pixels), peer(name, pixels)
            timed(mine), timed(theirs)
            ours, peers = float("inf"), float("inf")
            for _ in range(repeats):
                ours = min(ours, *(timed(mine) for _ in range(10)))
                peers = min(peers, timed(theirs))
            print(f"{name:<13} {size:4d} {batch:5d} {ours:7.2f} {peers:14.2f} {peers / ours:6.1f}")


if __name__ == "__main__":
    main()
