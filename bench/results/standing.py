"""Progress of an unfinished cell: its last record of metrics and its checkpoint."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.files.regular import check_regular, parse_json
from bench.results.digests import TRAINED
from bench.results.folder import CellFolder
from bench.results.names import is_history_record
from bench.results.store import Store

TAIL_BYTES = 2**13  # of a history, in which its last lines stand
LOSSES = ("train_loss", "loss", "surrogate")
ACCURACIES = ("knn_top1", "test_top1")


@dataclass(frozen=True)
class Standing:
    """Progress of a cell."""

    step: float | None = None  # of its last record; None: it has none yet
    epoch: float | None = None
    of: int | None = None  # epochs, or steps where it has none
    loss: float | None = None
    accuracy: float | None = None  # in percent, the last one recorded
    accuracy_of: str | None = None  # its metric
    is_trained: bool = False  # only evaluations are left
    checkpoint_step: int | None = None  # where it would go on; None: no checkpoint
    checkpoint_age_s: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether any progress is recorded; a process may have died before."""
        return self.is_trained or self.step is not None or self.checkpoint_step is not None

    @property
    def share(self) -> float | None:
        """Completed share of the training, from the last record; None before the first."""
        if self.is_trained:
            return 1.0
        at = self.step if self.epoch is None else self.epoch
        return None if at is None or not self.of else min(at / self.of, 1.0)

    @property
    def resumes_at(self) -> float | None:
        """Epoch, or else step, at which the cell would resume; None if it would start from 0."""
        if self.checkpoint_step is None or self.epoch is None or not self.step:
            return self.checkpoint_step
        return self.checkpoint_step * self.epoch / self.step


def standing_of(store: Store, cell: Cell) -> Standing:
    """Return the progress of a cell, or of its shared training.

    If the cell continues training in its own folder, its progress there is returned.
    """
    folder, epochs = store.folder(cell), cell.own_epochs
    if cell.training_id is not None:
        trained = CellFolder(store.root / TRAINED / cell.training_id)
        if not trained.is_done:
            folder, epochs = trained, cell.settings.get("epochs")
        elif epochs is None:
            return Standing(is_trained=True)
    records = _last_records(folder.history_file)
    last = records[0] if records else {}
    step = folder.checkpoint_step() or None
    # Not every epoch is watched: the last one that was counts.
    accuracies = ((name, line[name]) for line in records for name in ACCURACIES if name in line)
    metric, accuracy = next(accuracies, (None, None))
    return Standing(
        step=last.get("step"),
        epoch=last.get("epoch") if epochs else None,
        of=epochs or cell.settings.get("steps"),
        loss=next((last[name] for name in LOSSES if name in last), None),
        accuracy=accuracy,
        accuracy_of=metric,
        checkpoint_step=step,
        checkpoint_age_s=_age_s(folder.checkpoint_file) if step else None,
    )


def _age_s(path: Path) -> float | None:
    with suppress(OSError):
        return max(0.0, time.time() - path.stat().st_mtime)
    return None


def _last_records(path: Path) -> list[dict[str, float]]:
    """Return the last whole lines of a history, the last one first; none if it is torn."""
    try:
        if not check_regular(path):
            return []
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read().splitlines(keepends=True)
    except (OSError, StoreError):
        return []
    records = []
    for line in reversed([line for line in lines if line.endswith(b"\n")]):
        with suppress(ValueError):
            record: Any = parse_json(line)
            if is_history_record(record):
                records.append(record)
    return records
