"""Sources of images for training and evaluation: in memory on the device, or streamed from disk.

A source yields batches of views from its training or test part, and the unaugmented images for
feature extraction. Shapes: B images of a batch, H x W pixels.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from bench.cells.axes import NOWHERE
from bench.cells.baseline import Baseline
from bench.cells.datasets import Triple, streams
from bench.cells.pretrain import Pretrain
from bench.cells.supervised import Supervised
from bench.cells.view_recipes import Warp
from bench.data.catalogue import Part
from bench.data.images import Images, Split, sent
from bench.data.labelled import Rows
from bench.data.load import load_images, with_held_out
from bench.data.streaming import ImageFiles, centre_crops, load_files, random_crops
from bench.data.streams import Purpose, stream
from bench.data.views import Views, crop_box, make_views, resized, scaled_lab
from bench.data.views.views import warped
from bench.environment import cores
from bench.errors import DataFailure


def at_size(values: Tensor, size: int) -> Tensor:
    """Return images (B, 3, H, W) in [0, 1] as (B, 3, size, size), resized if needed."""
    if values.shape[-2:] == (size, size):
        return values
    shown = nn.functional.interpolate(values, (size, size), mode="bilinear", antialias=True)
    return shown.clamp(0, 1)


def normalised(
    colour: str, of_mean: Triple, of_std: Triple, device: torch.device | str
) -> Callable[[Tensor], Tensor]:
    """Return the function that normalises pixels in [0, 1] for an encoder.

    With colour "rgb", each channel gets mean 0 and variance 1. With "lab", the function is
    `scaled_lab` for every data set.

    Args:
        colour: "rgb" or "lab".
        of_mean: mean of each channel of the data set.
        of_std: standard deviation of each channel of the data set.
        device: device of the pixels.
    """
    if colour == "lab":
        return lambda pixels: scaled_lab(pixels).contiguous(memory_format=torch.channels_last)
    shape = (1, 3, 1, 1)
    mean = torch.tensor(of_mean, device=device).view(shape)
    scale = 1 / torch.tensor(of_std, device=device).view(shape)

    def normalise(pixels: Tensor) -> Tensor:
        return ((pixels - mean) * scale).contiguous(memory_format=torch.channels_last)

    return normalise


Streams = Callable[[int], np.random.Generator]  # of a step
EVERY = slice(None)  # of a batch's rows
EVALUATED_AT_ONCE = 512
SHORTER_SIDE = 256 / 224  # of an image on disk, before its centre is taken, in sides of the crop


class Meta(NamedTuple):
    """Properties of a data set, independent of where its images are."""

    classes: int  # 0: no image has a label
    fingerprint: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


ImageCell = Pretrain | Supervised
"""A cell that trains on batches of images."""
WithImages = ImageCell | Baseline
"""A cell that has images."""


class ImageSource(Protocol):
    """A source of a cell's images."""

    meta: Meta
    labels: dict[Part, Tensor]  # int64, -1 = unlabelled
    views: Views  # that `pairs` gives
    normalise: Callable[[Tensor], Tensor]  # from pixels in [0, 1]

    def pairs(
        self, part: Part, order: Sequence[Rows], draw: Streams, start: int = 0, share: slice = EVERY
    ) -> Iterator[tuple[Tensor, ...]]:
        """Yield V views of this process's share of each step's rows, from step `start`.

        Views are normalised float32 (B, 3, S, S) on the device. They do not depend on the share,
        because parameters are drawn for all rows.

        Args:
            part: part with the images.
            order: image indices of each step's batch, from step 0.
            draw: function that returns the random generator of a step's views.
            start: the first step to yield.
            share: share of a batch that this process gets.
        """

    def plain(self, part: Part) -> Iterator[Tensor]:
        """Yield the labelled images unaugmented, normalised (B, 3, size, size), in order."""

    def warped(self, by: Warp) -> Iterator[Tensor]:
        """Yield the labelled test images, all once per random warp, like `plain`."""


