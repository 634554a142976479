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
from bench.errors import Damaged, StoreError
from bench.files.messages import warn
from bench.files.regular import sha256_of_file
from bench.results.damage import damage_of
from bench.results.exchange.entry import is_id
from bench.results.exported import Exported
from bench.results.folder import CellFolder
from bench.results.provenance import flatten
from bench.results.store import Store

History = list[dict[str, float]]
Arrays = dict[str, np.ndarray[Any, Any]]

NO_HISTORY, NO_ARRAYS = "its history is left out", "its arrays are left out"


@dataclass(frozen=True, eq=False)
class Finished:
    """What is kept of a finished cell: the same from a folder and from an exported table.

    History and arrays are read when they are asked for, for few verbs need them; a damaged file
    is reported then, and nothing of it is used.
    """

    metrics: dict[str, float]
    provenance: dict[str, Any]  # flat: commit, dirty, packages, processor, device, wall_s, ...
    read_history: Callable[[], History] = list
    read_arrays: Callable[[], Arrays] = dict
    of_table: bool = False  # whose histories may lack metrics that no figure reads

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
        self._tables: dict[str, Exported] = {}

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
        if folder.is_done and (finished := _finished(folder)) is not None:
            return finished
        tables = self._exported(experiment)
        if name not in tables.tables:
            return None
        return Finished(
            tables.metrics(name),
            tables.provenance(name),
            partial(tables.history, name),
            partial(tables.arrays_of, name),
            of_table=True,
        )

    def names(self, experiment: str) -> list[str]:
        """Return the ids of the finished cells of an experiment."""
        folder = self.root / experiment
        names = sorted(filter(is_id, os.listdir(folder))) if folder.is_dir() else []
        done = [name for name in names if _is_sound(CellFolder(folder / name))]
        return list(dict.fromkeys([*done, *self._exported(experiment).tables]))

    def fields(self, experiment: str, name: str) -> dict[str, Any]:
        """Return the resolved cell with an id, as it was written; empty if it is not there."""
        record = CellFolder(self.root / experiment / name).fields()
        if record is not None:
            return record
        return self._exported(experiment).fields(name)

    def stamp(self, cell: Cell) -> str | None:
        """Return what changes with the result of the cell; None if it is not there."""
        folder = self.store.folder(cell)
        if not _is_sound(folder):
            tables = self._exported(cell.experiment)
            return _digest(tables.contents(cell.id)) if cell.id in tables.tables else None
        files = (
            (folder.summary_file, "it counts as missing"),
            (folder.provenance_file, "it counts as missing"),
            (folder.history_file, NO_HISTORY),
            (folder.arrays_file, NO_ARRAYS),
        )
        return _digest([_stamp_of(path, without) for path, without in files])

    def _exported(self, experiment: str) -> Exported:
        if experiment not in self._tables:
            self._tables[experiment] = Exported(self.root, experiment)
        return self._tables[experiment]


def _is_sound(folder: CellFolder) -> bool:
    """Whether a cell is done, and its first file is as it was written; else it is reported."""
    why = damage_of(folder) if folder.is_done else None
    if why is not None:
        warn(f"{why}; it counts as missing")
    return folder.is_done and why is None


def _finished(folder: CellFolder) -> Finished | None:
    """Return what is kept of a cell; None, with a report, if nothing is as it was written."""
    try:
        metrics, provenance = folder.result()
    except Damaged as fault:
        why = str(fault).partition("; remove ")[0]
        warn(f"{why}; remove {folder.path} to have it computed again; it counts as missing")
        return None
    origin = flatten(provenance)
    return Finished(metrics, origin, partial(_history, folder), partial(_arrays, folder))


def _history(folder: CellFolder) -> History:
    """Return the history of a finished cell; none, and it is reported, if it is damaged."""
    try:
        return folder.history(finished=True)
    except Damaged as fault:
        warn(f"{fault}; {NO_HISTORY}")
        return []


def _arrays(folder: CellFolder) -> Arrays:
    """Return the arrays of a finished cell; none, and it is reported, if they are damaged."""
    try:
        return folder.arrays()
    except Damaged as fault:
        warn(f"{fault}; {NO_ARRAYS}")
        return {}


def _stamp_of(path: Path, without: str) -> bytes:
    """Return what changes with a file; of one that is not regular, the message."""
    try:
        return (sha256_of_file(path) or "").encode()
    except Damaged as fault:
        warn(f"{fault}; {without}")
        return str(fault).encode()


def _digest(contents: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()
