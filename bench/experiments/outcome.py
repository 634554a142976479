"""What an experiment's file holds, and what comes of a cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from bench.errors import CellFailure
from bench.results.folders import Folders

if TYPE_CHECKING:
    from bench.distributed import Ranks


@dataclass(frozen=True)
class Result:
    """The metrics of a finished cell, by name, and the arrays worth keeping."""

    metrics: dict[str, float]
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)  # beside the worker's


Failure = CellFailure
Outcome = Result | Failure
Clock = Callable[[], float]
"""Tells seconds."""


class Rates(NamedTuple):
    """Seconds a multiply-add, of a training that cells share and of the rest."""

    shared: float
    own: float


class Run(Protocol):
    """Computes a stack of cells."""

    def __call__(self, cells: Sequence[Any], folders: Folders, device: str) -> list[Outcome]:
        """Return one outcome for each cell, in order."""


class RunOnRanks(Protocol):
    """Computes a stack of cells whose batches divide among ranks: see `Cell.batch_over_ranks`."""

    def __call__(
        self, cells: Sequence[Any], folders: Folders, device: str, ranks: "Ranks"
    ) -> list[Outcome]:
        """Return one outcome for each cell, in order; of ranks but the first, maybe none."""


class Probe(Protocol):
    """Times a few steps of a cell; nothing is kept."""

    def __call__(self, cell: Any, data: Path, device: str, clock: Clock) -> Rates:
        """Return the seconds of a multiply-add; `data` is the folder of data sets."""
