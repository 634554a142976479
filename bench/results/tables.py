"""Finished cells as tables, written by `bench export`.

    <folder>/<experiment>.<suite>.csv.gz          row per cell: cell, settings, metrics, origin.*
    <folder>/<experiment>.<suite>.history.csv.gz  row per history record: cell, step, metrics
    <folder>/<experiment>.<suite>.arrays.npz      arrays, named id/array, if any; equal ones once
    <folder>/<experiment>.<suite>.diverged.csv.gz row per diverged cell: cell, settings, origin.*
    <folder>/digests.json                         the SHA-256 of each of these files

An entry is JSON if it can be parsed as JSON, else text. The column `metrics` names the columns of
metrics. Reading restores floats exactly, except times in the provenance: these are written to a
hundredth of a second. Tables of earlier versions can also be read: with the column `id` for the
cell, `metric.` before metrics, uncompressed files, files without a suite, or without digests.
"""

import csv
import gzip
import io
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.cells import id_of
from bench.errors import Damaged, StoreError
from bench.files.atomic import read_json
from bench.files.messages import warn
from bench.files.regular import read_regular, sha256_of
from bench.results.digests import DIGESTS
from bench.results.names import is_metric
from bench.results.provenance import fault_of_provenance
from bench.text import foreign_text

MOST_BYTES = 2**31  # of a file
CELL, METRICS = "cell", "metrics"  # columns
MESSAGE = "message"  # of a cell that diverged, in its provenance
SAME = "same"  # pairs of names: an array that is not stored, and the stored one that equals it
METRIC, PROVENANCE = "metric.", "origin."  # what the names of such columns begin with
TIMES, DECIMALS = ("began", "cpu_s", "wall_s"), 2  # in provenance, in seconds
GONE = f"this file is missing, but {DIGESTS} lists it"
FORMULA = "=+-@"  # a spreadsheet would compute what begins so

Arrays = dict[str, np.ndarray[Any, Any]]
TrainingHistory = list[dict[str, float]]


class CellRow(NamedTuple):
    """A cell's row in a table."""

    fields: dict[str, Any]
    metrics: dict[str, Any]
    provenance: dict[str, Any]

    @classmethod
    def of(cls, texts: dict[str, str]) -> "CellRow":
        """Return the row from a line of a table, given its column names."""
        row = cls({}, {}, {})
        named = texts.get(METRICS, "").split()
        for column, part, name in _columns(tuple(texts), texts.get(METRICS, "")):
            if (text := texts[column]) or column in named:  # which cannot be empty
                row[part][name] = _value(text)
        return row

    def texts(self, name: str) -> dict[str, str]:
        """Return the entries of the cell `name`; metrics named like a setting keep a prefix."""
        own = [metric for metric in self.metrics if metric not in self.fields]
        values = self.fields | {k if k in own else METRIC + k: v for k, v in self.metrics.items()}
        texts = {CELL: name} | {k: _text(v) for k, v in values.items()}
        origin = {PROVENANCE + k: _text(_short(k, v)) for k, v in self.provenance.items()}
        return texts | ({METRICS: " ".join(own)} if own else {}) | origin


def _short(name: str, value: Any) -> Any:
    """Return an entry of provenance; a time without the digits that no clock measures."""
    is_time = name.rpartition(".")[2] in TIMES and isinstance(value, float)
    return round(value, DECIMALS) if is_time else value


def _text(value: Any) -> str:
    """Return a value as JSON; text without quotes where that cannot be misread."""
    bare = isinstance(value, str) and value.isprintable() and value[:1] not in FORMULA
    return value if bare and _value(value) == value else json.dumps(value)


@lru_cache  # the rows of a table have the same few
def _columns(names: tuple[str, ...], metrics: str) -> list[tuple[str, int, str]]:
    """Return the columns of a row: the name, the part of a `CellRow`, and the name there."""
    found, of_metrics = [], {*metrics.split()}
    for name in names:
        if name in of_metrics or name.startswith(METRIC):
            found.append((name, 1, name.removeprefix(METRIC)))
        elif name.startswith(PROVENANCE):
            found.append((name, 2, name.removeprefix(PROVENANCE)))
        else:
            found.append((name, 0, name))
    return [column for column in found if column[0] not in (CELL, "id", METRICS)]


@lru_cache(maxsize=2**16)  # tables hold millions of entries, few of them different
def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


