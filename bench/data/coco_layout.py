"""Where a folder in COCO format has its images and annotations; nothing is loaded for it.

`<root>/<name>/<part>/` holds the images of a part, and `annotations/<part>.json`, or COCO's own
`annotations/instances_<part>.json`, what is on them.
"""

from pathlib import Path
from typing import Literal, NamedTuple

from bench.cells.datasets import BOXED_SETS, SHAPES
from bench.errors import DataMissing

Part = Literal["train", "test"]
PART_NAMES: dict[Part, tuple[str, ...]] = {
    "train": ("train", "train2017"),
    "test": ("test", "val", "val2017"),
}
"""What the folder of a part may be called, in the order in which it is looked for."""


class PartFiles(NamedTuple):
    """The images of a part, and the file with their annotations."""

    images: Path
    annotations: Path


def part_files(name: str, root: Path, part: Part) -> PartFiles:
    """Return where a data set has a part.

    Args:
        name: of the data set, a folder below the root.
        root: the folder of data sets.
        part: train or test.

    Raises:
        DataMissing: it is not there; the line says what is expected.
    """
    folder = root / name
    for called in PART_NAMES[part]:
        for prefix in ("", "instances_"):
            annotations = folder / "annotations" / f"{prefix}{called}.json"
            if annotations.is_file() and (folder / called).is_dir():
                return PartFiles(folder / called, annotations)
    names = " or ".join(f"{called}/ with annotations/{called}.json" for called in PART_NAMES[part])
    raise DataMissing(
        f"{name}: no {part} part in {folder}: needs {names}; docs/how-to/detection.md shows it."
    )


def check_boxed(name: str, root: Path) -> None:
    """Raise DataMissing unless a data set with boxes is there; no file is opened.

    Args:
        name: of the data set; the shapes, which are drawn, are always there.
        root: the folder of data sets.
    """
    if name != SHAPES:
        for part in PART_NAMES:
            part_files(name, root, part)


def boxed_sets(root: Path) -> dict[str, bool]:
    """Return whether the data sets with boxes are there: the known ones, and folders below root."""
    folders = sorted(path.parent.name for path in root.glob("*/annotations") if path.is_dir())
    return {name: _is_there(name, root) for name in (*BOXED_SETS, *folders)}


def _is_there(name: str, root: Path) -> bool:
    try:
        check_boxed(name, root)
    except DataMissing:
        return False
    return True
