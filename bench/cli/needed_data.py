"""What cells need of the folder of data sets, and what of it is not there."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.cells.cell import Cell
from bench.cells.detection import Detection
from bench.cells.finetune import FineTune
from bench.data.catalogue import check_present, imagenet_folder
from bench.data.coco_layout import check_boxed
from bench.data.label_lists import check_list, published_list
from bench.errors import DataError


def missing_data(cells: Sequence[Cell], root: Path) -> Iterator[DataError]:
    """Yield what is not there, data set by data set: images, lists of labelled ones, or boxes.

    No file is read.

    Args:
        cells: that are to be computed.
        root: the folder of data sets.
    """
    for name in sorted({name for cell in cells if (name := cell.looks_at)}):
        listed = {
            cell.label_fraction
            for cell in cells
            if isinstance(cell, FineTune) and cell.dataset == name and cell.labelled == "published"
        }
        try:
            check_present(name, root)
            for share in sorted(listed):
                check_list(published_list(imagenet_folder(name, root), share))
        except DataError as fault:
            yield fault
    boxed = {cell.detect_dataset for cell in cells if isinstance(cell, Detection)}
    for name in sorted(boxed):
        try:
            check_boxed(name, root)
        except DataError as fault:
            yield fault
