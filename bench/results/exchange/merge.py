"""Finished cells of other results folders, added to this one without overwriting any.

A cell is added under a claim, as if an attempt computed it: each file appears whole and the summary
last, so that nobody sees half a cell, and of a process killed half-way only a dead claim is left.
"""

import math
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.cells import CELLS
from bench.errors import StoreError
from bench.files.atomic import copy_whole, read_json, sync_folder
from bench.files.regular import sha256_of_file
from bench.record import Json
from bench.results.arrays import read_arrays
from bench.results.attempts import Attempt
from bench.results.digests import DIGESTS, ENCODER, EVALUATIONS, TRAINED
from bench.results.exchange.entry import Entry, finished
from bench.results.exchange.read_tar import read_archive
from bench.results.exchange.validate import (
    Arrays,
    Checked,
    CheckEncoder,
    OtherCode,
    check_all,
    check_cell,
)
from bench.results.exported import holds_tables
from bench.results.folder import CellFolder
from bench.results.lease import heartbeat
from bench.results.owner import Owner
from bench.results.provenance import flatten
from bench.results.records import EvaluationRecord, read_record
from bench.results.store import Store

IMPORT = "import"  # on whose behalf the attempt was made
POLL_S = 0.05  # while another process adds the same cell
NO_CAUSES = ("attempt", "began", "peak_memory_gb", "wall_s")  # of other numbers, in provenance


class Source(Protocol):
    """Where entries come from."""

    path: Path
    left_out: list[Json]

    def entries(self, trainings: set[str]) -> Generator[Entry, None, None]:
        """Yield cells, then the encoders of these trainings."""


@dataclass
class Archive:
    """A file that `bench export` wrote."""

    path: Path
    left_out: list[Json] = field(default_factory=list)

    def entries(self, trainings: set[str]) -> Generator[Entry, None, None]:  # noqa: ARG002 - it has its own
        """Yield what is in it."""
        yield from read_archive(self.path)


@dataclass
class Folder:
    """Another results folder, such as the copy of another machine's."""

    path: Path
    encoders: bool = False
    left_out: list[Json] = field(default_factory=list)  # cells that this code does not have

    def entries(self, trainings: set[str]) -> Generator[Entry, None, None]:
        """Yield its finished cells and, if asked for, the encoders that they speak of.

        Raises:
            StoreError: there is no such folder.
        """
        if not self.path.is_dir():
            raise StoreError(f"{self.path}: no such results folder")
        self.left_out = []
        for entry in (p for kind in sorted(CELLS) for p in finished(self.path, kind)):
            try:
                check_cell(entry)
            except OtherCode as fault:
                record = {"id": entry.id, "experiment": entry.kind}
                self.left_out.append(record | {"why": str(fault)})
            else:
                yield entry
        if self.encoders:
            yield from (p for p in finished(self.path, TRAINED) if p.id in trainings)


@dataclass
class Merged:
    """What came of it: cells by number; encoders are counted where they were added."""

    added: int = 0
    same: int = 0
    encoders: int = 0
    left_out: list[Json] = field(default_factory=list)
    conflicts: list[Json] = field(default_factory=list)
    busy: list[Json] = field(default_factory=list)


def merge(sources: Sequence[Source], store: Store, check_encoder: CheckEncoder) -> Merged:
    """Add what is finished there and not here; memory does not grow with the number of cells.

    Args:
        sources: looked at twice: nothing is written before all in them was found sound.
        store: where it is added.
        check_encoder: raises ValueError where a file holds no weights.

    Returns:
        What was added, what was there already with the same numbers, and what was left alone: other
        numbers (conflicts) and cells that a living process computes right now (busy).

    Raises:
        StoreError: in one line, which file of which source is wrong and how, or which has nothing.
    """
    for source in sources:
        if not sum(1 for _ in _checked(source, check_encoder)) and not source.left_out:
            tables = f", but exported tables, which `--results {source.path}` reads"
            read = tables if holds_tables(source.path) else ""
            raise StoreError(f"{source.path}: no finished cell in it{read}")
    store.check_writable()
    merged = Merged()
    for source in sources:
        for checked in _checked(source, check_encoder):
            _merge_one(checked, store, merged)
        merged.left_out += source.left_out
    return merged


def _checked(source: Source, check_encoder: CheckEncoder) -> Iterator[Checked]:
    trainings: set[str] = set()
    with closing(source.entries(trainings)) as entries:  # so that what is temporary is removed
        yield from check_all(entries, trainings, check_encoder)


