"""What experiments read and write: the folders of their cells, and what cells share."""

from collections.abc import Iterable
from pathlib import Path

from bench.results.folder import CellFolder


class Folders(list[CellFolder]):
    """The folder of each cell of a stack; beside them trained encoders and data sets."""

    def __init__(self, folders: Iterable[CellFolder], *, encoders: Path, data: Path) -> None:
        """Name the folders.

        Args:
            folders: one for each cell, in order.
            encoders: holds a folder for each trained encoder, named by its training id.
            data: holds the data sets.
        """
        super().__init__(folders)
        self.encoders, self.data = encoders, data
