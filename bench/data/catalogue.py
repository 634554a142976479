"""Locations of data set files and label lists, without torch."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from bench.cells.datasets import BOXED_SETS, DRAWN, IMAGE_SETS, WHERE, Learnt, streams
from bench.cells.finetune import PUBLISHED_LISTS
from bench.errors import DataError, DataMissing, choices

PREFIX = "folder:"
ENDINGS = (".jpg", ".jpeg", ".png", ".webp")
"""Suffixes of image files in folders."""
Part = Literal["train", "test"]
PART_NAMES: dict[Part, tuple[str, ...]] = {
    "train": ("train", "train2017"),
    "test": ("test", "val", "val2017"),
}
"""Possible names of the folder of a part with boxes, in the order of the search."""
OF_COCO: dict[Learnt, str] = {
    "boxes": "instances_", "masks": "instances_", "keypoints": "person_keypoints_",
}  # fmt: skip
"""Prefixes of the names of COCO's own annotation files."""
LISTS = "imagenet_subsets"
"""The folder of published lists, next to `train` and `val` of the images."""


def is_present(name: str, root: Path) -> bool:
    """Return whether the folders of a data set exist; no file is opened."""
    return is_there(check_present, name, root)


def is_there(check: Callable[[str, Path], None], name: str, root: Path) -> bool:
    """Return whether `check` finds the data set, without raising DataMissing."""
    try:
        check(name, root)
    except DataMissing:
        return False
    return True


def check_present(name: str, root: Path) -> None:
    """Check that the data set's folders exist below `root`, without reading files.

    Raises:
        DataMissing: the data set is missing. The message describes how to get it.
        DataError: the data set is unknown.
    """
    if name.startswith(PREFIX):
        check_folder(folder_name(name), root)
    elif name not in IMAGE_SETS:
        allowed = choices(name, [*IMAGE_SETS, f"{PREFIX}<name>"])
        raise DataError(f"{name}: there is no data set of this name. {allowed}")
    elif streams(name):
        imagenet_folder(name, root)
    elif (info := IMAGE_SETS[name]).folder and not (root / info.folder).is_dir():
        remedy = f"'{info.how}' downloads it there ({info.size_mb} MB)"
        raise DataMissing(f"{name}: not found in {root}. {remedy}.")


def image_folders(root: Path) -> dict[str, Path]:
    """Return the image folders below `root`, by their names in suites."""
    folders = [path for path in sorted(root.glob("*")) if path.is_dir()]
    return {
        f"{PREFIX}{path.name}": path
        for path in folders
        if (path / "train").is_dir() or unlabelled_images(path) is not None
    }


def is_image(name: str) -> bool:
    """Return whether the file name is that of an image; hidden files are not."""
    return name.lower().endswith(ENDINGS) and not name.startswith(".")


def unlabelled_images(folder: Path) -> Path | None:
    """Return the folder of images without classes: `train` if it exists, else the folder itself.

    None if the folder has class subfolders or no images.
    """
    home = folder / "train" if (folder / "train").is_dir() else folder
    try:
        with os.scandir(home) as entries:
            shown = [entry for entry in entries if not entry.name.startswith(".")]
            has_folders = any(entry.is_dir() for entry in shown)
    except OSError:  # told when it is read
        return None
    return home if not has_folders and any(is_image(entry.name) for entry in shown) else None


def folder_name(name: str) -> str:
    """Return the name after `folder:`, which must be a single folder below the root.

    Raises:
        DataError: the text is not the name of a single folder.
    """
    folder = name.removeprefix(PREFIX)
    if not re.fullmatch(r"\w[\w.-]*", folder):
        rule = "letters, digits, '_', '-' and '.', and may not begin with '-' or '.'"
        raise DataError(f"{name}: the name of a data set folder must consist of {rule}.")
    return folder


def check_folder(name: str, root: Path) -> None:
    """Raise DataMissing, with instructions, unless the folders of `folder:<name>` exist."""
    folder = root / name
    if unlabelled_images(folder) is not None:
        return
    for part in (folder, folder / "train", held_out_folder(folder)):
        if not part.is_dir():
            where = f"{name}/train/<class>/*.jpg and {name}/test/<class>/*.jpg"
            where += f", or as {name}/*.jpg if they have no classes"
            problem = f"the folder {part} does not exist. Put the images into {root} as {where}"
            raise DataMissing(f"folder:{name}: {problem}.")