def _merge_one(checked: Checked, store: Store, merged: Merged) -> None:
    entry = checked.entry
    folder = CellFolder(store.root / entry.kind / entry.id)
    while not folder.is_done:
        attempt = folder.claim(checked.cell, Owner.me(), IMPORT, retry_before=math.inf)
        if attempt is not None:
            if _add(checked, folder, attempt):
                merged.added += checked.cell is not None
                merged.encoders += checked.cell is None
                return
        elif _is_busy(folder):
            merged.busy.append({"id": entry.id, "experiment": entry.kind})
            return
        else:
            time.sleep(POLL_S)
    conflict = _compare(checked, folder)
    if conflict is not None:
        merged.conflicts.append(conflict)
    else:
        merged.same += checked.cell is not None


def _is_busy(folder: CellFolder) -> bool:
    """Whether a living process computes it; one that adds it too is soon done."""
    last = folder.last_attempt()
    return last is not None and last.state == "running" and last.record["launch"] != IMPORT


def _add(checked: Checked, folder: CellFolder, attempt: Attempt) -> bool:
    """Copy the files, the summary last; return whether they were added."""
    summary = folder.summary_file.name
    try:
        # of an attempt that came to nothing
        for stale in (folder.arrays_file, folder.history_file, folder.path / DIGESTS):
            if stale.name not in checked.names:
                stale.unlink(missing_ok=True)
        with heartbeat(attempt.path):
            for name in checked.names:
                if name != summary:
                    copy_whole(checked.entry.path / name, folder.path / name)
        if attempt.is_mine() and not folder.is_done:
            copy_whole(checked.entry.path / summary, folder.summary_file)
            sync_folder(folder.path)
            folder.remove_checkpoint()
            return True
        return False
    finally:
        if attempt.is_mine():
            attempt.end("done" if folder.is_done else "interrupted")


def _compare(checked: Checked, folder: CellFolder) -> Json | None:
    """Return how the numbers here and there differ; None if they are the same."""
    here, there = folder.metrics() or {}, checked.metrics
    names = sorted(here.keys() | there.keys())
    values = {n: [here.get(n), there.get(n)] for n in names if here.get(n) != there.get(n)}
    arrays = _differing(_arrays(folder), checked.arrays)
    if checked.cell is None:
        files = (root / ENCODER for root in (folder.path, checked.entry.path))
        arrays += [ENCODER] if len(set(map(sha256_of_file, files))) > 1 else []
    if checked.cell is None and not values and not arrays:
        values = _merge_evaluations(checked, folder)
    if not values and not arrays:
        return None
    stored = flatten(folder.provenance())
    given = flatten(read_json(checked.entry.path / "provenance.json"))
    origin = {
        name: [stored.get(name), given.get(name)]
        for name in sorted(stored.keys() | given.keys())
        if stored.get(name) != given.get(name) and name.split(".")[-1] not in NO_CAUSES
    }
    return {
        "id": checked.entry.id,
        "experiment": checked.entry.kind,
        "metrics": values,
        "arrays": arrays,
        "origin": origin,
    }


def _arrays(folder: CellFolder) -> Arrays:
    if not folder.arrays_file.exists():
        return {}
    try:
        return read_arrays(folder.arrays_file)
    except ValueError as fault:
        raise StoreError(f"{folder.arrays_file}: cannot be read ({fault})") from fault


def _differing(here: Arrays, there: Arrays) -> list[str]:
    """Return the names of arrays that are not the same to the bit."""

    def same(name: str) -> bool:
        if name not in here or name not in there:
            return False
        a, b = here[name], there[name]
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

    return sorted(name for name in here.keys() | there.keys() if not same(name))


def _merge_evaluations(checked: Checked, folder: CellFolder) -> Json:
    """Add the evaluations of the same encoder that are not here; return metrics that differ."""
    values: Json = {}
    for name in checked.names:
        if not name.startswith(EVALUATIONS):
            continue
        given = read_json(checked.entry.path / name)["metrics"]
        record = read_record(folder.path / name, EvaluationRecord, "an evaluation")
        if record is None:
            copy_whole(checked.entry.path / name, folder.path / name)
            continue
        stored = record["metrics"]
        for metric in sorted(stored.keys() | given.keys()):
            if stored.get(metric) != given.get(metric):
                values[metric] = [stored.get(metric), given.get(metric)]
    return values
