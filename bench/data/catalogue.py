"""Where the files of each data set are looked for; no torch."""

import re
from pathlib import Path

from bench.cells.datasets import IMAGE_SETS, WHERE, streams
from bench.errors import DataError, DataMissing, choices

PREFIX = "folder:"


def is_present(name: str, root: Path) -> bool:
    """Return whether the folders of a data set are there; no file is opened."""
    try:
        check_present(name, root)
    except DataMissing:
        return False
    return True


def check_present(name: str, root: Path) -> None:
    """Look for the data set's folders below `root`, without reading any file.

    Raises:
        DataMissing: it is not there; the line says how to get it.
        DataError: no data set has that name.
    """
    if name.startswith(PREFIX):
        check_folder(folder_name(name), root)
    elif name not in IMAGE_SETS:
        allowed = choices(name, [*IMAGE_SETS, f"{PREFIX}<name>"])
        raise DataError(f"{name}: unknown data set. {allowed}")
    elif streams(name):
        imagenet_folder(name, root)
    elif (info := IMAGE_SETS[name]).folder and not (root / info.folder).is_dir():
        remedy = f"'{info.how}' downloads it there ({info.size_mb} MB)"
        raise DataMissing(f"{name}: not found in {root}. {remedy}.")


def image_folders(root: Path) -> dict[str, Path]:
    """Return the folders of images below `root`, by the name a suite gives them."""
    folders = sorted(root.glob("*/train"))
    return {f"{PREFIX}{path.parent.name}": path.parent for path in folders if path.is_dir()}


def folder_name(name: str) -> str:
    """Return what follows `folder:`; it is one folder below the root, whatever a suite says.

    Raises:
        DataError: it is not the name of one folder.
    """
    folder = name.removeprefix(PREFIX)
    if not re.fullmatch(r"\w[\w.-]*", folder):
        rule = "letters, digits, '_', '-' and '.', and does not begin with '-' or '.'"
        raise DataError(f"{name}: a folder's name has {rule}.")
    return folder


def check_folder(name: str, root: Path) -> None:
    """Raise DataMissing, with where to put what, unless the folders of `folder:<name>` exist."""
    folder = root / name
    for part in (folder, folder / "train", held_out_folder(folder)):
        if not part.is_dir():
            where = f"{name}/train/<class>/*.jpg and {name}/test/<class>/*.jpg"
            problem = f"no folder {part}. Put the images into {root} as {where}"
            raise DataMissing(f"folder:{name}: {problem}.")


def held_out_folder(folder: Path) -> Path:
    """Return `<folder>/test`, or `<folder>/val` where only that exists."""
    named = folder / "test"
    return folder / "val" if not named.is_dir() and (folder / "val").is_dir() else named


def imagenet_folder(name: str, root: Path) -> Path:
    """Return where the images of imagenet1k or imagenet100 are: a part may come from the whole.

    Raises:
        DataMissing: there is no such folder, or it lacks a part.
    """
    candidates = [root / name] if name == "imagenet1k" else [root / name, root / "imagenet1k"]
    folder = next((c for c in candidates if c.is_dir()), candidates[0])
    for part in (folder, folder / "train", folder / "val"):
        if not part.is_dir():
            instead = ", or have all of imagenet1k beside it" if name != "imagenet1k" else ""
            instruction = f"Put the images into {folder} as {WHERE}{instead}"
            raise DataMissing(f"{name}: no folder {part}. {instruction}.")
    return folder
