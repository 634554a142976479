"""CIFAR-10, CIFAR-100 and STL-10 as torchvision reads, checks and downloads them."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.cells.datasets import IMAGE_SETS
from bench.data.download import Archive, fetch
from bench.data.images import Images, Split, fingerprint_of
from bench.errors import DataError, DataTorn
from bench.files.messages import tell


def load_torchvision(name: str, root: Path) -> Images:
    """Return CIFAR-10, CIFAR-100 or STL-10 from `root` once its checksums are tested.

    Raises:
        DataTorn: a file is missing or differs from the published one.
    """
    source = _source(name)
    info = IMAGE_SETS[name]
    splits = ("train", "test", "unlabeled") if info.unlabeled else (True, False)
    try:
        train, test, *rest = [_split(source(root, split)) for split in splits]
    except RuntimeError as fault:
        raise DataTorn(f"{_torn_file(source, root)}: {_remedy(name)}") from fault
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
    """Fetch CIFAR-10, CIFAR-100 or STL-10 into `root`, unpack it and test its checksums.

    Nothing is fetched where the data set, or its archive, is there and whole.

    Raises:
        DataError: the network or the disk fails; the line says how to place the archive by hand.
    """
    from torchvision.datasets.utils import extract_archive

    source = _source(name)
    if (torn := _first_torn(source, root)) is None:
        tell(f"{name}: complete in {root}")
        return
    path = root / source.filename
    fetch(Archive(name, source.url, path, source.tgz_md5))
    tell(f"{name}: unpacking {path}")
    try:
        extract_archive(path, root)
    except (OSError, RuntimeError, EOFError) as fault:
        raise DataError(f"{path}: cannot be unpacked ({' '.join(str(fault).split())})") from fault
    if (torn := _first_torn(source, root)) is not None:
        raise DataTorn(f"{torn}: missing or damaged after unpacking")


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


def _torn_file(source: Any, root: Path) -> Path:
    """Return the first file that is missing or torn, else the folder."""
    return _first_torn(source, root) or root / str(source.base_folder)


def _first_torn(source: Any, root: Path) -> Path | None:
    """Return the first file that is missing or differs from the published one."""
    from torchvision.datasets.utils import check_integrity  # type: ignore[import-untyped, unused-ignore]

    folder = root / str(source.base_folder)
    torn = (f for f, md5 in _checksums(source) if not check_integrity(folder / f, md5))
    return next((folder / name for name in torn), None)


def _remedy(name: str) -> str:
    return f"missing or damaged. 'bench datasets --get {name}' fetches it again."