def held_out_folder(folder: Path) -> Path:
    """Return `<folder>/test`, or `<folder>/val` if only that exists."""
    named = folder / "test"
    return folder / "val" if not named.is_dir() and (folder / "val").is_dir() else named


def imagenet_folder(name: str, root: Path) -> Path:
    """Return the image folder of imagenet1k or imagenet100.

    Raises:
        DataMissing: the folder or one of its parts is missing. ImageNet-100 may also be read from
            ImageNet-1k.
    """
    candidates = [root / name] if name == "imagenet1k" else [root / name, root / "imagenet1k"]
    folder = next((c for c in candidates if c.is_dir()), candidates[0])
    for part in (folder, folder / "train", folder / "val"):
        if not part.is_dir():
            instead = (
                ", or put all of imagenet1k into the same parent folder"
                if name != "imagenet1k"
                else ""
            )
            instruction = f"Put the images into {folder} as {WHERE}{instead}"
            raise DataMissing(f"{name}: the folder {part} does not exist. {instruction}.")
    return folder


class PartFiles(NamedTuple):
    """Image folder and annotation file of a part."""

    images: Path
    annotations: Path


def part_files(name: str, root: Path, part: Part, learns: Learnt = "boxes") -> PartFiles:
    """Return the files of a part of a data set with boxes.

    `<root>/<name>/<part>/` has the images. The annotations are in `annotations/<part>.json`, or in
    COCO's own `annotations/instances_<part>.json` or `person_keypoints_<part>.json`. LVIS's own
    `annotations/lvis_v1_<part>.json` names the folder of each image.

    Args:
        name: name of the data set, a folder below the root.
        root: the folder of data sets.
        part: train or test.
        learns: targets of the detector, which select COCO's own file.

    Raises:
        DataMissing: a file or folder is missing. The message describes the expected layout.
    """
    for files in _candidates(root / name, part, learns):
        if files.annotations.is_file() and files.images.is_dir():
            return files
    prefix = OF_COCO[learns] if learns == "keypoints" else ""
    names = " or ".join(
        f"{called}/ with annotations/{prefix if called.endswith('2017') else ''}{called}.json"
        for called in PART_NAMES[part]
    )
    raise DataMissing(
        f"{name}: {root / name} has no {part} part. Store this part in the folder {names}; "
        "docs/how-to/detection.md shows the layout."
    )


def _candidates(folder: Path, part: Part, learns: Learnt) -> Iterator[PartFiles]:
    for called in PART_NAMES[part]:
        for prefix in ("", OF_COCO[learns]):
            annotations = folder / "annotations" / f"{prefix}{called}.json"
            yield PartFiles(folder / called, annotations)
        yield PartFiles(folder, folder / "annotations" / f"lvis_v1_{called}.json")


def check_boxed(name: str, root: Path, learns: Learnt = "boxes") -> None:
    """Raise DataMissing unless a data set with boxes exists; no file is opened.

    Args:
        name: name of the data set. Generated shapes always exist.
        root: the folder of data sets.
        learns: targets of the detector.
    """
    if name not in DRAWN:
        for part in PART_NAMES:
            part_files(name, root, part, learns)


def boxed_sets(root: Path) -> dict[str, bool]:
    """Return whether each data set with boxes exists: the known ones, and folders below root."""
    folders = sorted(path.parent.name for path in root.glob("*/annotations") if path.is_dir())
    return {name: is_there(check_boxed, name, root) for name in (*BOXED_SETS, *folders)}


def published_list(folder: Path, share: float) -> Path:
    """Return the path of a data set's published list of labelled images, by number of labels."""
    return folder / LISTS / PUBLISHED_LISTS[share]


def check_list(path: Path) -> None:
    """Raise DataMissing unless the list exists."""
    if not path.is_file():
        raise DataMissing(
            f"{path}: this file does not exist; docs/how-to/fine-tune.md says where to download it."
        )
