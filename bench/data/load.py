"""Load data sets that fit into memory, and hold out training images of any data set."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch

from bench.cells.datasets import BOXED_SETS, IMAGE_SETS
from bench.data.catalogue import PREFIX, check_boxed, check_present, folder_name
from bench.data.folders import load_folder
from bench.data.images import Images, load_digits, share_of_each_class
from bench.data.streaming import ImageFiles
from bench.data.streams import Purpose, stream
from bench.data.torchvision_sets import download_torchvision, load_torchvision

LOADERS: dict[str, Callable[[str, Path], Images]] = {
    "digits": lambda _name, _root: load_digits(),
    "torchvision": load_torchvision,
}
"""Functions that read a data set that fits in memory, from its name and the folder of data sets."""


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
    if loader not in LOADERS:
        raise ValueError(f"{name} does not fit in memory; use load_files of bench.data.streaming")
    return LOADERS[loader](name, root)


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


InMemoryOrOnDisk = TypeVar("InMemoryOrOnDisk", Images, ImageFiles)
HELD_OUT_SEED = 1010  # the same images for every cell


def with_held_out(images: InMemoryOrOnDisk, share: float) -> InMemoryOrOnDisk:
    """Return the data set with a share of each training class as its test part.

    These images are removed from the training part, and the original test images are dropped. The
    choice depends only on the labels. Unlabelled images stay in the training part.
    """
    labels, draw = images.train.labels.cpu().numpy(), stream(HELD_OUT_SEED, Purpose.DATA)
    out = torch.from_numpy(share_of_each_class(labels, share, draw))
    return replace(images, train=images.train.of(~out), test=images.train.of(out))
