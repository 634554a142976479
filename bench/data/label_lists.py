"""Where the published lists of labelled images are; nothing is loaded for it."""

from pathlib import Path

from bench.cells.finetune import PUBLISHED_LISTS
from bench.errors import DataMissing

LISTS = "imagenet_subsets"
"""The folder of published lists, beside `train` and `val` of the images."""


def published_list(folder: Path, share: float) -> Path:
    """Return where a data set's folder has the published list of so many labels."""
    return folder / LISTS / PUBLISHED_LISTS[share]


def check_list(path: Path) -> None:
    """Raise DataMissing unless there is a list."""
    if not path.is_file():
        raise DataMissing(f"{path}: not found. docs/how-to/labels.md says where it comes from.")
