"""The results folder: states of cells (done, running, queued, failed or missing)."""

import errno
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.cells.cell import Cell
from bench.errors import Diverged, StoreError
from bench.files.atomic import raise_if_disk_failed, to_json, write_whole
from bench.files.messages import warn
from bench.results.digests import TRAINED
from bench.results.folder import AS_MISSING, CellFolder, Folders, damage_of, discard
from bench.results.lease import heartbeat
from bench.results.owner import LEASE_S, Owner
from bench.results.records import LaunchRecord, read_records
from bench.results.tables import Exported


class State(StrEnum):
    """State of a cell in the store."""

    DONE = "done"
    RUNNING = "running"
    QUEUED = "queued"
    FAILED = "failed"
    MISSING = "missing"
    STALE = "stale"


OWN_CODE = ("loss", "evaluate", "record")
"""Settings that may name a file of one's own, whose digest is the setting `..._file`."""
SLURM, ELSEWHERE = KEPT = ("slurm", "elsewhere")  # in the folder of launches: what was submitted
NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP)
"""Errors of file systems without hard links."""
PROBE_BYTES = 2**14  # more than any record, less than a checkpoint
OVER = (State.DONE, State.FAILED)
"""States of cells that `bench run` skips unless it retries failures."""


@dataclass(frozen=True)
class CellState:
    """State of a cell; for a failure also its reason, message and log."""

    state: State
    attempts: int = 0
    reason: str | None = None
    message: str | None = None
    log: str | None = None
    table: str | None = None  # that says so, if no attempt here does
    job: str | None = None  # of Slurm, while it runs
    lacks: tuple[str, ...] = ()  # metrics that its kept encoder has to be evaluated for
    edited: tuple[str, ...] = ()  # of a stale cell: settings whose files were edited


DONE, QUEUED, MISSING = map(CellState, (State.DONE, State.QUEUED, State.MISSING))


@dataclass(frozen=True)
class Launch:
    """A running `bench run`: its announcement and the folder of its workers' logs."""

    path: Path
    owner: Owner
    retry_before: float  # failures older than this are tried again
    since: float  # from when on killed workers count

    @property
    def name(self) -> str:
        """Name: 12 hexadecimal digits."""
        return self.path.stem

    @property
    def logs(self) -> Path:
        """Log folder of its workers."""
        return self.path.with_suffix("")

    def is_alive(self) -> bool:
        """Whether the launcher is running."""
        return self.path.exists() and self.owner.is_alive(self.path)


@dataclass(frozen=True)
class _InTables:
    """What exported tables say of an experiment's cells."""

    done: set[str]  # ids
    diverged: dict[str, tuple[str, Path]]  # messages and tables, by id


def announced(folder: Path) -> Iterator[tuple[Path, Owner, dict[str, Any]]]:
    """Yield file, process and record of each launcher; damaged ones are reported and omitted."""
    for path, record in read_records(
        folder.glob("*.json"), LaunchRecord, "a launch", "this launch is left out"
    ):
        yield path, Owner.of(record["owner"]), record


