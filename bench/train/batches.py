"""Batches of views, the same whenever they are asked for: keyed by seed, epoch and place."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.data.sending import sent
from bench.data.streams import Purpose, stream
from bench.data.views import CutMix, draw_cutmix
from bench.train.sources import EVERY, Rows, Shown, Source


class Batch(NamedTuple):
    """Views of some images, normalised, (N, 3, H, W) each; which images, and their labels.

    On several ranks the views are those of this rank's rows, everything else is of all of them.
    """

    views: tuple[Tensor, ...]
    labels: Tensor
    rows: Tensor
    mixes: tuple[CutMix, ...]  # one a view, where the cell mixes images


class Batches:
    """The training images of a source, in a new random order each epoch."""

    def __init__(self, cell: Shown, source: Source, share: slice = EVERY) -> None:
        """Drop what does not fill a last step of N queries, as the field does.

        Args:
            cell: what is shown.
            source: the images.
            share: the rows of each batch whose views are made here.
        """
        self.cell, self.source, self.share = cell, source, share
        self.labels = source.labels["train"]
        self.per_epoch = len(self.labels) // cell.N * (cell.N // cell.batch_size)
        self._next: tuple[int, int] | None = None
        self._order: list[Rows] = []
        self._pairs: Iterator[tuple[Tensor, ...]] = iter(())

    def batch(self, epoch: int, place: int) -> Batch:
        """Return one batch of an epoch, whatever was asked before; the next one is at hand."""
        if self._next != (epoch, place):
            self._begin(epoch, place)
        self._next = (epoch, place + 1)
        rows = sent(torch.from_numpy(self._order[place]), self.labels.device)
        views = next(self._pairs)
        return Batch(views, self.labels[rows], rows, self._mixes(views, epoch, place))

    def _mixes(self, views: tuple[Tensor, ...], epoch: int, place: int) -> tuple[CutMix, ...]:
        if not self.cell.cutmix:
            return ()
        draw = stream(self.cell.seed, Purpose.VIEWS, epoch, place, 1)
        size = self.cell.batch_size
        return tuple(draw_cutmix(draw, size, view.shape[-1]) for view in views)

    def _begin(self, epoch: int, place: int) -> None:
        seed, size = self.cell.seed, self.cell.batch_size
        order = stream(seed, Purpose.ORDER, epoch).permutation(len(self.labels))
        self._order = list(np.split(order[: self.per_epoch * size], self.per_epoch))

        def draw(step: int) -> np.random.Generator:
            return stream(seed, Purpose.VIEWS, epoch, step)

        self._pairs = self.source.pairs("train", self._order, draw, place, self.share)