class Tables:
    """One set of exported tables; files are read on first use."""

    def __init__(self, root: Path, stem: str) -> None:
        """Name the files, which begin with `stem`; nothing is read yet."""
        self.root = root
        self.cells_file = _packed_or_plain(root / f"{stem}.csv")
        self.history_file = _packed_or_plain(root / f"{stem}.history.csv")
        self.arrays_file = root / f"{stem}.arrays.npz"
        self.diverged_file = root / f"{stem}.diverged.csv.gz"

    @property
    def of_cells(self) -> list[Path]:
        """The files without which cells are missing."""
        return [self.cells_file, self.diverged_file]

    @property
    def files(self) -> list[Path]:
        """Every file of the set, whether it exists or not."""
        return [self.cells_file, self.history_file, self.arrays_file, self.diverged_file]

    @cached_property
    def rows(self) -> dict[str, CellRow]:
        """Row of each cell, by id.

        Raises:
            StoreError: two rows have the same id, or settings do not match the id (without
                digests).
        """
        return _rows(self.cells_file)

    @cached_property
    def diverged(self) -> dict[str, CellRow]:
        """Row of each cell that diverged, by id; its provenance is a `message`.

        Raises:
            StoreError: as for `rows`.
        """
        return _rows(self.diverged_file)

    @cached_property
    def arrays(self) -> dict[str, Arrays]:
        """Arrays of each cell that has some, by id.

        Raises:
            StoreError: the file cannot be read.
        """
        arrays: dict[str, Arrays] = defaultdict(dict)
        content = read_table(self.arrays_file)
        if content is None:
            return {}
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                stored = {key: archive[key] for key in archive.files}
                same = stored.pop(SAME, np.array([])).tolist()
                stored |= {key: stored[kept] for key, kept in same}
                for key, value in stored.items():
                    cell, _, name = key.partition("/")
                    arrays[cell][name] = value
        except Exception as fault:  # numpy and zipfile raise many kinds for a torn file
            raise Damaged(f"{self.arrays_file}: the file cannot be read ({fault})") from fault
        return dict(arrays)

    @cached_property
    def histories(self) -> dict[str, list[dict[str, str]]]:
        """Text of each cell's history, by id."""
        by_cell: dict[str, list[dict[str, str]]] = defaultdict(list)
        for names, line in _read_lines(self.history_file):
            texts = {k: v for k, v in zip(names, line, strict=True) if v}
            by_cell[texts.pop(CELL, "") or texts.pop("id")].append(texts)
        return dict(by_cell)

    def metrics(self, name: str) -> dict[str, float]:
        """Return the metrics of the cell with this id.

        Raises:
            StoreError: a metric is not a finite number.
        """
        metrics = self.rows[name].metrics
        odd = next((metric for metric, value in metrics.items() if not is_metric(value)), None)
        if odd is not None:
            raise StoreError(
                f"{self.cells_file}: cell {name}: {foreign_text(odd)} is not a finite number"
            )
        return metrics

    def provenance(self, name: str) -> dict[str, Any]:
        """Return the flat provenance of the cell with this id.

        Raises:
            StoreError: a field has the wrong type.
        """
        record = self.rows[name].provenance
        if (why := fault_of_provenance(record)) is not None:
            raise StoreError(
                f"{self.cells_file}: cell {name}: a column of its origin is not valid: {why}"
            )
        return record

    def history(self, name: str) -> TrainingHistory:
        """Return a cell's history records.

        Raises:
            StoreError: the records cannot be read.
        """
        records = self.histories.get(name, [])
        texts = ("{" + ",".join(f'"{k}":{v}' for k, v in r.items()) + "}" for r in records)
        try:
            parsed: TrainingHistory = json.loads(f"[{','.join(texts)}]")
        except (ValueError, RecursionError) as fault:
            raise StoreError(
                f"{self.history_file}: {name}: the history cannot be read ({fault})"
            ) from fault
        return parsed


class Exported:
    """Cells of an experiment in all tables of a folder, read on first use."""

    def __init__(self, root: Path, experiment: str) -> None:
        """Name the tables; nothing is read yet."""
        self.root, self.experiment = root, experiment

    @cached_property
    def tables(self) -> dict[str, list[Tables]]:
        """Tables that contain each cell, by id.

        Raises:
            StoreError: two tables have different metrics for one cell.
        """
        by_cell: dict[str, list[Tables]] = defaultdict(list)
        for tables in self.sets:
            for name in tables.rows if tables.cells_file.exists() else ():
                by_cell[name].append(tables)
        for name, (first, *others) in by_cell.items():
            for other in others:
                if other.metrics(name) != first.metrics(name):
                    raise StoreError(
                        f"{first.cells_file} and {other.cells_file} have different "
                        f"metrics for cell {name}; export both suites again"
                    )
        return dict(by_cell)

    @cached_property
    def diverged(self) -> dict[str, tuple[str, Path]]:
        """Message and table of each cell that diverged, by id; another may have its later result.

        Raises:
            StoreError: as for `tables`.
        """
        sets = [tables for tables in self.sets if tables.diverged_file.exists()]
        return {
            name: (str(row.provenance.get(MESSAGE, "")), tables.diverged_file)
            for tables in sets
            for name, row in tables.diverged.items()
        }

    @cached_property
    def sets(self) -> list[Tables]:
        """Every set of the experiment's tables."""
        names = [path.name for path in self.root.glob(f"{self.experiment}.*csv*")]
        for name in missing_tables(self.root):
            if name.startswith(f"{self.experiment}."):
                of_cells = name in {
                    tables.name for tables in Tables(self.root, _stem(name)).of_cells
                }
                warn(
                    f"{self.root / name}: {GONE}; "
                    + ("its cells count as missing" if of_cells else "export it again")
                )
        return [Tables(self.root, stem) for stem in sorted({_stem(name) for name in names})]

    def fields(self, name: str) -> dict[str, Any]:
        """Return the settings of the cell with this id; empty if it does not exist."""
        return self.tables[name][0].rows[name].fields if name in self.tables else {}

    def history(self, name: str) -> TrainingHistory:
        """Return a cell's records, with the metrics of all tables."""
        first, *others = (tables.history(name) for tables in self.tables[name])
        for records in others:
            by_step = {record["step"]: record for record in records}
            first = [record | by_step.get(record["step"], {}) for record in first] or records
        return first

    def arrays(self, name: str) -> Arrays:
        """Return the arrays of the cell with this id."""
        kept = (tables.arrays.get(name, {}) for tables in self.tables[name])
        return {k: v for arrays in kept for k, v in arrays.items()}


