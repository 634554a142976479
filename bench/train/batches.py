"""Batches of views, reproducible from seed, epoch and index."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.data.images import sent
from bench.data.labelled import Rows
from bench.data.streams import Purpose, stream
from bench.data.views import CutMix, draw_cutmix
from bench.train.sources import EVERY, ImageCell, ImageSource


class DrawnBy(NamedTuple):
    """Settings for drawing batches, instead of a cell."""

    seed: int  # of the order and of the views
    batch_size: int  # images encoded together
    N: int  # images of a step
    cutmix: bool = False  # whether images are mixed


class Batch(NamedTuple):
    """Normalised views of some images, (N, 3, H, W) each, with image indices and labels.

    With several ranks, views cover only this rank's rows; everything else covers all rows.
    """

    views: tuple[Tensor, ...]
    labels: Tensor
    rows: Tensor
    mixes: tuple[CutMix, ...]  # one a view, where the cell mixes images


class Batches:
    """The training images of a source, in a new random order each epoch."""

    def __init__(
        self,
        cell: ImageCell | DrawnBy,
        source: ImageSource,
        share: slice = EVERY,
        rows: Rows | None = None,
    ) -> None:
        """Drop what does not fill a last step of N queries, as the field does.

        Args:
            cell: what is shown.
            source: the images.
            share: the rows of each batch whose views are made here.
            rows: the training images that are shown; None: all of them.
        """
        self.cell, self.source, self.share, self.rows = cell, source, share, rows
        self.labels = source.labels["train"]
        if rows is not None:
            self.labels = self.labels[torch.from_numpy(rows).to(self.labels.device)]
        self.per_epoch = len(self.labels) // cell.N * (cell.N // cell.batch_size)
        self._next: tuple[int, int] | None = None
        self._order: list[Rows] = []
        self._pairs: Iterator[tuple[Tensor, ...]] = iter(())

    def batch(self, epoch: int, index: int) -> Batch:
        """Return one batch of an epoch, independent of earlier calls; the next is prefetched."""
        if self._next != (epoch, index):
            self._begin(epoch, index)
        self._next = (epoch, index + 1)
        rows = sent(torch.from_numpy(self._order[index]), self.labels.device)
        views = next(self._pairs)
        return Batch(views, self.labels[rows], rows, self.mixes(epoch, index))

    def mixes(self, epoch: int, index: int) -> tuple[CutMix, ...]:
        """Return the CutMix parameters of each view of a batch; empty if the cell does not mix."""
        if not self.cell.cutmix:
            return ()
        draw = stream(self.cell.seed, Purpose.VIEWS, epoch, index, 1)
        batch = self.cell.batch_size
        return tuple(draw_cutmix(draw, batch, size) for size in self.source.views.sizes)

    def order(self, epoch: int) -> list[Rows]:
        """Return the image indices of each batch of an epoch."""
        order = stream(self.cell.seed, Purpose.ORDER, epoch).permutation(len(self.labels))
        return list(np.split(order[: self.per_epoch * self.cell.batch_size], self.per_epoch))

    def _begin(self, epoch: int, index: int) -> None:
        self._order = self.order(epoch)
        draw, shown = partial(stream, self.cell.seed, Purpose.VIEWS, epoch), self._order
        if self.rows is not None:
            shown = [self.rows[places] for places in shown]
        self._pairs = self.source.pairs("train", shown, draw, index, self.share)
