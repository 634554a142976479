"""Add finished cells of other results folders without overwriting any.

A cell is added under a claim, like a computed one. Files are written atomically and the summary
last, so readers never see incomplete cells. A killed process leaves only a dead claim.
"""

import math
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.cells import CELLS
from bench.errors import Diverged, StoreError
from bench.files.atomic import copy_whole, read_json
from bench.files.messages import warn
from bench.files.regular import sha256_of_file
from bench.record import Json
from bench.results.attempts import Attempt
from bench.results.digests import ENCODER, EVALUATIONS, TRAINED, check_files
from bench.results.folder import CellFolder, damage_of, discard, diverged_in, finished_in
from bench.results.inspect import CheckEncoder, OtherCode, check, check_cell, files_of
from bench.results.lease import heartbeats
from bench.results.names import table_files
from bench.results.owner import Owner
from bench.results.provenance import flatten
from bench.results.records import EvaluationRecord, read_record
from bench.results.store import Store

IMPORT = "import"  # on whose behalf the attempt was made
BATCH = 256  # cells whose files are copied before one wait for the disk
POLL_S = 0.05  # while another process adds the same cell
NO_CAUSES = ("attempt", "began", "peak_memory_gb", "wall_s")  # of other numbers, in provenance


@dataclass
class MergedFolder:
    """Another results folder, for instance from another machine or an archive."""

    path: Path
    encoders: bool = False
    left_out: list[Json] = field(default_factory=list)  # cells that this code does not have
    sound: list[CellFolder] = field(default_factory=list)  # cells and encoders that may be added
    diverged: list[CellFolder] = field(default_factory=list)  # cells that may be added as failed


class _Copy(NamedTuple):
    """A cell or encoder that this process adds."""

    there: CellFolder
    folder: CellFolder
    attempt: Attempt

    def copy_files(self) -> None:
        """Copy all files but the summary, which the disk may still have to take."""
        names = files_of(self.there)
        # of an attempt that came to nothing
        for stale in (self.folder.arrays_file, self.folder.history_file):
            if stale.name not in names:
                stale.unlink(missing_ok=True)
        for name in names:
            if name != self.there.summary_file.name:
                copy_whole(self.there.path / name, self.folder.path / name, sync=False)

    def finish(self) -> bool:
        """Copy the summary, if nobody took the claim; return whether that was done."""
        if not self.attempt.is_mine():
            return False
        added = not self.folder.is_done
        if added:
            copy_whole(self.there.summary_file, self.folder.summary_file)
            self.folder.remove_checkpoint()
        self.attempt.end("done")
        return added


@dataclass
class Merged:
    """Numbers of added cells and encoders."""

    added: int = 0
    diverged: int = 0
    same: int = 0
    encoders: int = 0
    left_out: list[Json] = field(default_factory=list)
    conflicts: list[Json] = field(default_factory=list)
    busy: list[Json] = field(default_factory=list)


def merge(sources: Sequence[MergedFolder], store: Store, check_encoder: CheckEncoder) -> Merged:
    """Add finished cells of the sources that are missing here.

    Args:
        sources: folders to merge. Nothing is written before all their files are checked.
        store: the results folder to add to.
        check_encoder: function that raises ValueError if a file does not contain weights.

    Returns:
        The added cells, existing cells with equal numbers, cells with other numbers (conflicts),
        and cells that a living process computes (busy).

    Raises:
        StoreError: a file of a source is damaged, or a source is empty; the message names it. Or
            `store` holds exported tables.
    """
    if table_files(store.root):
        raise StoreError(
            f"{store.root}: this folder holds exported tables, to which no cells can be added; "
            "name a different folder with --results"
        )
    for source in sources:
        if not source.path.is_dir():
            absent = "this results folder does not exist"
            why = "this path is not a folder" if source.path.exists() else absent
            raise StoreError(f"{source.path}: {why}")
        _check_all(source, check_encoder)
        if not source.sound and not source.diverged and not source.left_out:
            tables = f", only exported tables, which can be read by `--results {source.path}`"
            read = tables if table_files(source.path) else ""
            raise StoreError(f"{source.path}: this folder holds no finished cell{read}")
    store.check_writable()
    merged = Merged()
    for source in sources:
        _merge_all(source.sound, store, merged)
        merged.diverged += sum(_add_diverged(there, store) for there in source.diverged)
        merged.left_out += source.left_out
    return merged


def _check_all(source: MergedFolder, check_encoder: CheckEncoder) -> None:
    """Note the sound cells of a source, then the encoders that they use, if asked for."""
    source.left_out, trainings = [], set[str | None]()
    for folder in (folder for kind in sorted(CELLS) for folder in finished_in(source.path, kind)):
        try:
            checked = check(folder)
        except OtherCode as fault:
            why = str(fault).removeprefix(f"{source.path}/")
            source.left_out.append({"id": folder.name, "experiment": folder.kind, "why": why})
        else:
            trainings.add(checked.cell.training_id if checked.cell else None)
            source.sound.append(folder)
    for folder in (folder for kind in sorted(CELLS) for folder in diverged_in(source.path, kind)):
        with suppress(OtherCode):
            check_cell(folder)
            source.diverged.append(folder)
    for folder in finished_in(source.path, TRAINED) if source.encoders else ():
        if folder.name in trainings:
            check(folder, check_encoder)
            source.sound.append(folder)