class InMemory:
    """Images stored on the device as uint8 and processed there."""

    def __init__(self, cell: WithImages, images: Images, device: str) -> None:
        """Move the images to the device.

        Raises:
            DataFailure: fewer images than the cell asks for, or than one step takes.
        """
        self.meta = Meta(images.classes, images.fingerprint, images.mean, images.std)
        train, test = chosen_split(cell, images).to(device), images.test.to(device)
        self.parts = {"train": train, "test": test}
        self.labels: dict[Part, Tensor] = {"train": train.labels, "test": test.labels}
        self.views = views_of(cell)
        self.size = cell.image_size
        self.normalise = normalised(cell.colour, images.mean, images.std, device)
        self.resized_to = cell.resized_to

    def pairs(
        self, part: Part, order: Sequence[Rows], draw: Streams, start: int = 0, share: slice = EVERY
    ) -> Iterator[tuple[Tensor, ...]]:
        """Yield views like `ImageSource.pairs`."""
        pixels, side = self.parts[part].pixels, self.resized_to
        height, width = (side, side) if side else pixels.shape[-2:]
        for step in range(start, len(order)):
            drawn = self.views.draw(draw(step), len(order[step]), height, width)
            images = pixels[sent(torch.from_numpy(order[step][share]), pixels.device)]
            images = resized(images, side) if side else images
            yield tuple(map(self.normalise, self.views.apply(images, drawn.rows(share))))

    def plain(self, part: Part) -> Iterator[Tensor]:
        """Yield images like `ImageSource.plain`, resized to the views' size if needed."""
        yield from map(self.normalise, self._resized(part))

    def warped(self, by: Warp) -> Iterator[Tensor]:
        """Yield images like `ImageSource.warped`, with black pixels outside the image."""
        images = int((self.labels["test"] >= 0).sum())
        yield from map(self.normalise, warped(lambda: self._resized("test"), images, by))

    def _resized(self, part: Part) -> Iterator[Tensor]:
        """Yield the labelled images, float32 in [0, 1]."""
        split = self.parts[part]
        for pixels in split.pixels[split.labels >= 0].split(EVALUATED_AT_ONCE):
            yield at_size(pixels.float() / 255, self.size)