def _rows(path: Path) -> dict[str, CellRow]:
    """Return the rows of a table of cells, by id, checked by digest or else by their ids."""
    rows: dict[str, CellRow] = {}
    is_verified = path.name in read_manifest(path.parent)
    for names, line in _read_lines(path):
        texts = dict(zip(names, line, strict=True))
        name, row = texts.get(CELL) or texts["id"], CellRow.of(texts)
        if name in rows:
            raise Damaged(f"{path}: the table has cell {foreign_text(name)} twice")
        actual = None if is_verified else id_of(str(row.fields.get("experiment")), row.fields)
        if actual not in (None, name):
            raise Damaged(
                f"{path}: cell {foreign_text(name)}: the settings in this row belong to "
                f"cell {actual}"
            )
        rows[name] = row
    return rows


def _stem(name: str) -> str:
    """Return what the names of a set of tables begin with, given one of its files."""
    stem = name.removesuffix(".gz").removesuffix(".csv").removesuffix(".npz")
    for part in (".history", ".arrays", ".diverged"):
        stem = stem.removesuffix(part)
    return stem


def _read_lines(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the names of a table's columns with each of its lines; none if there is no such file.

    Raises:
        StoreError: it is no table, or damaged.
    """
    content = read_table(path)
    if content is None:
        return
    try:
        text = gzip.decompress(content) if path.suffix == ".gz" else content
        names, *lines = [*csv.reader(io.StringIO(text.decode(), newline=""))] or [[]]
    except (OSError, EOFError, zlib.error, ValueError, csv.Error) as fault:
        raise Damaged(f"{path}: the file cannot be read as CSV ({fault})") from fault
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise Damaged(f"{path}: the table has column {foreign_text(twice[0])} twice")
    if not {CELL, "id"} & set(names):
        raise StoreError(f"{path}: the file has no column '{CELL}', so it is not an exported table")
    for i, line in enumerate(lines):
        if line and len(line) != len(names):
            why = f"line {i + 2} has {len(line)} columns instead of {len(names)}"
            raise Damaged(f"{path}: the file cannot be read as CSV ({why})")
        if line:
            yield names, line


def read_table(path: Path) -> bytes | None:
    """Return the content of an exported file; None if it does not exist.

    Raises:
        StoreError: the file is listed in `digests.json` and is corrupt or missing.
    """
    content = read_regular(path, MOST_BYTES)
    expected = read_manifest(path.parent).get(path.name)
    if content is None:
        if expected is not None:
            raise Damaged(f"{path}: {GONE}; export it again")
        return None
    if expected is not None and sha256_of(content) != expected:
        raise Damaged(
            f"{path}: the SHA-256 of this file differs from {DIGESTS}; export the table again"
        )
    return content


def check_unverified(path: Path) -> None:
    """Read and check an exported file without a digest.

    Raises:
        StoreError: the file is corrupt or was not written by an export.
    """
    tables = Tables(path.parent, _stem(path.name))
    if path == tables.arrays_file:
        _ = tables.arrays
    elif path == tables.history_file:
        _ = tables.histories
    elif path == tables.diverged_file:
        _ = tables.diverged
    elif path == tables.cells_file:
        for name in tables.rows:
            tables.metrics(name)


def read_manifest(folder: Path) -> dict[str, str]:
    """Return the digests of exported tables by file name; empty if there are none.

    Raises:
        StoreError: the file of digests is corrupt.
    """
    path = folder / DIGESTS
    try:
        record = read_json(path)
    except Damaged as fault:
        raise Damaged(
            f"{path}: this file is not a record of digests; export the tables again"
        ) from fault
    if not isinstance(record, dict | None):
        raise Damaged(f"{path}: this file is not a record of digests; export the tables again")
    return record or {}


def missing_tables(folder: Path) -> list[str]:
    """Return the names of exported files that are listed in `digests.json` but missing."""
    return [name for name in read_manifest(folder) if not (folder / name).exists()]


def _packed_or_plain(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    return path if path.exists() and not packed.exists() else packed
