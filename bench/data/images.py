"""Images in memory: records, statistics, transfer to a device, and the built-in digits.

Axes: n images, 3 channels, H rows, W columns.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from bench.cells.datasets import Triple
from bench.data.streams import Purpose, stream

DIGITS_SEED = 1797  # of the split of `digits`, the same for every cell


@dataclass(frozen=True, eq=False)
class Split:
    """Images on one device: pixels uint8 (n, 3, H, W), labels int64 (n,), -1 = unlabelled."""

    pixels: Tensor
    labels: Tensor

    def to(self, device: torch.device | str) -> "Split":
        """Return the same images on another device."""
        return Split(self.pixels.to(device), self.labels.to(device))

    def of(self, rows: Tensor) -> "Split":
        """Return the images at these indices or of this bool mask."""
        return Split(self.pixels[rows], self.labels[rows])


@dataclass(frozen=True, eq=False)
class ImageData:
    """A data set; mean and std are per channel, for pixels in [0, 1]."""

    name: str
    classes: int  # 0: no image has a label
    image_size: int  # pixels a side, as stored, or on disk as it is trained on
    mean: Triple
    std: Triple
    fingerprint: str  # 16 hex digits, over what is in memory, or names and sizes of files


@dataclass(frozen=True, eq=False)
class Images(ImageData):
    """A data set in memory."""

    train: Split
    test: Split
    unlabeled: Split | None = None


def sent(numbers: Tensor, device: torch.device) -> Tensor:
    """Return the tensor on a device, copied asynchronously from pinned memory to a GPU.

    A tensor on the device is returned unchanged.
    """
    if device.type == "cuda" and numbers.device.type == "cpu":
        numbers = numbers.pin_memory()
    return numbers.to(device, non_blocking=True)


def fingerprint_of(parts: Iterable[bytes]) -> str:
    """Return 16 hexadecimal digits that identify the parts and their boundaries."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:16]


def channel_statistics(pixels: Tensor) -> tuple[Triple, Triple]:
    """Return mean and population std of each channel of uint8 (n, 3, H, W), scaled to [0, 1].

    They are computed from exact counts, so the order of summation has no effect.
    """
    levels = np.arange(256) / 255
    moments = []
    for channel in range(3):
        counts = torch.bincount(pixels[:, channel].flatten(), minlength=256).numpy()
        mean = float(counts @ levels / counts.sum())
        moments.append((mean, float(np.sqrt(counts @ (levels - mean) ** 2 / counts.sum()))))
    (r, r_std), (g, g_std), (b, b_std) = moments
    return (r, g, b), (r_std, g_std, b_std)


@cache
def load_digits() -> Images:
    """Return scikit-learn's 1797 digits (8x8, levels 0 to 16) as 16x16 RGB images.

    Levels are scaled to 0 to 255 and copied to all channels. Images are resized bilinearly with
    aligned pixel centres. Each step rounds to integers. A quarter of each class is the test set.
    """
    from sklearn.datasets import load_digits as load  # slow to import

    bunch = load()
    grey = torch.from_numpy(bunch.images * 255 / 16).round().float()[:, None]
    large = torch.nn.functional.interpolate(grey, size=(16, 16), mode="bilinear").round()
    pixels = large.to(torch.uint8).repeat(1, 3, 1, 1)
    labels = torch.from_numpy(bunch.target.astype(np.int64))
    drawn = share_of_each_class(bunch.target, 1 / 4, stream(DIGITS_SEED, Purpose.DATA))
    held_out, everything = torch.from_numpy(drawn), Split(pixels, labels)
    train, test = everything.of(~held_out), everything.of(held_out)
    mean, std = channel_statistics(train.pixels)
    tensors = (train.pixels, train.labels, test.pixels, test.labels)
    fingerprint = fingerprint_of(tensor.numpy().tobytes() for tensor in tensors)
    return Images("digits", 10, 16, mean, std, fingerprint, train, test)


def share_of_each_class(
    labels: np.ndarray[tuple[int], np.dtype[np.int64]],
    share: float,
    generator: np.random.Generator,
    at_least: int = 0,
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a mask of a random share of each class; images without a label (-1) are not in it.

    It uses the generator's raw bits, which NumPy guarantees to stay the same. With equal
    generators, a larger share contains a smaller one.

    Args:
        labels: class of each image, -1 for none, shape (images,).
        share: share of each class, 0 to 1.
        generator: source of randomness.
        at_least: minimum number of images per class.
    """
    keys = generator.bit_generator.random_raw(len(labels))
    taken = np.zeros(len(labels), dtype=np.bool_)
    for label in np.unique(labels[labels >= 0]):
        rows = np.flatnonzero(labels == label)
        count = max(at_least, round(share * len(rows)))
        taken[rows[np.argsort(keys[rows])][:count]] = True
    return taken