class OnDisk:
    """Images that worker processes decode and crop; other operations run on the device."""

    def __init__(self, cell: WithImages, files: ImageFiles, device: str) -> None:
        """List the files.

        Raises:
            DataFailure: fewer images than the cell asks for, or than one step takes, or images are
                to be resized before they are cropped.
        """
        if cell.resized_to is not None:
            raise DataFailure(
                f"resized_to {cell.resized_to} can be used only with a data set that fits in memory"
            )
        self.meta = Meta(files.classes, files.fingerprint, files.mean, files.std)
        if cell.pretrain_on != "train":
            raise DataFailure(
                f"{files.name} has no unlabelled images, so pretrain_on must be 'train'"
            )
        rows = chosen_rows(cell, len(files.train.paths))
        self.paths = {
            "train": [files.train.paths[row] for row in rows],
            "test": list(files.test.paths),
        }
        self.labels: dict[Part, Tensor] = {
            "train": files.train.labels[torch.from_numpy(rows)].to(device),
            "test": files.test.labels.to(device),
        }
        self.views = views_of(cell)
        self.size = cell.image_size
        self.normalise = normalised(cell.colour, files.mean, files.std, device)
        self.device, self.workers = device, cores()

    def pairs(
        self, part: Part, order: Sequence[Rows], draw: Streams, start: int = 0, share: slice = EVERY
    ) -> Iterator[tuple[Tensor, ...]]:
        """Yield views like `ImageSource.pairs`; only the share is decoded."""
        views = self.views

        def crops(step: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
            return views.crop_numbers(draw(step), len(order[step]))[:, share]

        shown = [rows[share] for rows in order]
        cropped = random_crops(
            self.paths[part], views.sizes, shown, crops, crop_box, workers=self.workers, start=start
        )
        for step, crops_of in enumerate(cropped, start):
            drawn = views.draw(draw(step), len(order[step]), self.size, self.size)
            parameters = drawn.rows(share)
            there = [sent(crop, torch.device(self.device)) for crop in crops_of]
            yield tuple(map(self.normalise, views.apply(None, parameters, cropped=there)))

    def plain(self, part: Part) -> Iterator[Tensor]:
        """Yield images like `ImageSource.plain`, resized on the shorter side and centre-cropped."""
        resize = round(self.size * SHORTER_SIDE)
        for pixels in centre_crops(self.paths[part], self.size, resize, workers=self.workers):
            yield self.normalise(pixels.to(self.device).float() / 255)

    def warped(self, by: Warp) -> Iterator[Tensor]:
        """Raise a DataFailure: warps need images in memory."""
        raise DataFailure(
            f"{by.draws} random warps per test image can be used only with a data set that fits "
            "in memory"
        )


def views_of(cell: WithImages) -> Views:
    """Return the cell's views: all of its set, or only the first.

    Raises:
        DataFailure: the set does not allow the strength or local size.
    """
    try:
        views = make_views(
            cell.views,
            size=cell.image_size,
            strength=cell.view_strength,
            local_size=cell.local_size,
        )
    except ValueError as error:
        raise DataFailure(str(error)) from error
    return views.first() if cell.one_view else views


def open_source(cell: WithImages, root: Path, device: str) -> ImageSource:
    """Return the cell's image source.

    Args:
        cell: cell that defines the data set and the images to use.
        root: the folder of data sets.
        device: device of the images.

    Raises:
        DataError: the data set is missing or damaged.
        DataFailure: the data set is too small for the cell.
    """
    if streams(cell.dataset):
        files = load_files(cell.dataset, root)
        if cell.held_out is not None:
            files = with_held_out(files, cell.held_out)
        return OnDisk(cell, files, device)
    images = load_images(cell.dataset, root)
    if cell.held_out is not None:
        images = with_held_out(images, cell.held_out)
    return InMemory(cell, images, device)


def evaluated_source(cell: Pretrain, training: ImageSource, root: Path, device: str) -> ImageSource:
    """Return the image source of evaluations: the training's, or another data set.

    Images of another data set are normalised with the statistics of the training images.

    Args:
        cell: cell that names the other data set.
        training: the image source of the training.
        root: the folder of data sets.
        device: device of the images.

    Raises:
        DataError, DataFailure: as for `open_source`.
    """
    if cell.evaluated_on in (None, NOWHERE):
        return training
    every = {"dataset": cell.evaluated_on, "train_images": None, "pretrain_on": "train", "N": 1}
    source = open_source(cell.model_copy(update=every), root, device)
    source.normalise = training.normalise
    return source


def chosen_split(cell: WithImages, images: Images) -> Split:
    """Return the images to train on.

    Raises:
        DataFailure: there are fewer images than requested, or than one step needs.
    """
    split = images.train
    if cell.pretrain_on == "train+unlabeled":
        if images.unlabeled is None:
            raise DataFailure(
                f"{images.name} has no unlabelled images, so pretrain_on must be 'train'"
            )
        more = images.unlabeled
        split = Split(
            torch.cat([split.pixels, more.pixels]), torch.cat([split.labels, more.labels])
        )
    rows = torch.from_numpy(chosen_rows(cell, len(split.labels)))
    return split if len(rows) == len(split.labels) else split.of(rows)


def chosen_rows(cell: WithImages, there: int) -> Rows:
    """Return the indices to train on, in order: all, or the first of a random order.

    Raises:
        DataFailure: there are fewer images than requested, or than one step needs.
    """
    wanted = there if cell.train_images is None else cell.train_images
    if wanted > there:
        raise DataFailure(f"train_images is {wanted}, but there are only {there} training images")
    if wanted < cell.N:
        raise DataFailure(
            f"a step needs N = {cell.N} images, but there are only {wanted} training images"
        )
    if wanted == there:
        return np.arange(there)
    return np.sort(stream(0, Purpose.DATA, wanted).permutation(there)[:wanted])
