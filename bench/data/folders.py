"""Image folders `<root>/<name>/train/<class>/*` and `test` (or `val`), loaded into memory."""

import os
import uuid
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bench.data.catalogue import check_folder, held_out_folder, is_image, unlabelled_images
from bench.data.decode import centre_crop, is_deep_grey, opened, read_image
from bench.data.images import Images, Split, channel_statistics, fingerprint_of
from bench.errors import DataError, DataMissing, DataTorn, StoreError
from bench.files.regular import PIECE_BYTES, check_regular

LARGEST = 2 * 10**9  # bytes of pixels that one process keeps in memory
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Files:
    """Images on disk and their labels, int64 (n,); labels are indices of sorted class names."""

    paths: list[Path]
    labels: Tensor

    def of(self, taken: Tensor) -> "Files":
        """Return the images selected by a bool mask of shape (n,)."""
        paths = [path for path, kept in zip(self.paths, taken.tolist(), strict=True) if kept]
        return Files(paths, self.labels[taken])


def list_files(folder: Path, classes: Sequence[str]) -> Files:
    """Return the images of `<folder>/<class>/`, sorted by class and name, without hidden files.

    Raises:
        DataMissing: there are no images.
    """
    paths: list[Path] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        class_folder = folder / name
        with _read_failures(class_folder):
            names = sorted(os.listdir(class_folder)) if class_folder.is_dir() else []
        kept = [name for name in names if is_image(name)]
        paths.extend(class_folder / n for n in kept)
        labels.extend([label] * len(kept))
    if not paths:
        raise DataMissing(
            f"{folder}: the folder has no images. Put images there as <class>/*.jpg (png, webp)."
        )
    return Files(paths, torch.tensor(labels))


def class_names(folder: Path) -> list[str]:
    """Return the sorted names of subfolders, except hidden ones."""
    with _read_failures(folder), os.scandir(folder) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))


def load_folder(name: str, root: Path) -> Images:
    """Return the data set `folder:<name>` below `root`; decoded images are cached.

    Without class folders, images have no labels and there is no test part. All images become
    squares. Their side is the most common shorter side, or the smallest of several. Other images
    are resized to it on their shorter side and cropped at the centre.

    Raises:
        DataMissing: a part has no images.
        DataTorn: a file is not an image.
        DataError: a class is in one part only, or the data set is too large for memory.
    """
    check_folder(name, root)
    folder, title = root / name, f"folder:{name}"
    train, test, classes = _list_both(folder)
    paths = train.paths + test.paths
    fingerprint = fingerprint_of(_signatures(title, folder, paths))
    cache = root / ".cache" / f"{name}-{fingerprint}.npz"
    array = _read_cache(cache, len(paths))
    if array is None:
        array = _decode(title, paths)
        _write_cache(cache, array)
    pixels = torch.from_numpy(array)
    mean, std = channel_statistics(pixels[: len(train.paths)])
    return Images(
        name=title,
        classes=classes,
        image_size=pixels.shape[-1],
        mean=mean,
        std=std,
        fingerprint=fingerprint,
        train=Split(pixels[: len(train.paths)], train.labels),
        test=Split(pixels[len(train.paths) :], test.labels),
    )


def _list_both(folder: Path) -> tuple[Files, Files, int]:
    """Return the files of both parts and the number of classes; 0: the images have none."""
    trained, held_out = folder / "train", held_out_folder(folder)
    if (home := unlabelled_images(folder)) is not None:
        if held_out.is_dir() and class_names(held_out):
            raise DataError(
                f"{held_out}: this folder has classes, but the training images in {home} have "
                "none. Move the labelled images to a data set folder of their own, with train and "
                "test, and name this new folder under evaluated_on"
            )
        every = list_files(home, [""])
        unlabelled = Files(every.paths, torch.full_like(every.labels, -1))
        return unlabelled, unlabelled.of(torch.zeros(len(every.paths), dtype=torch.bool)), 0
    classes = class_names(trained)
    for unknown in sorted(set(class_names(held_out)) - set(classes)):
        raise DataError(f"{held_out / unknown}: {trained} has no folder for this class")
    train, test = list_files(trained, classes), list_files(held_out, classes)
    for part, files in ((trained, train), (held_out, test)):
        for empty in sorted(set(range(len(classes))) - set(files.labels.tolist())):
            raise DataError(f"{part / classes[empty]}: the folder of this class has no images")
    return train, test, len(classes)


def _signatures(title: str, folder: Path, paths: list[Path]) -> Iterator[bytes]:
    """Yield path below the folder, size and CRC-32 of each file: equal on every machine.

    Images of 16 bits of grey are marked, for earlier versions of this code read them as white.
    """
    total, start = 0, len(folder.as_posix()) + 1
    for path in paths:
        size, crc, mark = 0, 0, ""
        with _read_failures(path):
            if not check_regular(path, LARGEST):
                raise DataTorn(f"{path}: this file no longer exists")
            with path.open("rb") as file:
                while piece := file.read(PIECE_BYTES):
                    mark = " 16 bits" if size == 0 and is_deep_grey(piece) else mark
                    size, crc = size + len(piece), zlib.crc32(piece, crc)
            total += size
            _check_size(title, total)  # before terabytes are read
            yield f"{path.as_posix()[start:]} {size} {crc}{mark}".encode()


@contextmanager
def _read_failures(path: Path) -> Iterator[None]:
    """Turn what the system says of a file or its name into one line with its path."""
    try:
        yield
    except StoreError as fault:
        raise DataTorn(str(fault)) from fault
    except OSError as fault:
        raise DataTorn(
            f"{path}: this file or folder cannot be read ({fault.strerror or fault})"
        ) from fault
    except UnicodeError as fault:
        raise DataTorn(
            f"{ascii(str(path))[1:-1]}: the name of this file is not valid UTF-8"
        ) from fault


def _check_size(title: str, size: int) -> None:
    if size > LARGEST:
        raise DataError(
            f"{title}: the images take more than the {LARGEST / 1000000000.0:g} GB that may be "
            "kept in memory. Store fewer or smaller images."
        )


def _decode(title: str, paths: list[Path]) -> Pixels:
    """Return all images as uint8 (n, 3, size, size)."""
    size = _common_side(paths)
    _check_size(title, 3 * size**2 * len(paths))
    pixels = np.empty((len(paths), 3, size, size), dtype=np.uint8)
    for row, path in zip(pixels, paths, strict=True):
        row[:] = np.asarray(centre_crop(read_image(path, size), size, size)).transpose(2, 0, 1)
    return pixels


def _common_side(paths: list[Path]) -> int:
    sides: Counter[int] = Counter()
    for path in paths:
        with opened(path) as image:
            sides[min(image.size)] += 1
    return min(sides, key=lambda side: (-sides[side], side))


def _read_cache(file: Path, count: int) -> Pixels | None:
    """Return the cached pixels, None if there are none or they are torn (zip files hold CRCs)."""
    try:
        with file.open("rb") as opened, np.load(opened) as arrays:
            pixels: npt.NDArray[Any] = arrays["pixels"]
    except Exception:  # what a torn file raises depends on where it is torn
        return None
    return pixels if pixels.dtype == np.uint8 and len(pixels) == count else None


def _write_cache(file: Path, pixels: Pixels) -> None:
    """Write the cache whole or not at all; a folder that cannot be written has none."""
    partial = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        try:
            with partial.open("wb") as opened:
                np.savez(opened, pixels=pixels)
                opened.flush()
                os.fsync(opened.fileno())
            os.replace(partial, file)
        finally:
            partial.unlink(missing_ok=True)
