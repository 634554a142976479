"""Export finished cells as compressed tables per experiment and suite, with digests.

Cells that diverged are exported too, since divergence is a result. Other failures are faults of a
machine or of its data and stay there.
"""

import json
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from bench.cells.cell import Cell
from bench.errors import Damaged
from bench.files.atomic import only_writer, to_json, to_npz, write_whole
from bench.files.messages import warn
from bench.files.regular import sha256_of_file
from bench.results.digests import DIGESTS
from bench.results.folder import UNTIL, CellFolder, damage_of
from bench.results.provenance import flatten
from bench.results.standing import LOSSES
from bench.results.store import Store
from bench.results.tables import CELL, MESSAGE, SAME, Arrays, CellRow, Tables, read_manifest
from bench.text import csv_text


def export_cells(
    cells: Sequence[Cell],
    store: Store,
    folder: Path,
    *,
    suite: str | None = None,
    read: Collection[str] | None = None,
    of_one_seed: Collection[str] = (),
) -> int:
    """Add the finished cells to the tables in `folder`; return their number.

    Cells that diverged are added to a table of their own, and are not counted.

    Args:
        cells: the cells; damaged ones are reported and omitted.
        store: the results folder.
        folder: folder of the tables.
        suite: suite of the tables; None means tables per experiment only.
        read: names of the metrics whose histories are exported and of the exported arrays; None
            means all.
        of_one_seed: names of arrays that are exported of the lowest finished seed alone.
    """
    by_experiment: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_experiment[cell.experiment].append(cell)
    total = 0
    with only_writer(folder):
        _drop_torn_manifest(folder)
        for name, group in by_experiment.items():
            tables = Tables(folder, f"{name}.{suite}" if suite else name)
            total += _export(tables, group, store, read, of_one_seed)
    return total


def _export(
    tables: Tables,
    cells: Sequence[Cell],
    store: Store,
    read: Collection[str] | None,
    of_one_seed: Collection[str],
) -> int:
    """Add the finished ones of an experiment's cells to its tables."""
    done, failed = list[tuple[Cell, CellFolder]](), dict[str, CellRow]()
    for cell, folder in ((cell, store.folder(cell)) for cell in cells):
        if not folder.is_done:
            if (message := folder.divergence()) is not None:
                fields = cell.model_dump(mode="json")
                failed[cell.id] = CellRow(fields, {}, {MESSAGE: message})
        elif (why := damage_of(folder, whole=True)) is not None:
            warn(f"{why}; the cell is left out {UNTIL}")
        else:
            done.append((cell, folder))
    if done or failed:
        parts = ("rows", "arrays", "histories", "diverged")
        rows, arrays, histories, diverged = (_kept(tables, part) for part in parts)
        lowest = min((cell.seed for cell, _ in done), default=0)
        for cell, folder in done:
            metrics, provenance = folder.result()
            rows[cell.id] = CellRow(cell.model_dump(mode="json"), metrics, flatten(provenance))
            omitted = () if cell.seed == lowest else of_one_seed
            arrays[cell.id] = _arrays(folder, read, omitted)
            histories[cell.id] = _history(folder, read)
        diverged = {name: r for name, r in (diverged | failed).items() if name not in rows}
        write_tables(tables, rows, arrays, histories, diverged)
    return len(done)


def write_tables(
    tables: Tables,
    rows: Mapping[str, CellRow],
    arrays: Mapping[str, Arrays],
    histories: Mapping[str, Sequence[dict[str, str]]],
    diverged: Mapping[str, CellRow],
) -> None:
    """Replace a set of tables and its digests.

    Args:
        tables: the set.
        rows: row of each cell that finished, by id.
        arrays: arrays by id; those of cells without a row are left out.
        histories: lines of histories by id; those of cells without a row are left out.
        diverged: row of each cell that diverged, by id.
    """
    _note_digests(tables, [])  # whoever is killed below leaves tables without digests
    _write_table(tables.cells_file, [rows[name].texts(name) for name in sorted(rows)])
    lines = [{CELL: name} | line for name in sorted(rows) for line in histories.get(name, [])]
    _write_table(tables.history_file, lines)
    _write_arrays(tables.arrays_file, {name: arrays.get(name, {}) for name in rows})
    _write_table(tables.diverged_file, [diverged[name].texts(name) for name in sorted(diverged)])
    _note_digests(tables, tables.files)


def _kept(tables: Tables, part: str) -> dict[str, Any]:
    """Return what tables hold already; nothing, with a report, if it is damaged and replaced."""
    try:
        return dict(getattr(tables, part))
    except Damaged as fault:
        warn(f"{fault}; this export writes only the selected cells: export the other cells again")
        return {}


def _arrays(folder: CellFolder, read: Collection[str] | None, omitted: Collection[str]) -> Arrays:
    """Return the arrays of a cell that are exported."""
    kept = folder.arrays().items()
    return {k: v for k, v in kept if (read is None or k in read) and k not in omitted}


def _history(folder: CellFolder, read: Collection[str] | None) -> list[dict[str, str]]:
    """Return the lines of a history, of the exported metrics; none if there are none of these."""
    if read is not None and not read:
        return []
    return [
        {k: history_entry(k, v) for k, v in record.items() if read is None or k in {"step", *read}}
        for record in folder.history(finished=True)
    ]


def history_entry(name: str, value: float) -> str:
    """Return an entry of a history; a loss with the seven digits of single precision."""
    return f"{value:.7g}" if name in LOSSES and isfinite(value) else json.dumps(value)


def _note_digests(tables: Tables, files: Sequence[Path]) -> None:
    """Write down the digests of these files of a set of tables, next to those of other sets."""
    own = {path.name for path in tables.files}
    digests = {name: v for name, v in read_manifest(tables.root).items() if name not in own}
    digests |= {path.name: v for path in files if (v := sha256_of_file(path)) is not None}
    write_whole(tables.root / DIGESTS, to_json(digests))


def _drop_torn_manifest(folder: Path) -> None:
    """Remove a torn record of digests, which would keep every table of the folder from use."""
    try:
        read_manifest(folder)
    except Damaged as fault:
        warn(f"{fault}; the digests of tables that this export does not write are lost")
        (folder / DIGESTS).unlink()


def _write_arrays(path: Path, arrays: dict[str, Arrays]) -> None:
    """Write the arrays; of equal arrays only the first, and the names of the others."""
    flat, first = dict[str, Any](), dict[Any, str]()
    same = list[tuple[str, str]]()
    for cell in sorted(arrays):
        for name, value in arrays[cell].items():
            key = f"{cell}/{name}"
            kept = first.setdefault((value.dtype, value.shape, value.tobytes()), key)
            if kept == key:
                flat[key] = value
            else:
                same.append((key, kept))
    if same:
        flat[SAME] = np.array(same)
    if flat:
        write_whole(path, to_npz(flat))
    else:
        path.unlink(missing_ok=True)


def _write_table(path: Path, lines: Sequence[dict[str, str]]) -> None:
    if not lines:
        path.unlink(missing_ok=True)
        return
    names = list(dict.fromkeys(name for line in lines for name in line))
    rows = [names, *([line.get(name, "") for name in names] for line in lines)]
    content = csv_text(rows).encode()
    is_packed = path.suffix == ".gz"
    write_whole(path, _packed(content) if is_packed else content)


def _packed(content: bytes) -> bytes:
    """Return a gzip file without a time. Z_FILTERED makes tables of numbers a tenth smaller."""
    packer = zlib.compressobj(9, wbits=31, strategy=zlib.Z_FILTERED)
    return packer.compress(content) + packer.flush()