class Store:
    """The results of any number of suites, shared by any number of processes."""

    def __init__(self, root: Path, *, have: Sequence[Path] = (), retry_before: float = 0.0) -> None:
        """Name the folder; it is made when something is first written.

        Args:
            root: the results.
            have: further folders of exported tables, whose cells count as done.
            retry_before: failures that ended before this time (seconds since 1970) do not count.
        """
        self.root, self.retry_before = root, retry_before
        self.have = (root, *have)
        self._exported: dict[str, _InTables] = {}
        self.launches = root / "launches"

    def folder(self, cell: Cell) -> CellFolder:
        """Return the cell's folder, whether it exists or not."""
        return CellFolder(self.root / cell.experiment / cell.id)

    def folders(self, cells: Sequence[Cell], data: Path) -> Folders:
        """Return the cells' folders and further folders that experiments need.

        Args:
            cells: cells of a stack.
            data: the folder of data sets.
        """
        cell_folders = [self.folder(cell) for cell in cells]
        return Folders(cell_folders, encoders=self.root / TRAINED, data=data)

    def check_writable(self) -> None:
        """Check that files and hard links can be created here.

        Raises:
            DiskFailure: the disk is full, over quota, read-only or broken.
            StoreError: writing fails for another reason.
        """
        probe = self.root / f".probe-{uuid4().hex}"
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            write_whole(probe, bytes(PROBE_BYTES))
            os.link(probe, probe.with_suffix(".link"))
        except OSError as fault:
            raise_if_disk_failed(fault, self.root)
            if fault.errno in NO_LINKS and fault.filename2:  # the link failed, not the file
                raise StoreError(
                    f"{self.root}: this file system does not support hard links (it may be a "
                    "mounted object store); choose a folder on a disk with --results, and copy "
                    "finished cells here by `bench export`"
                ) from fault
            reason = fault.strerror or str(fault)
            raise StoreError(f"{self.root}: results cannot be written here ({reason})") from fault
        finally:
            for path in (probe, probe.with_suffix(".link")):
                with suppress(OSError):
                    path.unlink()

    def states(self, cells: Sequence[Cell]) -> list[CellState]:
        """Return the state of each cell.

        Folders are listed once per experiment, for speed.
        """
        present = {name: self._ids(name) for name in {cell.experiment for cell in cells}}
        queued = self.queued()
        return [
            DONE
            if cell.id in self._in_tables(cell.experiment)
            else self._state(cell, present[cell.experiment], queued)
            for cell in cells
        ]

    def kept(self, cells: Sequence[Cell]) -> int:
        """Return the number of cells with stored data, finished or not."""
        kept = {name: self.names(name) for name in {cell.experiment for cell in cells}}
        return sum(cell.id in kept[cell.experiment] for cell in cells)

    def names(self, experiment: str) -> set[str]:
        """Return the ids of cells with stored data, here or in exported tables."""
        return self._ids(experiment) | self._in_tables(experiment)

    def _in_tables(self, experiment: str) -> set[str]:
        """Return the ids of the cells of exported tables; an id is that of one version alone."""
        return self._tables(experiment).done

    def _tables(self, experiment: str) -> _InTables:
        if experiment not in self._exported:
            tables = [Exported(folder, experiment) for folder in self.have]
            done = {name for table in tables for name in table.tables}
            diverged = {name: why for table in tables for name, why in table.diverged.items()}
            self._exported[experiment] = _InTables(done, diverged)
        return self._exported[experiment]

    def _ids(self, experiment: str) -> set[str]:
        try:
            return set(os.listdir(self.root / experiment))
        except (FileNotFoundError, NotADirectoryError):
            return set()

    def _state(self, cell: Cell, present: set[str], queued: dict[str, float]) -> CellState:
        waiting = QUEUED if cell.id in queued else MISSING
        if cell.id not in present:
            told = self._tables(cell.experiment).diverged.get(cell.id)
            if told is not None and waiting.state == State.MISSING and not self.retry_before:
                message, table = told
                return CellState(
                    State.FAILED, reason=Diverged.reason, message=message, table=str(table)
                )
            if not present or waiting.state == State.QUEUED:
                return waiting
            former = (edited for name, edited in self.former_ids(cell) if name in present)
            edited = next(former, None)
            return waiting if edited is None else CellState(State.STALE, edited=edited)
        folder = self.folder(cell)
        if os.path.exists(f"{self.root}/{cell.experiment}/{cell.id}/summary.json"):
            why = damage_of(folder)
            if why is None and not (lacking := folder.to_evaluate(cell)):
                return DONE
            if why is None:
                waiting = replace(waiting, lacks=tuple(lacking))
            else:
                warn(f"{why}; {AS_MISSING}")
        last = folder.last_attempt()
        if last is None:
            return waiting
        if last.state == "running":
            return CellState(State.RUNNING, last.number, job=last.owner.job or None)
        if last.state == "failed" and last.record["ended"] >= queued.get(
            cell.id, self.retry_before
        ):
            record, log = last.record, last.path.with_suffix(".log")
            log_file = str(log) if log.exists() else None
            return CellState(
                State.FAILED, last.number, record["reason"], record["message"], log_file
            )
        return replace(waiting, attempts=last.number)

    def former_ids(self, cell: Cell) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield a cell's ids under earlier versions or code, and settings with changed files."""
        own = {name: file for name in OWN_CODE if (file := getattr(cell, f"{name}_file", None))}
        if not own:
            yield from ((name, ()) for name in cell.former_ids)
        kept = [{file, *self._kept(cell, name)} for name, file in own.items()]
        for files in product(*map(sorted, kept)):
            changed = {name: f for name, f in zip(own, files, strict=True) if f != own[name]}
            if changed:
                update = {f"{name}_file": file for name, file in changed.items()}
                yield cell.model_copy(update=update).id, tuple(changed)

    def _kept(self, cell: Cell, setting: str) -> list[str]:
        return [path.stem for path in self.code_of(cell, setting).glob("*.py")]

    def code_of(self, cell: Cell, setting: str) -> Path:
        """Return the folder with copies of the code that a setting of a cell names."""
        return self.root / f"{setting}_files" / str(getattr(cell, setting))

    def discard_damaged(self, cells: Iterable[Cell]) -> None:
        """Remove and report finished cells with corrupt files."""
        for folder in map(self.folder, cells):
            if folder.is_done and (why := damage_of(folder, whole=True)) is not None:
                warn(f"{why}; the cell is computed again")
                discard(folder, lambda at: damage_of(at, whole=True) is not None)

    def retry_from_now(self, cells: Iterable[Cell]) -> float:
        """Return the current time (seconds since 1970) as limit for retrying failures.

        Failures with a later time, from a host whose clock is ahead, are dated back.
        """
        now = time.time()
        for cell in cells:
            last = self.folder(cell).last_attempt()
            if last is not None:
                last.date_back(now)
        return now

    def queued(self) -> dict[str, float]:
        """Return the ids in launchers' queues, and the time limit for retrying failures."""
        ids: dict[str, float] = {}
        for path, owner, launch in announced(self.launches):
            if owner.is_alive(path):
                for name in launch["cells"]:
                    ids[name] = max(ids.get(name, 0.0), launch["retry_before"])
        return ids

    def launchers_of(self, cells: Collection[str]) -> list[Owner]:
        """Return the running launchers of these cells, by cell id."""
        owners = []
        for path, owner, launch in announced(self.launches):
            held = not set(launch["cells"]).isdisjoint(cells)
            if held and not owner.job and owner.is_alive(path):
                owners.append(owner)
        return owners

    @contextmanager
    def announce(
        self, cells: Sequence[Cell], *, retry_before: float = 0.0, since: float | None = None
    ) -> Iterator[Launch]:
        """Announce that these cells are in this process's queue.

        Args:
            retry_before: failures that ended before this time (seconds since 1970) run again.
            since: time from which killed workers count (seconds since 1970); None means now.
        """
        self.sweep()
        path = self.launches / f"{uuid4().hex[:12]}.json"
        launch = Launch(path, Owner.me(), retry_before, time.time() if since is None else since)
        record = {
            "owner": launch.owner.record(),
            "cells": sorted(cell.id for cell in cells),
            "retry_before": retry_before,
        }
        write_whole(launch.path, to_json(record))
        try:
            with heartbeat(launch.path):
                yield launch
        finally:
            with suppress(OSError):
                launch.path.unlink()

    def sweep(self) -> None:
        """Remove leftovers of killed launchers: announcements, logs, incomplete files, probes."""
        readable = set()
        for path, owner, _ in announced(self.launches):
            readable.add(path)
            if not owner.is_alive(path):
                path.unlink(missing_ok=True)
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        for path in self.launches.glob("*"):
            held = path in readable or path.with_suffix(".json") in readable
            if not held and path.name not in KEPT:
                _remove_if_old(path)
        for path in self.root.glob(".*probe-*"):  # whole or half-written
            _remove_if_old(path)


def _remove_if_old(path: Path) -> None:
    """Remove a file or folder to which nobody alive can still be writing."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > LEASE_S:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
