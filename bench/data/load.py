"""Download data sets, load those that fit into memory, and hold out training images of any.

A download is verified and appears only when complete.
"""

import hashlib
import http.client
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.error import HTTPError

import numpy as np
import torch

from bench.cells.datasets import BOXED_SETS, IMAGE_SETS
from bench.data.catalogue import PREFIX, check_boxed, check_present, folder_name
from bench.data.folders import load_folder
from bench.data.images import Images, Split, fingerprint_of, load_digits, share_of_each_class
from bench.data.streaming import ImageFiles
from bench.data.streams import Purpose, stream
from bench.errors import DataError, DataTorn
from bench.files.messages import tell

TIMEOUT_S = 30.0  # without a byte
InMemoryOrOnDisk = TypeVar("InMemoryOrOnDisk", Images, ImageFiles)
HELD_OUT_SEED = 1010  # the same images for every cell


def load_images(name: str, root: Path) -> Images:
    """Return a data set that fits into memory; nothing is downloaded.

    Raises:
        DataMissing: the data set is missing.
        DataTorn: a file is damaged.
        DataError: the name is unknown, or the folder is too large for memory.
        ValueError: the data set is streamed from disk.
    """
    check_present(name, root)
    if name.startswith(PREFIX):
        return load_folder(folder_name(name), root)
    loader = IMAGE_SETS[name].loader
    if loader == "digits":
        return load_digits()
    if loader == "torchvision":
        return load_torchvision(name, root)
    raise ValueError(
        f"the data set {name} does not fit in memory; use load_files of bench.data.streaming"
    )


def download(name: str, root: Path) -> None:
    """Download CIFAR-10, CIFAR-100 or STL-10 into `root` unless it is already complete.

    Raises:
        DataError: the network or the disk fails, or the name is unknown.
        DataMissing: the data set must be installed by hand. The message says where.
    """
    if name in IMAGE_SETS and IMAGE_SETS[name].torchvision:
        download_torchvision(name, root)
    elif name in BOXED_SETS:
        check_boxed(name, root)
    else:
        check_present(name, root)


def with_held_out(images: InMemoryOrOnDisk, share: float) -> InMemoryOrOnDisk:
    """Return the data set with a share of each training class as its test part.

    These images are removed from the training part, and the original test images are dropped. The
    choice depends only on the labels. Unlabelled images stay in the training part.
    """
    labels, draw = images.train.labels.cpu().numpy(), stream(HELD_OUT_SEED, Purpose.DATA)
    out = torch.from_numpy(share_of_each_class(labels, share, draw))
    return replace(images, train=images.train.of(~out), test=images.train.of(out))


class Archive(NamedTuple):
    """One archive of a data set."""

    name: str  # of the data set
    url: str
    path: Path  # where it belongs
    md5: str

    @property
    def by_hand(self) -> str:
        """Instructions for installing the archive without a network."""
        return (
            f"By hand: put {self.url} (MD5 {self.md5}) into {self.path.parent} as "
            f"{self.path.name} and run 'bench datasets --get {self.name}' again, which checks and "
            "unpacks it"
        )


