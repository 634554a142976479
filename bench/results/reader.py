"""Finished cells as read-only records, from the cells' folders or from exported tables."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.files.atomic import read_json
from bench.results.exchange.entry import is_id
from bench.results.folder import CellFolder
from bench.results.provenance import flatten
from bench.results.store import Store
from bench.results.tables import Tables

History = list[dict[str, float]]
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, eq=False)
class Finished:
    """What is kept of a finished cell: the same from a folder and from an exported table.

    History and arrays are read when they are asked for, for few verbs need them; a damaged file
    raises a StoreError then.
    """

    metrics: dict[str, float]
    provenance: dict[str, Any]  # flat: commit, dirty, packages, processor, device, wall_s, ...
    read_history: Callable[[], History] = list
    read_arrays: Callable[[], Arrays] = dict

    @cached_property
    def history(self) -> History:
        """The records of metrics while it trained."""
        return self.read_history()

    @cached_property
    def arrays(self) -> Arrays:
        """The arrays kept, by name."""
        return self.read_arrays()


Done = list[tuple[Cell, Finished]]
"""Finished cells with what is kept of each."""


class Results:
    """Finished cells of a results folder, from the cells' folders or from exported tables."""

    def __init__(self, root: Path) -> None:
        """Name the folder.

        Raises:
            StoreError: there is no such folder.
        """
        if not root.is_dir():
            raise StoreError(f"{root}: no such results folder; `bench run` makes one")
        self.root, self.store = root, Store(root)
        self._tables: dict[str, Tables] = {}

    def find(self, cell: Cell) -> Finished | None:
        """Return the finished cell; None if it is not there."""
        return self.kept(cell.experiment, cell.id)

    def finished(self, cells: Sequence[Cell]) -> Done:
        """Return the cells that are finished, in order, with what is kept of each."""
        pairs = ((cell, self.find(cell)) for cell in cells)
        return [(cell, kept) for cell, kept in pairs if kept is not None]

    def kept(self, experiment: str, name: str) -> Finished | None:
        """Return the finished cell with an id; None if it is not there."""
        folder = CellFolder(self.root / experiment / name)
        metrics = folder.metrics()
        if metrics is not None:
            history = partial(folder.history, finished=True)
            return Finished(metrics, flatten(folder.provenance()), history, folder.arrays)
        tables = self._exported(experiment)
        if name not in tables.rows:
            return None
        return Finished(
            tables.metrics(name),
            tables.provenance(name),
            partial(tables.history, name),
            partial(tables.arrays_of, name),
        )

    def names(self, experiment: str) -> list[str]:
        """Return the ids of the finished cells of an experiment."""
        folder = self.root / experiment
        names = sorted(filter(is_id, os.listdir(folder))) if folder.is_dir() else []
        done = [name for name in names if CellFolder(folder / name).is_done]
        return list(dict.fromkeys([*done, *self._exported(experiment).rows]))

    def fields(self, experiment: str, name: str) -> dict[str, Any]:
        """Return the resolved cell with an id, as it was written; empty if it is not there."""
        record = read_json(CellFolder(self.root / experiment / name).cell_file)
        if record is not None:
            return dict(record)
        return self._exported(experiment).fields(name)

    def stamp(self, cell: Cell) -> str | None:
        """Return what changes with the result of the cell; None if it is not there."""
        folder = self.store.folder(cell)
        try:
            contents = [folder.summary_file.read_bytes()]
        except FileNotFoundError:
            tables = self._exported(cell.experiment)
            return _digest(tables.contents(cell.id)) if cell.id in tables.rows else None
        for path in (folder.provenance_file, folder.history_file, folder.arrays_file):
            contents.append(path.read_bytes() if path.exists() else b"")
        return _digest(contents)

    def _exported(self, experiment: str) -> Tables:
        if experiment not in self._tables:
            self._tables[experiment] = Tables(self.root, experiment)
        return self._tables[experiment]


def _digest(contents: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()
