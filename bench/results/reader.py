"""Finished cells as read-only records, from cell folders or exported tables."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bench.cells.baseline import baselines_among
from bench.cells.cell import Cell
from bench.errors import Damaged, Diverged, StoreError
from bench.files.messages import tell_once, warn
from bench.results.fitness import Failed, unfit
from bench.results.folder import AS_MISSING, UNTIL, CellFolder, damage_of, finished_in
from bench.results.provenance import flatten
from bench.results.store import Store
from bench.results.tables import Arrays, Exported, TrainingHistory
from bench.text import counted

REFERENCE = "the reference results that come with bench are used"
NO_HISTORY, NO_ARRAYS = (
    f"the history of this cell is left out {UNTIL}",
    f"the arrays of this cell are left out {UNTIL}",
)


@dataclass(frozen=True, eq=False)
class Finished:
    """Stored data of a finished cell, with the same interface for folders and tables.

    History and arrays are read on first use. A damaged file is reported and ignored.
    """

    metrics: dict[str, float]
    provenance: dict[str, Any]  # flat: commit, dirty, packages, processor, device, wall_s, ...
    read_history: Callable[[], TrainingHistory] = list
    read_arrays: Callable[[], Arrays] = dict
    unfit: str | None = None  # why no mean is made of it
    of_table: bool = False  # which may lack histories and arrays that no figure reads

    @cached_property
    def history(self) -> TrainingHistory:
        """Records of metrics during training."""
        return self.read_history()

    @cached_property
    def arrays(self) -> Arrays:
        """Stored arrays, by name."""
        return self.read_arrays()


Done = list[tuple[Cell, Finished]]
"""Finished cells with their results."""


class Results:
    """Finished cells of a results folder, from cell folders or exported tables."""

    def __init__(self, root: Path, reference: Path | None = None) -> None:
        """Name the folder.

        Args:
            root: of cells' folders, or of exported tables.
            reference: exported tables that answer for cells none of which was started in `root`.

        Raises:
            StoreError: there is no such folder, and no reference.
        """
        if reference is None and not root.is_dir():
            absent = "this results folder does not exist; `bench run` creates it"
            raise StoreError(f"{root}: {'this path is not a folder' if root.exists() else absent}")
        self.root, self.store = root, Store(root)
        self._reference = Results(reference) if reference is not None else None
        self._tables: dict[str, Exported] = {}
        self._failures: dict[str, str | None] = {}

    def find(self, cell: Cell) -> Finished | None:
        """Return the finished cell; None if it does not exist."""
        return self.kept(cell.experiment, cell.id)

    def finished(self, cells: Sequence[Cell]) -> Done:
        """Return the finished cells in order, with their stored data.

        Cells with different data or code, or with failed other seeds, are marked as unfit.
        """
        pairs = ((cell, self.find(cell)) for cell in cells)
        done = [(cell, kept) for cell, kept in pairs if kept is not None]
        failed = self._failed(cells, done)
        if self._reference is not None and not done and not failed:
            done = self._reference.finished(cells)
            if done:
                tell_once(f"{self.root} does not hold these cells: {REFERENCE}")
            return done
        whys = unfit([(cell, kept.provenance) for cell, kept in done], failed)
        if not whys:
            return done
        return [(cell, replace(kept, unfit=whys.get(cell.id))) for cell, kept in done]

    def finished_baselines(self, cells: Sequence[Cell], done: Done) -> Done:
        """Return the finished baselines among the cells, from the place that `done` is from.

        If the reference answers for the other cells, `root` may still hold a few of the baselines,
        because other suites have them too.

        Args:
            cells: the cells.
            done: what `finished` returned for those that are no baselines.
        """
        from_reference = done and not any(self.has(cell) for cell, _ in done)
        source = self._reference if self._reference is not None and from_reference else self
        return source.finished(baselines_among(cells))

    def failed(self, cells: Sequence[Cell], done: Done) -> Failed:
        """Return the unfinished cells whose last attempt failed.

        Args:
            cells: the cells.
            done: what `finished` returned for them.
        """
        failed = self._failed(cells, done)
        if self._reference is None or failed or any(self.has(cell) for cell, _ in done):
            return failed
        return self._reference.failed(cells, done)

    def _failed(self, cells: Sequence[Cell], done: Done) -> Failed:
        finished = {cell.id for cell, _ in done}
        others = ((cell, self._failure(cell)) for cell in cells if cell.id not in finished)
        return [(cell, reason) for cell, reason in others if reason is not None]

    def _failure(self, cell: Cell) -> str | None:
        """Return why a cell's last attempt failed, here or in tables; None if it did not.

        It is read once.
        """
        if cell.id not in self._failures:
            last = self.store.folder(cell).last_attempt()
            if last is not None:
                reason = str(last.record["reason"]) if last.state == "failed" else None
            else:
                has_diverged = cell.id in self._exported(cell.experiment).diverged
                reason = Diverged.reason if has_diverged else None
            self._failures[cell.id] = reason
        return self._failures[cell.id]

    def added_later(self, done: Done) -> list[str]:
        """Return lines on metrics that finished cells lack because they were added later."""
        again, never = Counter[str](), Counter[str]()
        for cell, finished in done:
            if lacking := cell.lacking(finished.metrics):
                can_give = self.store.folder(cell).to_evaluate(cell)
                again.update(name for name in lacking if name in can_give)
                never.update(name for name in lacking if name not in can_give)
        again_texts = [
            f"the metric {name} is missing in {counted(n, 'cell')}; `bench run` measures it with "
            "the stored encoders"
            for name, n in again.items()
        ]
        return again_texts + [
            f"the metric {name} is missing in {counted(n, 'cell')}, and cannot be measured because "
            "no encoder is stored"
            for name, n in never.items()
        ]

    def kept(self, experiment: str, name: str) -> Finished | None:
        """Return the finished cell with this id; None if it does not exist."""
        folder = CellFolder(self.root / experiment / name)
        if folder.is_done and (finished := _finished(folder)) is not None:
            return finished
        tables = self._exported(experiment)
        if name not in tables.tables:
            return None
        first = tables.tables[name][0]
        return Finished(
            first.metrics(name),
            first.provenance(name),
            partial(tables.history, name),
            partial(tables.arrays, name),
            of_table=True,
        )

    def names(self, experiment: str) -> list[str]:
        """Return the ids of the finished cells of an experiment."""
        done = [f.name for f in finished_in(self.root, experiment) if _is_sound(f)]
        return list(dict.fromkeys([*done, *self._exported(experiment).tables]))

    def fields(self, experiment: str, name: str) -> dict[str, Any]:
        """Return the stored settings of the cell with this id; empty if it does not exist."""
        record = CellFolder(self.root / experiment / name).fields()
        if record is not None:
            return record
        return self._exported(experiment).fields(name)

    def has(self, cell: Cell) -> bool:
        """Return whether the cell is finished, without reading its result."""
        done = self.store.folder(cell).is_done
        return done or cell.id in self._exported(cell.experiment).tables

    def _exported(self, experiment: str) -> Exported:
        if experiment not in self._tables:
            self._tables[experiment] = Exported(self.root, experiment)
        return self._tables[experiment]


def _is_sound(folder: CellFolder) -> bool:
    """Return whether a finished cell is what was written, by what is first read; report if not."""
    why = damage_of(folder)
    if why is not None:
        warn(f"{why}; {AS_MISSING}")
    return why is None


def _finished(folder: CellFolder) -> Finished | None:
    """Return what is kept of a cell; None, with a report, if nothing is as it was written."""
    try:
        metrics, provenance = folder.result()
    except Damaged as fault:
        warn(f"{fault}; {AS_MISSING}")
        return None
    origin = flatten(provenance)
    return Finished(metrics, origin, partial(_history, folder), partial(_arrays, folder))


def _history(folder: CellFolder) -> TrainingHistory:
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
