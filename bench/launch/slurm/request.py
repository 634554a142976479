"""What a user asks of Slurm."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cells.cell import Cell
from bench.launch.slurm.profile import Profile

LIVES = 3  # submissions of a cell whose jobs are killed


@dataclass(frozen=True)
class Request:
    """What a user asked Slurm to do."""

    cells: Sequence[Cell]
    data: Path  # the folder of data sets, absolute: jobs begin elsewhere
    profile: Profile
    jobs: int | None  # at most so many at once
    retry_before: float = 0.0  # failures that ended before this time are tried again
    alone: bool = False  # each cell in a job of its own: it was lost before, maybe by a neighbour
    lives: int = LIVES
