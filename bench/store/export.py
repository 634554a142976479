"""Finished cells as tables, one set an experiment, and back as read-only records.

    <folder>/<experiment>.csv          a row a cell: id, settings, metric.*, origin.*
    <folder>/<experiment>.history.csv  a row a history record: id, step, metrics
    <folder>/<experiment>.arrays.npz   the arrays kept, named id/array, if there are any

Numbers are written so that they read back as the same float.
"""

import csv
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.config.record import Cell
from bench.errors import StoreError
from bench.store.files import read_json, to_npz, write_whole
from bench.store.folder import CellFolder
from bench.store.parcels import is_id
from bench.store.store import Store

Row = dict[str, str]
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Finished:
    """What is kept of a finished cell: the same from a folder and from an exported table."""

    metrics: dict[str, float]
    origin: dict[str, Any]  # flat: commit, dirty, packages, processor, device, wall_s, ...
    history: list[dict[str, float]]
    arrays: Arrays


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
        self._tables: dict[str, _Tables] = {}

    def find(self, cell: Cell) -> Finished | None:
        """Return the finished cell; None if it is not there."""
        return self.kept(cell.experiment, cell.id)

    def kept(self, experiment: str, name: str) -> Finished | None:
        """Return the finished cell with an id; None if it is not there."""
        folder = CellFolder(self.root / experiment / name)
        metrics = folder.metrics()
        if metrics is not None:
            return Finished(
                metrics, flatten(folder.provenance()), folder.history(), folder.arrays()
            )
        return self._exported(experiment).find(name)

    def names(self, experiment: str) -> list[str]:
        """Return the ids of the finished cells of an experiment."""
        folder = self.root / experiment
        there = sorted(filter(is_id, os.listdir(folder))) if folder.is_dir() else []
        done = [name for name in there if CellFolder(folder / name).is_done]
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
            known = [folder.summary_file.read_bytes()]
        except FileNotFoundError:
            return self._exported(cell.experiment).stamp(cell.id)
        for path in (folder.provenance_file, folder.history_file, folder.arrays_file):
            known.append(path.read_bytes() if path.exists() else b"")
        return _digest(known)

    def _exported(self, experiment: str) -> "_Tables":
        if experiment not in self._tables:
            self._tables[experiment] = _Tables(self.root, experiment)
        return self._tables[experiment]


class _Tables:
    """The exported tables of an experiment as text: a number is read when its cell is asked for."""

    def __init__(self, root: Path, experiment: str) -> None:
        self.main, self.side, deep = _paths(root, experiment)
        self.rows = {row["id"]: row for row in _read_table(self.main)}
        self.arrays = _read_arrays(deep)
        self.lines: dict[str, list[list[str]]] = {}
        self.names, lines = _read_lines(self.side)
        at = self.names.index("id") if self.names else 0
        for line in lines:
            self.lines.setdefault(line[at], []).append(line)

    def find(self, name: str) -> Finished | None:
        row = self.rows.get(name)
        if row is None:
            return None
        return Finished(
            metrics=_with_prefix(row, "metric.", self.main),
            origin=_with_prefix(row, "origin.", self.main),
            history=self._history(name),
            arrays=self.arrays.get(name, {}),
        )

    def fields(self, name: str) -> dict[str, Any]:
        """Return the fields of the cell with an id, empty if it is not there."""
        return {
            k: _number(v, self.main)
            for k, v in self.rows.get(name, {}).items()
            if k != "id" and v and not k.startswith(("metric.", "origin."))
        }

    def _history(self, name: str) -> list[dict[str, float]]:
        """Return the lines of a cell, parsed at once: there are millions of numbers."""
        lines = self.lines.get(name, [])
        texts = ([v or "null" for v in line if v != name] for line in lines)
        names = [k for k in self.names if k != "id"]
        try:
            values = json.loads("[" + ",".join("[" + ",".join(t) + "]" for t in texts) + "]")
        except ValueError:
            values = [[_number(v or "null", self.side) for v in t if v != name] for t in lines]
        return [
            {k: v for k, v in zip(names, line, strict=True) if v is not None} for line in values
        ]

    def stamp(self, name: str) -> str | None:
        row = self.rows.get(name)
        if row is None:
            return None
        known = [json.dumps(row).encode(), json.dumps(self.lines.get(name, [])).encode()]
        arrays = self.arrays.get(name, {})
        return _digest([*known, *(arrays[key].tobytes() for key in sorted(arrays))])


