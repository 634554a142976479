"""The data sets that a cell may name, where each is looked for, and how to get it."""

import re
from dataclasses import dataclass
from pathlib import Path

from bench.data.folders import check_folder, load_folder
from bench.data.images import DataError, DataMissing, Images, load_digits
from bench.data.streaming import WHERE, imagenet_folder
from bench.data.torchvision_sets import download_torchvision, load_torchvision
from bench.errors import choices

PREFIX = "folder:"


@dataclass(frozen=True)
class DatasetInfo:
    """One data set: `images` counts all of its parts, `size_mb` is what it takes on disk."""

    name: str
    what: str
    images: int
    classes: int
    size_mb: int
    how: str  # to get it
    folder: str = ""  # below the root, of those that torchvision downloads

    def present(self, root: Path) -> bool:
        """Return whether its folders are there; no file is opened."""
        try:
            check_present(self.name, root)
        except DataMissing:
            return False
        return True


_GET = "bench datasets --get"
CATALOGUE = {
    info.name: info
    for info in (
        DatasetInfo("digits", "digits, 16x16", 1797, 10, 0, "comes with scikit-learn"),
        DatasetInfo(
            *("cifar10", "photographs, 32x32", 60_000, 10, 170),
            *(f"{_GET} cifar10", "cifar-10-batches-py"),
        ),
        DatasetInfo(
            *("cifar100", "photographs, 32x32", 60_000, 100, 169),
            *(f"{_GET} cifar100", "cifar-100-python"),
        ),
        DatasetInfo(
            *("stl10", "photographs, 96x96, most unlabelled", 113_000, 10, 2640),
            *(f"{_GET} stl10", "stl10_binary"),
        ),
        DatasetInfo("imagenet100", "photographs", 131_689, 100, 15_000, WHERE),
        DatasetInfo("imagenet1k", "photographs", 1_331_167, 1000, 150_000, WHERE),
    )
}


def streams(name: str) -> bool:
    """Return whether the data set is too large for memory and streams from disk."""
    return name in ("imagenet100", "imagenet1k")


def check_present(name: str, root: Path) -> None:
    """Look for the data set's folders below `root`, without reading any file.

    Raises:
        DataMissing: it is not there; the line says how to get it.
        DataError: no data set has that name.
    """
    if name.startswith(PREFIX):
        check_folder(_folder_name(name), root)
    elif name not in CATALOGUE:
        allowed = choices(name, [*CATALOGUE, f"{PREFIX}<name>"])
        raise DataError(f"{name}: unknown data set. {allowed}")
    elif streams(name):
        imagenet_folder(name, root)
    elif not (root / CATALOGUE[name].folder).is_dir() and name != "digits":
        info = CATALOGUE[name]
        remedy = f"'{info.how}' downloads it there ({info.size_mb} MB)"
        raise DataMissing(f"{name}: not found in {root}. {remedy}.")


def image_folders(root: Path) -> dict[str, Path]:
    """Return the folders of images below `root`, by the name a suite gives them."""
    found = sorted(root.glob("*/train"))
    return {f"{PREFIX}{path.parent.name}": path.parent for path in found if path.is_dir()}


def load_images(name: str, root: Path) -> Images:
    """Return a data set that fits in memory; nothing is downloaded.

    Raises:
        DataMissing: it is not there.
        DataTorn: one of its files is damaged.
        DataError: its name is unknown, or it is a folder too large for memory.
        ValueError: it is one of those that stream.
    """
    check_present(name, root)
    if streams(name):
        raise ValueError(f"{name} does not fit in memory; use load_files of bench.data.streaming")
    if name == "digits":
        return load_digits()
    if name.startswith(PREFIX):
        return load_folder(_folder_name(name), root)
    return load_torchvision(name, root)


def download(name: str, root: Path) -> None:
    """Fetch CIFAR-10, CIFAR-100 or STL-10 into `root`; nothing if it is there and whole.

    Raises:
        DataError: the network or the disk fails, or the name is unknown.
        DataMissing: the data set has to be put there by hand, and is not; the line says where.
    """
    if name in CATALOGUE and CATALOGUE[name].folder:
        download_torchvision(name, root)
    else:
        check_present(name, root)


def _folder_name(name: str) -> str:
    """Return what follows `folder:`; it is one folder below the root, whatever a suite says."""
    own = name.removeprefix(PREFIX)
    if not re.fullmatch(r"\w[\w.-]*", own):
        rule = "letters, digits, '_', '-' and '.', and does not begin with '-' or '.'"
        raise DataError(f"{name}: a folder's name has {rule}.")
    return own
