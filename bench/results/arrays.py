"""The arrays of a cell, read from an npz file of any origin."""

from __future__ import annotations

import warnings
import zipfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.files.regular import read_regular
from bench.results.digests import MOST_BYTES
from bench.results.names import is_name
from bench.text import foreign_text

if TYPE_CHECKING:
    import numpy as np

ARRAYS = "arrays.npz"
MOST_ARRAYS = 1000
NUMBERS = "biufc"  # kinds of numpy types that may be in arrays


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of an npz file of any origin: see `arrays_of`.

    Raises:
        ValueError: it is not there, or its content is not what it should be.
        StoreError: it is not a regular file of 64 MiB at most.
    """
    return arrays_of(read_regular(path, MOST_BYTES[ARRAYS]) or b"")


def arrays_of(content: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of the content of an npz file of any origin, within 64 MiB of memory.

    Raises:
        ValueError: it is torn, too large unpacked, or holds something else than numbers.
    """
    import numpy as np  # here alone, so that `bench status` need not load it

    try:
        with warnings.catch_warnings(), zipfile.ZipFile(BytesIO(content)) as file:
            warnings.simplefilter("error")
            entries = file.infolist()
            names = [entry.filename.removesuffix(".npy") for entry in entries]
            if len(entries) > MOST_ARRAYS or len(set(names)) < len(names):
                raise ValueError(f"more than {MOST_ARRAYS} arrays, or one twice")
            if not all(map(is_name, names)):
                raise ValueError("an array's name is not a word")
            size = sum(entry.file_size for entry in entries)
            if size > MOST_BYTES[ARRAYS]:
                raise ValueError(f"{size} bytes unpacked, of {MOST_BYTES[ARRAYS]} allowed")
        with np.load(BytesIO(content), allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except Exception as fault:  # zipfile and numpy raise many kinds for a torn file
        raise ValueError(foreign_text(str(fault))) from fault
    for name, array in arrays.items():
        if array.dtype.kind not in NUMBERS:
            raise ValueError(f"{foreign_text(name)} is of type {array.dtype}")
    return arrays
