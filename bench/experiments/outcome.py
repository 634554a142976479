"""What comes of a cell."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from bench.errors import CellFailure
from bench.store.folder import CellFolder


@dataclass(frozen=True)
class Result:
    """The metrics of a finished cell, by name, and the arrays worth keeping."""

    metrics: dict[str, float]
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    origin: dict[str, Any] = field(default_factory=dict)  # provenance beside the worker's


Failure = CellFailure
Outcome = Result | Failure


class Run(Protocol):
    """Computes a stack of cells."""

    def __call__(
        self, cells: Sequence[Any], folders: Sequence[CellFolder], device: str
    ) -> list[Outcome]:
        """Return one outcome for each cell, in order."""
