"""Finished cells as tables, one set an experiment: written by `bench export`, read as text.

    <folder>/<experiment>.csv          a row a cell: id, settings, metric.*, origin.*
    <folder>/<experiment>.history.csv  a row a history record: id, step, metrics
    <folder>/<experiment>.arrays.npz   the arrays kept, named id/array, if there are any

Numbers are written so that they read back as the same float.
"""

import csv
import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.files.atomic import to_npz, write_whole
from bench.files.messages import warn
from bench.results.damage import damage_of
from bench.results.folder import CellFolder
from bench.results.provenance import flatten
from bench.results.store import Store

METRIC, PROVENANCE = "metric.", "origin."  # what the names of such columns begin with

Row = dict[str, str]
Arrays = dict[str, np.ndarray[Any, Any]]


class Tables:
    """The exported tables of an experiment: a file is read when something in it is asked for."""

    def __init__(self, root: Path, experiment: str) -> None:
        """Name the files; nothing is read yet."""
        self.cells_file = root / f"{experiment}.csv"
        self.history_file = root / f"{experiment}.history.csv"
        self.arrays_file = root / f"{experiment}.arrays.npz"

    @cached_property
    def rows(self) -> dict[str, Row]:
        """The row of each cell, by its id."""
        names, lines = _read_lines(self.cells_file)
        rows = [dict(zip(names, line, strict=True)) for line in lines]
        return {row["id"]: row for row in rows}

    @cached_property
    def arrays(self) -> dict[str, Arrays]:
        """The arrays of each cell that has some, by its id."""
        arrays: dict[str, Arrays] = defaultdict(dict)
        try:
            with np.load(self.arrays_file, allow_pickle=False) as archive:
                for key in archive.files:
                    cell, _, name = key.partition("/")
                    arrays[cell][name] = archive[key]
        except FileNotFoundError:
            pass
        except (OSError, EOFError, ValueError, zipfile.BadZipFile) as fault:
            raise StoreError(f"{self.arrays_file}: cannot be read ({fault})") from fault
        return dict(arrays)

    @cached_property
    def history_names(self) -> list[str]:
        """The columns of the histories."""
        return self._histories[0]

    @cached_property
    def history_lines(self) -> dict[str, list[list[str]]]:
        """The lines of each cell's history as text, by its id."""
        names, lines = self._histories
        at = names.index("id") if names else 0
        by_cell: dict[str, list[list[str]]] = defaultdict(list)
        for line in lines:
            by_cell[line[at]].append(line)
        return dict(by_cell)

    @cached_property
    def _histories(self) -> tuple[list[str], list[list[str]]]:
        return _read_lines(self.history_file)

    def metrics(self, name: str) -> dict[str, float]:
        """Return the metrics of the cell with an id."""
        return self._with_prefix(name, METRIC)

    def provenance(self, name: str) -> dict[str, Any]:
        """Return the flat provenance of the cell with an id."""
        return self._with_prefix(name, PROVENANCE)

    def fields(self, name: str) -> dict[str, Any]:
        """Return the fields of the cell with an id, empty if it is not there."""
        return {
            k: _number(v, self.cells_file)
            for k, v in self.rows.get(name, {}).items()
            if k != "id" and v and not k.startswith((METRIC, PROVENANCE))
        }

    def arrays_of(self, name: str) -> Arrays:
        """Return the arrays of the cell with an id."""
        return self.arrays.get(name, {})

    def history(self, name: str) -> list[dict[str, float]]:
        """Return the records of a cell, parsed at once: there are millions of numbers."""
        lines = self.history_lines.get(name, [])
        texts = ([v or "null" for v in line if v != name] for line in lines)
        names = [k for k in self.history_names if k != "id"]
        try:
            values = json.loads("[" + ",".join("[" + ",".join(t) + "]" for t in texts) + "]")
        except ValueError:
            values = [
                [_number(v or "null", self.history_file) for v in line if v != name]
                for line in lines
            ]
        return [
            {k: v for k, v in zip(names, line, strict=True) if v is not None} for line in values
        ]

    def contents(self, name: str) -> list[bytes]:
        """Return all that the tables hold of the cell with an id, as bytes."""
        texts = (self.rows[name], self.history_lines.get(name, []))
        arrays = self.arrays_of(name)
        return [
            *(json.dumps(text).encode() for text in texts),
            *(arrays[key].tobytes() for key in sorted(arrays)),
        ]

    def _with_prefix(self, name: str, prefix: str) -> dict[str, Any]:
        return {
            k.removeprefix(prefix): _number(v, self.cells_file)
            for k, v in self.rows[name].items()
            if k.startswith(prefix) and v
        }


def export_cells(cells: Sequence[Cell], store: Store, folder: Path) -> int:
    """Add the finished ones of the cells to the tables in `folder`; return how many there were."""
    by_experiment: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_experiment[cell.experiment].append(cell)
    return sum(_export(Tables(folder, name), own, store) for name, own in by_experiment.items())


def _export(tables: Tables, cells: Sequence[Cell], store: Store) -> int:
    """Add the finished ones of an experiment's cells to its tables."""
    rows, arrays = dict(tables.rows), dict(tables.arrays)
    names = tables.history_names
    lines = {
        cell: [dict(zip(names, line, strict=True)) for line in own]
        for cell, own in tables.history_lines.items()
    }
    count = 0
    for cell in cells:
        folder = store.folder(cell)
        if not folder.is_done:
            continue
        if (why := damage_of(folder, whole=True)) is not None:
            warn(f"{why}; it is left out")
            continue
        count += 1
        rows[cell.id] = _row(cell, folder.metrics() or {}, folder)
        arrays[cell.id] = folder.arrays()
        lines[cell.id] = [
            {"id": cell.id} | {k: json.dumps(v) for k, v in record.items()}
            for record in folder.history(finished=True)
        ]
    if count:
        ordered = sorted(rows)
        _write_table(tables.cells_file, [rows[name] for name in ordered])
        _write_table(
            tables.history_file, [line for name in ordered for line in lines.get(name, [])]
        )
        _write_arrays(tables.arrays_file, arrays)
    return count


def _row(cell: Cell, metrics: dict[str, float], folder: CellFolder) -> Row:
    fields = cell.model_dump(mode="json") | {
        **{METRIC + k: v for k, v in metrics.items()},
        **{PROVENANCE + k: v for k, v in flatten(folder.provenance()).items()},
    }
    return {"id": cell.id} | {k: json.dumps(v) for k, v in fields.items()}


def _write_arrays(path: Path, arrays: dict[str, Arrays]) -> None:
    flat = {f"{i}/{name}": value for i in sorted(arrays) for name, value in arrays[i].items()}
    if flat:
        write_whole(path, to_npz(flat))


def _write_table(path: Path, rows: Sequence[Row]) -> None:
    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names] + [[row.get(name, "") for name in names] for row in rows]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    write_whole(path, buffer.getvalue().encode())


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
        why = f"line {torn + 2} has {len(lines[torn])} columns, not {len(names)}"
        raise StoreError(f"{path}: cannot be read as CSV ({why})")
    return names, lines


def _number(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError as fault:
        raise StoreError(f"{path}: cannot be read: {text!r} ({fault})") from fault
