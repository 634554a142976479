"""Results and failures of cells, and interfaces of experiments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from bench.errors import CellFailure, DataError, DataFailure
from bench.results.folder import CellFolder, Folders

if TYPE_CHECKING:
    from bench.experimental import Ranks


@dataclass(frozen=True)
class Result:
    """Metrics of a finished cell, by name, and arrays to store."""

    metrics: dict[str, float]
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)  # beside the worker's


Failure = CellFailure
Outcome = Result | Failure
Clock = Callable[[], float]
"""Tells seconds."""
T = TypeVar("T")
C = TypeVar("C")
Compute = Callable[[C, CellFolder, Path, str], Result]
"""Function from a cell, its folder, the folder of data sets and the device to its result."""


def attempted(compute: Callable[[], T]) -> T | Failure:
    """Return the computed result, or the failure of the cell or its data."""
    try:
        return compute()
    except DataError as error:
        return DataFailure(str(error))
    except CellFailure as failure:
        return failure


def one_by_one(
    compute: Compute[C], cells: Sequence[C], folders: Folders, device: str
) -> list[Outcome]:
    """Compute cells separately and return each outcome; a failure does not affect other cells.

    Args:
        compute: function that returns the result of one cell.
        cells: the cells.
        folders: their folders, in the same order.
        device: torch device.
    """
    return [
        attempted(partial(compute, cell, folder, folders.data, device))
        for cell, folder in zip(cells, folders, strict=True)
    ]


class Spent(NamedTuple):
    """Seconds of a cell, of its shared training and of the rest."""

    shared: float
    own: float


Run = Callable[[Sequence[Any], Folders, str], list[Outcome]]
"""Function from a stack of cells, their folders and the device to one outcome per cell, in
order."""
RunOnRanks = Callable[[Sequence[Any], Folders, str, "Ranks"], list[Outcome]]
"""The same for cells whose batches are divided among ranks (`Cell.batch_over_ranks`); None is
allowed on all ranks except the first."""
Probe = Callable[[Any, Path, str, Clock], Spent]
"""Function from a cell, the folder of data sets and the device to the predicted seconds of the
whole cell. It times a few steps and keeps nothing."""
