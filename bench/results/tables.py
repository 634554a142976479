"""Finished cells as tables, written by `bench export`, read as text.

    <folder>/<experiment>.<suite>.csv.gz          a row per cell: cell, settings, metrics, origin.*
    <folder>/<experiment>.<suite>.history.csv.gz  a row per history record: cell, step, metrics
    <folder>/<experiment>.<suite>.arrays.npz      the arrays kept, named id/array, if there are any
    <folder>/digests.json                         the SHA-256 of each of these files

Tables without `.gz`, without a suite, without digests or in the former form (`table_form`) are read
too: earlier versions of this code wrote them. Numbers read back as the same float.
"""

import csv
import gzip
import io
import json
import zlib
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bench.errors import Damaged, StoreError
from bench.files.atomic import read_json
from bench.files.regular import read_regular, sha256_of
from bench.results.digests import DIGESTS
from bench.results.names import is_metric
from bench.results.provenance import fault_of_provenance
from bench.results.table_form import CELL, METRIC, PROVENANCE, Row, header_of, row_of
from bench.text import foreign_text

MOST_BYTES = 2**31  # of a file
Arrays = dict[str, np.ndarray[Any, Any]]


class Tables:
    """One set of exported tables: a file is read when something in it is asked for."""

    def __init__(self, root: Path, stem: str) -> None:
        """Name the files, which begin with `stem`; nothing is read yet."""
        self.root, self.stem = root, stem
        self.cells_file = _packed_or_plain(root / f"{stem}.csv")
        self.history_file = _packed_or_plain(root / f"{stem}.history.csv")
        self.arrays_file = root / f"{stem}.arrays.npz"

    @cached_property
    def rows(self) -> dict[str, Row]:
        """The row of each cell, by its id."""
        names, lines = _read_lines(self.cells_file)
        rows = [row_of(dict(zip(names, line, strict=True))) for line in lines]
        return {row["id"]: row for row in rows}

    @cached_property
    def arrays(self) -> dict[str, Arrays]:
        """The arrays of each cell that has some, by its id.

        Raises:
            StoreError: the file cannot be read.
        """
        arrays: dict[str, Arrays] = defaultdict(dict)
        content = read_table(self.arrays_file)
        if content is None:
            return {}
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                for key in archive.files:
                    cell, _, name = key.partition("/")
                    arrays[cell][name] = archive[key]
        except Exception as fault:  # numpy and zipfile raise many kinds for a torn file
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
        names, lines = _read_lines(self.history_file)
        return header_of(names), lines

    def metrics(self, name: str) -> dict[str, float]:
        """Return the metrics of the cell with an id.

        Raises:
            StoreError: one of them is not a finite number.
        """
        metrics = self._with_prefix(name, METRIC)
        odd = next((metric for metric, value in metrics.items() if not is_metric(value)), None)
        if odd is not None:
            raise StoreError(
                f"{self.cells_file}: {name}: {foreign_text(odd)} is not a finite number"
            )
        return metrics

    def provenance(self, name: str) -> dict[str, Any]:
        """Return the flat provenance of the cell with an id.

        Raises:
            StoreError: a field of it has another type.
        """
        record = self._with_prefix(name, PROVENANCE)
        if (why := fault_of_provenance(record)) is not None:
            raise StoreError(f"{self.cells_file}: {name}: {why}")
        return record

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


def _read_lines(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the names of a table's columns and its lines; nothing if there is no such file."""
    content = read_table(path)
    if content is None:
        return [], []
    try:
        text = gzip.decompress(content) if path.suffix == ".gz" else content
        reader = csv.reader(io.StringIO(text.decode(), newline=""))
        names = next(reader, [])
        lines = [line for line in reader if line]
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as fault:
        raise StoreError(f"{path}: cannot be read as CSV ({fault})") from fault
    if lines and not {CELL, "id"} & set(names):
        raise StoreError(f"{path}: has no column '{CELL}'; it is not an exported table")
    torn = next((i for i, line in enumerate(lines) if len(line) != len(names)), None)
    if torn is not None:
        why = f"line {torn + 2} has {len(lines[torn])} columns, not {len(names)}"
        raise StoreError(f"{path}: cannot be read as CSV ({why})")
    return names, lines


def _number(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise StoreError(f"{path}: cannot be read: {text[:100]!r} ({fault})") from fault


def read_table(path: Path) -> bytes | None:
    """Return what is in a file of an export; None if there is no such file.

    Raises:
        StoreError: it is not what was written, if `digests.json` beside it names it.
    """
    content = read_regular(path, MOST_BYTES)
    if content is None:
        return None
    expected = read_manifest(path.parent).get(path.name)
    if expected is not None and sha256_of(content) != expected:
        raise Damaged(f"{path}: has a SHA-256 that differs from {DIGESTS}; export it again")
    return content


def read_manifest(folder: Path) -> dict[str, str]:
    """Return the digests of exported tables by the names of their files; empty if none were kept.

    Raises:
        StoreError: they are torn.
    """
    path = folder / DIGESTS
    try:
        record = read_json(path)
    except Damaged as fault:
        raise Damaged(f"{path}: is not a record of digests; export the tables again") from fault
    if not isinstance(record, dict | None):
        raise Damaged(f"{path}: is not a record of digests; export the tables again")
    return record or {}


def table_files(root: Path) -> list[Path]:
    """Return every file of exported tables in a folder."""
    names = (*root.glob("*.csv"), *root.glob("*.csv.gz"), *root.glob("*.arrays.npz"))
    return sorted(path for path in names if not path.name.startswith("."))


def _packed_or_plain(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    return path if path.exists() and not packed.exists() else packed