def _add_diverged(there: CellFolder, store: Store) -> bool:
    """Note here that a cell diverged elsewhere, unless it was begun here; return whether it was."""
    folder = CellFolder(store.root / there.kind / there.name)
    if folder.last_attempt() is not None:
        return False
    attempt = folder.claim(check_cell(there), Owner.me(), IMPORT)
    if attempt is not None:
        attempt.end("failed", Diverged.reason, there.divergence())
    return attempt is not None


def _merge_all(sound: Sequence[CellFolder], store: Store, merged: Merged) -> None:
    """Add the cells in batches: one wait for the disk makes all files of a batch sure."""
    copies: list[_Copy] = []
    try:
        with heartbeats(lambda: [copy.attempt.path for copy in copies]):
            for there in sound:
                _merge_one(there, store, merged, copies)
                if len(copies) == BATCH:
                    _finish(copies, merged)
            _finish(copies, merged)
            os.sync()
    finally:
        for copy in copies:  # of which not every file was copied
            if copy.attempt.is_mine():
                copy.attempt.end("done" if copy.folder.is_done else "interrupted")


def _merge_one(there: CellFolder, store: Store, merged: Merged, copies: "list[_Copy]") -> None:
    """Copy a cell that is not here, all but its summary; compare one that is."""
    check_files(there.path)  # again, if anything changed since they were found sound
    folder = CellFolder(store.root / there.kind / there.name)
    if folder.is_done and (why := damage_of(folder, whole=True)) is not None:
        warn(f"{why}; the cell is taken from the other results")
        discard(folder, lambda at: damage_of(at, whole=True) is not None)
    while not folder.is_done:
        attempt = folder.claim(None, Owner.me(), IMPORT, retry_before=math.inf)
        if attempt is not None:
            copies.append(_Copy(there, folder, attempt))
            copies[-1].copy_files()
            return
        if _is_busy(folder):
            merged.busy.append({"id": there.name, "experiment": there.kind})
            return
        _finish(copies, merged)  # another process that adds it may wait for one of these
        time.sleep(POLL_S)
    conflict = _compare(there, folder)
    if conflict is not None:
        merged.conflicts.append(conflict)
    else:
        merged.same += there.kind != TRAINED


def _is_busy(folder: CellFolder) -> bool:
    """Whether a living process computes it; one that adds it too is soon done."""
    last = folder.last_attempt()
    return last is not None and last.state == "running" and last.record["launch"] != IMPORT


def _finish(copies: "list[_Copy]", merged: Merged) -> None:
    """Write the summaries of copied cells, with which they are done."""
    if copies:
        os.sync()
    while copies:
        if copies[-1].finish():
            is_cell = copies[-1].there.kind != TRAINED
            merged.added += is_cell
            merged.encoders += not is_cell
        copies.pop()


def _compare(there: CellFolder, folder: CellFolder) -> Json | None:
    """Return how the numbers here and there differ; None if they are the same."""
    parts: Json = {
        "metrics": _differing(folder.metrics() or {}, there.metrics() or {}),
        "arrays": _differing_arrays(folder, there),
        "history": _other_history(folder, there),
    }
    if there.kind == TRAINED and not any(parts.values()):
        parts["metrics"] = _merge_evaluations(there, folder)
    if not any(parts.values()):
        return None
    origin = _differing(flatten(folder.provenance()), flatten(there.provenance()))
    return {
        "id": there.name,
        "experiment": there.kind,
        **parts,
        "origin": {k: v for k, v in origin.items() if k.split(".")[-1] not in NO_CAUSES},
    }


def _differing(here: Json, there: Json) -> Json:
    """Return what both have, by name, where it differs."""
    names = sorted(here.keys() | there.keys())
    return {n: [here.get(n), there.get(n)] for n in names if here.get(n) != there.get(n)}


def _differing_arrays(here: CellFolder, there: CellFolder) -> list[str]:
    """Return the names of arrays, and of weights, that are not the same to the bit."""

    def bits(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        return array.dtype, array.shape, array.tobytes()

    a, b = ({k: bits(v) for k, v in folder.arrays().items()} for folder in (here, there))
    weights = {sha256_of_file(folder.path / ENCODER) for folder in (here, there)}
    return [*_differing(a, b), *([ENCODER] if len(weights) > 1 else [])]


def _other_history(here: CellFolder, there: CellFolder) -> bool:
    """Whether both have a history, and the histories differ."""
    first, second = (folder.history(finished=True) for folder in (here, there))
    return bool(first and second) and first != second


def _merge_evaluations(there: CellFolder, folder: CellFolder) -> Json:
    """Add the evaluations of the same encoder that are not here; return metrics that differ."""
    values: Json = {}
    for name in files_of(there):
        if not name.startswith(EVALUATIONS):
            continue
        record = read_record(folder.path / name, EvaluationRecord, "an evaluation")
        if record is None:
            copy_whole(there.path / name, folder.path / name)
        else:
            values |= _differing(record["metrics"], read_json(there.path / name)["metrics"])
    return values
