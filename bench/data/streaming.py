"""Image data sets larger than memory: worker processes decode and crop the files.

Axes: V views, B images of a batch, U random numbers per crop.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, SupportsInt

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from bench.cells.datasets import IMAGENET_MEAN, IMAGENET_STD, WHERE
from bench.data.catalogue import imagenet_folder
from bench.data.decode import centre_crop, read_image
from bench.data.folders import Files, Pixels, class_names, list_files
from bench.data.images import ImageData, fingerprint_of
from bench.errors import DataTorn

Float64s = npt.NDArray[np.float64]
Box = Callable[[Float64s, int, int], tuple[SupportsInt, SupportsInt, SupportsInt, SupportsInt]]


@dataclass(frozen=True, eq=False)
class ImageFiles(ImageData):
    """A data set on disk."""

    train: Files
    test: Files


def load_files(name: str, root: Path) -> ImageFiles:
    """Return the files of imagenet1k or imagenet100; the validation set is the test set.

    Raises:
        DataMissing: a folder is missing.
        DataTorn: classes are missing.
    """
    folder = imagenet_folder(name, root)
    classes = _classes(name, folder)
    train, test = list_files(folder / "train", classes), list_files(folder / "val", classes)
    start = len(folder.as_posix()) + 1
    signatures = (
        f"{path.as_posix()[start:]} {_size_of(path)}".encode() for path in train.paths + test.paths
    )
    return ImageFiles(
        name=name,
        classes=len(classes),
        image_size=224,
        mean=IMAGENET_MEAN,
        std=IMAGENET_STD,
        fingerprint=fingerprint_of(signatures),
        train=train,
        test=test,
    )


def _size_of(path: Path) -> int:
    """Return the bytes of a file.

    Raises:
        DataTorn: it is a pipe or a device, which decoders would wait for, or gone.
    """
    try:
        status = path.stat()
    except OSError as fault:
        raise DataTorn(f"{path}: the file cannot be read ({fault.strerror or fault})") from fault
    if not stat.S_ISREG(status.st_mode):
        raise DataTorn(f"{path}: this is not a regular file")
    return status.st_size


def _classes(name: str, folder: Path) -> list[str]:
    """Return the sorted WordNet ids: those of the folder, or ImageNet-100's as CMC lists them."""
    names = class_names(folder / "train")
    if name == "imagenet1k":
        wanted, count = names, 1000
    else:
        text = (package_files("bench.data") / "imagenet100_classes.txt").read_text("ascii")
        wanted, count = sorted(text.split()), 100
    for part in ("train", "val"):
        have = len(set(wanted) & set(class_names(folder / part)))
        if have != count:
            raise DataTorn(
                f"{folder / part}: the folder has {have} of the {count} classes of {name}. "
                f"Store all classes as {WHERE}."
            )
    return wanted


class _Rows(Dataset[tuple[Tensor, ...] | DataTorn]):
    """Decodes one step at a time; file names as bytes, which forked workers share untouched."""

    def __init__(
        self, files: Sequence[Path], cut: Callable[..., list[Pixels]], side: int | None = None
    ) -> None:
        self.names = np.array([os.fsencode(file) for file in files])
        self.cut, self.side = cut, side  # that the shorter side is resized to

    def __getitem__(self, step: tuple[npt.NDArray[np.int64], Any]) -> tuple[Tensor, ...] | DataTorn:
        """Return V times uint8 (B, 3, S, S); an error is handed over, for workers garble it."""
        rows, numbers = step
        try:
            views = [
                self.cut(read_image(os.fsdecode(self.names[row]), self.side), numbers[:, index])
                for index, row in enumerate(rows)
            ]
        except DataTorn as error:
            return error
        return tuple(torch.from_numpy(np.stack(view)) for view in zip(*views, strict=True))


def _cut(image: Image.Image, numbers: Float64s, *, box: Box, sizes: Sequence[int]) -> list[Pixels]:
    """Return the crops of one image, V times (3, size, size), for numbers (V, U)."""
    crops = []
    for size, numbers_of_crop in zip(sizes, numbers, strict=True):
        top, left, height, width = (
            int(edge) for edge in box(numbers_of_crop, image.height, image.width)
        )
        part = image.crop((left, top, left + width, top + height))
        resized = part.resize((size, size), Image.Resampling.BILINEAR)
        crops.append(np.asarray(resized).transpose(2, 0, 1))
    return crops


def _centre(image: Image.Image, _: object, *, resize: int, size: int) -> list[Pixels]:
    return [np.asarray(centre_crop(image, resize, size)).transpose(2, 0, 1)]


def random_crops(
    files: Sequence[Path],
    sizes: Sequence[int],
    order: Sequence[npt.NDArray[np.int64]] | npt.NDArray[np.int64],
    crops: Callable[[int], Float64s],
    box: Box,
    *,
    workers: int,
    start: int = 0,
) -> Iterator[Sequence[Tensor]]:
    """Yield V tensors uint8 (B, 3, S, S), S from `sizes`, per step of `order` from `start`.

    Crops are resized bilinearly with antialiasing, like torchvision's resized_crop for PIL images.
    The computation uses integers, so every machine gets the same bytes.

    Args:
        files: n images.
        sizes: side of the crops of each view in pixels.
        order: file indices of each step, shape (B,).
        crops: function from a step to random numbers (V, B, U). It is called in this process, in
            order and ahead of the step.
        box: function from (U,) numbers, height and width to a crop (top, left, height, width), in
            pixels. The workers call it.
        workers: number of decoding processes; 0 decodes in this process. The result does not depend
            on it.
        start: the first step of a resumed run.

    Raises:
        DataTorn: a file is not an image.
    """
    steps = ((order[step], crops(step)) for step in range(start, len(order)))
    return _decoded(_Rows(files, partial(_cut, box=box, sizes=sizes)), steps, workers)


def centre_crops(
    files: Sequence[Path], size: int = 224, resize: int = 256, *, workers: int, batch: int = 256
) -> Iterator[Tensor]:
    """Yield central crops of the files in order, uint8 (at most `batch`, 3, size, size).

    First, the shorter side is resized to `resize` pixels, bilinearly with antialiasing.

    Args:
        files: the images.
        size: side of the square in pixels.
        resize: shorter side in pixels before the crop.
        workers: number of decoding processes; 0 decodes in this process.
        batch: maximum number of images per tensor.

    Raises:
        DataTorn: a file is not an image.
    """
    rows = _Rows(files, partial(_centre, resize=resize, size=size), side=resize)
    steps = (np.arange(i, min(i + batch, len(files))) for i in range(0, len(files), batch))
    for (images,) in _decoded(rows, ((row, row[None]) for row in steps), workers):
        yield images


def _decoded(rows: _Rows, steps: Iterable[Any], workers: int) -> Iterator[Sequence[Tensor]]:
    """Yield what the rows hold at each step; the generator keeps torch's global state untouched."""
    loader = DataLoader(
        rows,
        batch_size=None,
        sampler=steps,
        num_workers=workers,
        generator=torch.Generator(),
    )
    for views in loader:
        if isinstance(views, DataTorn):
            raise views
        yield views