def _digest(parts: Sequence[bytes]) -> str:
    known = hashlib.sha256()
    for part in parts:
        known.update(hashlib.sha256(part).digest())
    return known.hexdigest()


def flatten(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested provenance as one level: packages.torch, machine.processor, ..."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def export_cells(cells: Sequence[Cell], store: Store, folder: Path) -> int:
    """Add the finished ones of the cells to the tables in `folder`; return how many there were."""
    kinds: dict[str, list[Cell]] = {}
    for cell in cells:
        kinds.setdefault(cell.experiment, []).append(cell)
    return sum(_export_kind(kind, own, store, folder) for kind, own in kinds.items())


def _export_kind(kind: str, cells: Sequence[Cell], store: Store, folder: Path) -> int:
    main, side, deep = _paths(folder, kind)
    rows = {row["id"]: row for row in _read_table(main)}
    arrays = _read_arrays(deep)
    lines: dict[str, list[Row]] = {}
    for line in _read_table(side):
        lines.setdefault(line["id"], []).append(line)
    count = 0
    for cell in cells:
        cell_folder = store.folder(cell)
        metrics = cell_folder.metrics()
        if metrics is None:
            continue
        count += 1
        rows[cell.id] = _row(cell, metrics, cell_folder)
        arrays[cell.id] = cell_folder.arrays()
        lines[cell.id] = [
            {"id": cell.id} | {k: json.dumps(v) for k, v in line.items()}
            for line in cell_folder.history()
        ]
    if count:
        ordered = sorted(rows)
        _write_table(main, [rows[name] for name in ordered])
        _write_table(side, [line for name in ordered for line in lines.get(name, [])])
        _write_arrays(deep, arrays)
    return count


def _paths(folder: Path, kind: str) -> tuple[Path, Path, Path]:
    """Return the files of an experiment: cells, histories, arrays."""
    return (
        folder / f"{kind}.csv",
        folder / f"{kind}.history.csv",
        folder / f"{kind}.arrays.npz",
    )


def _read_arrays(path: Path) -> dict[str, Arrays]:
    """Return the arrays of each cell, by its id."""
    found: dict[str, Arrays] = {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                owner, _, own = name.partition("/")
                found.setdefault(owner, {})[own] = archive[name]
    except FileNotFoundError:
        pass
    except (OSError, ValueError, zipfile.BadZipFile) as fault:
        raise StoreError(f"{path}: cannot be read ({fault})") from fault
    return found


def _write_arrays(path: Path, arrays: dict[str, Arrays]) -> None:
    flat = {f"{i}/{name}": value for i in sorted(arrays) for name, value in arrays[i].items()}
    if flat:
        write_whole(path, to_npz(flat))


def _row(cell: Cell, metrics: dict[str, float], folder: CellFolder) -> Row:
    fields = cell.model_dump(mode="json") | {
        **{f"metric.{k}": v for k, v in metrics.items()},
        **{f"origin.{k}": v for k, v in flatten(folder.provenance()).items()},
    }
    return {"id": cell.id} | {k: json.dumps(v) for k, v in fields.items()}


def _with_prefix(row: Row, prefix: str, path: Path) -> dict[str, Any]:
    return {
        k.removeprefix(prefix): _number(v, path)
        for k, v in row.items()
        if k.startswith(prefix) and v
    }


def _number(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError as fault:
        raise StoreError(f"{path}: cannot be read: {text!r} ({fault})") from fault


def _read_table(path: Path) -> list[Row]:
    names, lines = _read_lines(path)
    return [dict(zip(names, line, strict=True)) for line in lines]


def _read_lines(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the names of a table's columns and its lines; nothing if there is no such file."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            names = next(reader, [])
            lines = [line for line in reader if line]
    except FileNotFoundError:
        return [], []
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        raise StoreError(f"{path}: cannot be read as CSV ({fault})") from fault
    if lines and "id" not in names:
        raise StoreError(f"{path}: has no column 'id'; it is no exported table")
    torn = next((i for i, line in enumerate(lines) if len(line) != len(names)), None)
    if torn is not None:
        told = f"line {torn + 2} has {len(lines[torn])} columns, not {len(names)}"
        raise StoreError(f"{path}: cannot be read as CSV ({told})")
    return names, lines


def _write_table(path: Path, rows: Sequence[Row]) -> None:
    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names] + [[row.get(name, "") for name in names] for row in rows]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    write_whole(path, buffer.getvalue().encode())
