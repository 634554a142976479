"""A cell whose tensors are bounded before any is made: a toy, or an equation."""

from abc import ABC, abstractmethod
from typing import Self

from pydantic import model_validator

from bench.cells.cell import Cell

MOST_NUMBERS = 2**26  # of a tensor of one cell: 256 MiB in float32, and there are several


class SmallCell(Cell, ABC):
    """A cell that is computed on one core, within little memory."""

    @property
    @abstractmethod
    def largest_tensor(self) -> tuple[str, int]:
        """What the largest tensor holds, in words and settings, and how many numbers that is."""

    @model_validator(mode="after")
    def _is_small(self) -> Self:
        what, numbers = self.largest_tensor
        if numbers > MOST_NUMBERS:
            raise ValueError(
                f"{what} is {numbers} numbers at once; at most {MOST_NUMBERS} are kept"
            )
        return self
