"""Finished cells written as tables: one set per experiment and suite, packed, with digests."""

import gzip
import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

from bench.cells.cell import Cell
from bench.files.atomic import to_json, to_npz, write_whole
from bench.files.messages import warn
from bench.files.regular import sha256_of_file
from bench.results.damage import UNTIL, damage_of
from bench.results.digests import DIGESTS
from bench.results.folder import CellFolder
from bench.results.provenance import flatten
from bench.results.store import Store
from bench.results.table_form import METRIC, PROVENANCE, Row, plain_row
from bench.results.tables import Arrays, Tables, read_manifest
from bench.text import csv_text


def export_cells(
    cells: Sequence[Cell],
    store: Store,
    folder: Path,
    *,
    suite: str | None = None,
    history: Collection[str] | None = None,
) -> int:
    """Add the finished ones of the cells to the tables in `folder`; return how many there were.

    Args:
        cells: the cells; damaged ones are reported and left out.
        store: where they are.
        folder: of the tables.
        suite: whose tables they go to; None: to those of their experiment alone.
        history: the metrics whose histories are kept; None: all.
    """
    by_experiment: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_experiment[cell.experiment].append(cell)
    total = 0
    for name, group in by_experiment.items():
        tables = Tables(folder, f"{name}.{suite}" if suite else name)
        total += _export(tables, group, store, history)
    return total


def _export(
    tables: Tables, cells: Sequence[Cell], store: Store, history: Collection[str] | None
) -> int:
    """Add the finished ones of an experiment's cells to its tables."""
    rows, arrays = dict(tables.rows), dict(tables.arrays)
    names = tables.history_names
    lines = {
        cell: [dict(zip(names, line, strict=True)) for line in records]
        for cell, records in tables.history_lines.items()
    }
    count = 0
    for cell in cells:
        folder = store.folder(cell)
        if not folder.is_done:
            continue
        if (why := damage_of(folder, whole=True)) is not None:
            warn(f"{why}; it is left out {UNTIL}")
            continue
        count += 1
        rows[cell.id] = _row(cell, folder.metrics() or {}, folder)
        arrays[cell.id] = folder.arrays()
        lines[cell.id] = _history(cell, folder, history)
    if count:
        ordered = sorted(rows)
        _write_table(tables.cells_file, [rows[name] for name in ordered])
        _write_table(
            tables.history_file, [line for name in ordered for line in lines.get(name, [])]
        )
        _write_arrays(tables.arrays_file, arrays)
        _note_digests(tables)
    return count


def _history(cell: Cell, folder: CellFolder, kept: Collection[str] | None) -> list[Row]:
    """Return the lines of a history, of the metrics that are kept; none if that is nothing."""
    if kept is not None and not kept:
        return []
    return [
        {"id": cell.id}
        | {k: json.dumps(v) for k, v in record.items() if kept is None or k in {"step", *kept}}
        for record in folder.history(finished=True)
    ]


def _note_digests(tables: Tables) -> None:
    """Write down the digests of the files of a set of tables, beside those of others."""
    files = (tables.cells_file, tables.history_file, tables.arrays_file)
    digests = {path.name: sha256_of_file(path) for path in files}
    there = {name: digest for name, digest in digests.items() if digest is not None}
    write_whole(tables.root / DIGESTS, to_json(read_manifest(tables.root) | there))


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
    rows = [plain_row(row) for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names] + [[row.get(name, "") for name in names] for row in rows]
    content = csv_text(lines).encode()
    is_packed = path.suffix == ".gz"
    write_whole(path, gzip.compress(content, 9, mtime=0) if is_packed else content)
