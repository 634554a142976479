"""Batches of views, the same whenever they are asked for: keyed by seed, epoch and place."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from bench.config.pretrain import Pretrain
from bench.data.images import Images, Split
from bench.data.streams import Purpose, stream
from bench.data.views import make_views
from bench.errors import DataFailure


class Batch(NamedTuple):
    """Two views of some images, normalised, (N, 3, H, W) each, and the images' labels."""

    views: tuple[Tensor, Tensor]
    labels: Tensor


class Batches(Protocol):
    """Where batches come from."""

    per_epoch: int

    def batch(self, epoch: int, place: int) -> Batch:
        """Return one batch of an epoch, whatever was asked before."""


class DeviceBatches:
    """Batches of images that live on the device as uint8; views are made there."""

    def __init__(self, cell: Pretrain, split: Split, normalise: Callable[[Tensor], Tensor]) -> None:
        """Drop what does not fill a last step of N queries, as the field does."""
        self.cell, self.split, self.normalise = cell, split, normalise
        self.views = make_views(cell.views, size=cell.image_size, strength=cell.view_strength)
        self.per_epoch = len(split.labels) // cell.N * (cell.N // cell.batch_size)
        self._order: tuple[int, np.ndarray] | None = None

    def batch(self, epoch: int, place: int) -> Batch:
        """See `Batches`."""
        size = self.cell.batch_size
        rows = self._rows(epoch)[place * size : (place + 1) * size]
        rows_on_device = torch.from_numpy(rows).to(self.split.labels.device)
        pixels = self.split.pixels[rows_on_device]
        draw = stream(self.cell.seed, Purpose.VIEWS, epoch, place)
        parameters = self.views.draw(draw, size, pixels.shape[-2], pixels.shape[-1])
        a, b = self.views.apply(pixels, parameters)
        return Batch((self.normalise(a), self.normalise(b)), self.split.labels[rows_on_device])

    def _rows(self, epoch: int) -> np.ndarray:
        if self._order is None or self._order[0] != epoch:
            draw = stream(self.cell.seed, Purpose.ORDER, epoch)
            self._order = (epoch, draw.permutation(len(self.split.labels)))
        return self._order[1]


def normaliser(images: Images, device: str) -> Callable[[Tensor], Tensor]:
    """Return the function that takes pixels in [0, 1] to mean 0 and variance 1 a channel."""
    shape = (1, 3, 1, 1)
    mean = torch.tensor(images.mean, device=device).view(shape)
    scale = 1 / torch.tensor(images.std, device=device).view(shape)

    def normalise(pixels: Tensor) -> Tensor:
        return ((pixels - mean) * scale).contiguous(memory_format=torch.channels_last)

    return normalise


def chosen_split(cell: Pretrain, images: Images) -> Split:
    """Return the images to train on: labels are -1 where there are none.

    Raises:
        DataFailure: fewer images than asked for, or than one step takes.
    """
    split = images.train
    if cell.pretrain_on == "train+unlabeled":
        if images.unlabeled is None:
            raise DataFailure(f"{images.name} has no unlabelled images: pretrain_on must be train")
        more = images.unlabeled
        split = Split(
            torch.cat([split.pixels, more.pixels]), torch.cat([split.labels, more.labels])
        )
    if cell.train_images is not None:
        if cell.train_images > len(split.labels):
            raise DataFailure(f"train_images {cell.train_images}: there are {len(split.labels)}")
        order = stream(0, Purpose.DATA, cell.train_images).permutation(len(split.labels))
        rows = torch.from_numpy(np.sort(order[: cell.train_images]))
        split = Split(split.pixels[rows], split.labels[rows])
    if len(split.labels) < cell.N:
        raise DataFailure(f"a step takes N = {cell.N} images, but there are {len(split.labels)}")
    return split