def fetch(archive: Archive) -> None:
    """Download an archive unless it is already complete.

    The address and the progress are reported on standard error.

    Raises:
        DataError: the network or the disk fails, or the checksum is wrong. The message describes
            how to install the archive by hand.
    """
    path = archive.path
    if path.is_file():
        if md5_of(path) == archive.md5:
            tell(f"{archive.name}: found {path}, and its MD5 is correct")
            return
        tell(
            f"{archive.name}: the MD5 of {path} is not {archive.md5}; the file is downloaded again"
        )
    tell(
        f"{archive.name}: fetching {archive.url} to {path} "
        f"(stops after {TIMEOUT_S:g} s without data)"
    )
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _timeout(TIMEOUT_S):
            torch.hub.download_url_to_file(archive.url, str(partial))
        if (digest := md5_of(partial)) != archive.md5:
            raise DataError(
                f"{archive.name}: the file downloaded from {archive.url} has MD5 {digest}, "
                f"not {archive.md5}. {archive.by_hand}."
            )
        os.replace(partial, path)
    except (OSError, http.client.HTTPException, ValueError) as fault:
        if isinstance(fault, HTTPError):
            fault.close()
        why = " ".join(str(fault).split()) or type(fault).__name__
        raise DataError(f"{archive.name}: download failed ({why}). {archive.by_hand}.") from fault
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _timeout(seconds: float) -> Iterator[None]:
    """Give up connections that are silent for so long."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def md5_of(path: Path) -> str:
    """Return the MD5 of a file; the data sets' authors publish this checksum."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def load_torchvision(name: str, root: Path) -> Images:
    """Return CIFAR-10, CIFAR-100 or STL-10 from `root` after verifying its checksums.

    Raises:
        DataTorn: a file is missing or differs from the published one.
    """
    source = _source(name)
    info = IMAGE_SETS[name]
    splits = ("train", "test", "unlabeled") if info.unlabeled else (True, False)
    try:
        train, test, *rest = [_split(source(root, split)) for split in splits]
    except RuntimeError as fault:
        torn = _first_torn(source, root) or root / str(source.base_folder)
        remedy = f"'bench datasets --get {name}' downloads the data set again"
        raise DataTorn(f"{torn}: this file is missing or damaged. {remedy}.") from fault
    return Images(
        name=name,
        classes=info.classes,
        image_size=train.pixels.shape[-1],
        mean=info.mean,
        std=info.std,
        fingerprint=fingerprint_of(f"{f} {md5}".encode() for f, md5 in _checksums(source)),
        train=train,
        test=test,
        unlabeled=rest[0] if rest else None,
    )


def download_torchvision(name: str, root: Path) -> None:
    """Download CIFAR-10, CIFAR-100 or STL-10 into `root`, unpack it and verify its checksums.

    Nothing is downloaded if the data set or its archive is complete.

    Raises:
        DataError: the network or the disk fails; the message describes how to install the archive
            by hand.
    """
    from torchvision.datasets.utils import extract_archive

    source = _source(name)
    if (torn := _first_torn(source, root)) is None:
        tell(f"{name}: the data set is complete in {root}")
        return
    path = root / source.filename
    fetch(Archive(name, source.url, path, source.tgz_md5))
    tell(f"{name}: unpacking {path}")
    try:
        extract_archive(path, root)
    except (OSError, RuntimeError, EOFError) as fault:
        raise DataError(
            f"{path}: the archive cannot be unpacked ({' '.join(str(fault).split())})"
        ) from fault
    if (torn := _first_torn(source, root)) is not None:
        raise DataTorn(f"{torn}: this file is missing or damaged after unpacking")


def _source(name: str) -> Any:
    from torchvision import datasets  # type: ignore[import-untyped, unused-ignore] # slow to import

    return getattr(datasets, IMAGE_SETS[name].torchvision)


def _split(read: Any) -> Split:
    """Return torchvision's arrays as a split: CIFAR holds channels last, STL-10 first."""
    pixels = read.data if hasattr(read, "labels") else read.data.transpose(0, 3, 1, 2)
    labels = read.labels if hasattr(read, "labels") else read.targets
    return Split(
        torch.from_numpy(np.ascontiguousarray(pixels)),
        torch.from_numpy(np.asarray(labels).astype(np.int64)),
    )


def _checksums(source: Any) -> list[tuple[str, str]]:
    """Return file name and MD5 of all data files, and CIFAR's class names."""
    meta = getattr(source, "meta", None)
    names = [(meta["filename"], meta["md5"])] if meta else []
    return [*map(tuple, source.train_list + source.test_list), *names]


def _first_torn(source: Any, root: Path) -> Path | None:
    """Return the first file that is missing or differs from the published one."""
    from torchvision.datasets.utils import check_integrity  # type: ignore[import-untyped, unused-ignore]

    folder = root / str(source.base_folder)
    torn = (f for f, md5 in _checksums(source) if not check_integrity(folder / f, md5))
    return next((folder / name for name in torn), None)
