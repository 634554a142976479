"""Which training images have a label: a share of each class, or those that a list names."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.data.images import share_of_each_class
from bench.data.label_lists import check_list
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure, StoreError
from bench.files.regular import read_regular

Rows = np.ndarray[tuple[int], np.dtype[np.int64]]
LONGEST_LIST = 2**24  # bytes; that of a tenth of ImageNet has 2.6 million
SHOWN = 3  # names in an error line


def stratified_rows(labels: Rows, share: float, seed: int) -> Rows:
    """Return the rows that keep their label, in order: a random share of each class, one at least.

    Of one seed a larger share has all rows of a smaller one.

    Args:
        labels: of the training images, shape (n,), -1 where there is none.
        share: above 0, at most 1.
        seed: of the draw.
    """
    draw = stream(seed, Purpose.LABELS, 1)
    return np.flatnonzero(share_of_each_class(labels, share, draw, at_least=1))


def listed_rows(names: Sequence[str], path: Path) -> Rows:
    """Return the rows of the images that a list names, in order.

    Args:
        names: of the training images' files.
        path: of a list of names, one per line.

    Raises:
        DataMissing: there is no list.
        DataFailure: a name stands twice in it or is of no training image.
    """
    try:
        check_list(path)
        text = read_regular(path, LONGEST_LIST)
    except StoreError as fault:
        raise DataFailure(str(fault)) from fault
    wanted = (text or b"").decode(errors="replace").split()
    listed = set(wanted)
    if len(listed) != len(wanted) or not wanted:
        raise DataFailure(f"{path}: {len(wanted)} names, of which {len(listed)} differ")
    rows = np.array([row for row, name in enumerate(names) if name in listed], dtype=np.int64)
    if len(rows) != len(listed):
        strange = sorted(listed - set(names))
        shown = ", ".join(ascii(name)[1:-1] for name in strange[:SHOWN])
        raise DataFailure(f"{path}: {len(strange)} names are of no training image, such as {shown}")
    return rows
