"""Check every file of finished cells, or of a results folder, for damage."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from bench.cells import CELLS
from bench.cells.cell import Cell, identity
from bench.cells.pretrain import Pretrain
from bench.errors import BenchError, Damaged, StoreError
from bench.files.regular import check_zip
from bench.results.attempts import attempt_files, read_attempt
from bench.results.digests import (
    DIGESTS,
    ENCODER,
    EVALUATIONS,
    MOST_BYTES,
    TRAINED,
    check_files,
)
from bench.results.folder import CellFolder, finished_in, is_id, strays_in
from bench.results.names import table_files
from bench.results.records import (
    EvaluationRecord,
    LaunchRecord,
    SubmissionRecord,
    first_line,
    read_record,
)
from bench.results.tables import (
    GONE,
    check_unverified,
    missing_tables,
    read_manifest,
    read_table,
)
from bench.text import foreign_text

_QUANTITY = re.compile("[a-z][a-z0-9_]{0,99}")
"""Names that a method's own code may give to a quantity; an encoder's folder does not say which
method it has."""
CheckEncoder = Callable[[Path], None]  # raises ValueError, with why it is none


@dataclass(frozen=True)
class Checked:
    """A finished cell or trained encoder without damaged files."""

    folder: CellFolder
    cell: Cell | None  # None: a trained encoder
    metrics: dict[str, float]
    verified: bool  # whether its files have digests, which then are right


class OtherCode(StoreError):
    """Raised for a cell of another version, or with settings that this version lacks."""


def files_of(folder: CellFolder) -> list[str]:
    """Return the names of files that are copied with a finished cell or trained encoder."""
    evaluations = (folder.path / EVALUATIONS).glob("*.json")
    names = [
        *MOST_BYTES,
        DIGESTS,
        *(f"{EVALUATIONS}/{p.name}" for p in evaluations if is_id(p.stem)),
    ]
    return sorted(name for name in names if (folder.path / name).is_file())


def check(folder: CellFolder, check_encoder: CheckEncoder | None = None) -> Checked:
    """Check every file of a finished cell or trained encoder.

    Args:
        folder: folder of the cell or encoder.
        check_encoder: function that checks a file of weights; None skips them.

    Raises:
        StoreError: a file is damaged; the message names it.
    """
    verified = check_files(folder.path)
    cell = None if folder.kind == TRAINED else check_cell(folder)
    metrics, provenance = folder.result()
    if cell is not None and not provenance:
        raise Damaged(f"{folder.provenance_file}: this file is missing or empty")
    may_add = cell is None or getattr(cell, "target", None) == "own"
    named = [name for name in metrics if not (may_add and _QUANTITY.fullmatch(name))]
    _check_names(folder.summary_file, named, (cell or Pretrain).metrics, folder.kind)
    folder.history(finished=True)
    folder.arrays()
    if cell is None:
        _check_encoder(folder.path / ENCODER, check_encoder, verified)
        for name in files_of(folder):
            if name.startswith(EVALUATIONS):
                _check_evaluation(folder, folder.path / name)
    return Checked(folder, cell, metrics, verified)


def check_cell(folder: CellFolder) -> Cell:
    """Return the cell of a folder.

    Raises:
        OtherCode: this version of bench lacks the cell's version or a setting.
        StoreError: the folder has no cell or the wrong cell.
    """
    fields, path = folder.fields(), folder.cell_file
    if fields is None:
        raise Damaged(f"{path}: this file is missing")
    if fields.get("experiment") != folder.kind:
        raise Damaged(
            f"{path}: this is a cell of a different experiment, "
            f"{foreign_text(fields.get('experiment'))}"
        )
    kind = CELLS[folder.kind]
    version = kind.model_fields["version"].default
    if fields.get("version") != version:
        actual = foreign_text(fields.get("version"))
        raise OtherCode(
            f"{path}: the cell was computed by version {actual} of {folder.kind}, but "
            f"this code has version {version}"
        )
    try:
        cell = kind.model_validate(fields)
    except BenchError:
        raise
    except ValidationError as fault:
        raise OtherCode(f"{path}: {foreign_text(first_line(fault))}") from None
    if cell.id != folder.name:
        raise Damaged(
            f"{path}: the file describes cell {cell.id}, which is not the name of its folder"
        )
    return cell


def _check_names(path: Path, names: Iterable[str], known: Iterable[str], kind: str) -> None:
    for name in names:
        if name not in known:
            raise Damaged(f"{path}: experiment {kind} has no metric {foreign_text(name)}")


def _check_evaluation(folder: CellFolder, path: Path) -> None:
    record = read_record(path, EvaluationRecord, "an evaluation")
    assert record is not None
    fields = {"training": folder.name, "evaluation": record["evaluation"]} | record["protocol"]
    if identity(fields) != path.stem:
        raise Damaged(
            f"{path}: the file holds evaluation {identity(fields)}, which does not match its name"
        )
    _check_names(path, record["metrics"], Pretrain.metrics, folder.kind)


def _check_encoder(path: Path, check_encoder: CheckEncoder | None, verified: bool) -> None:
    if not path.exists():
        raise Damaged(f"{path}: this file is missing")
    if not verified:
        check_zip(path)
    if check_encoder is not None:
        try:
            check_encoder(path)
        except ValueError as fault:
            raise Damaged(
                f"{path}: the file does not hold valid weights ({foreign_text(str(fault))})"
            ) from fault


@dataclass
class Inspected:
    """Result of an inspection."""

    cells: int = 0  # finished and sound
    encoders: int = 0
    unverified: int = 0  # of these, those without digests
    tables: int = 0  # sound files of exported tables
    unverified_tables: int = 0  # of these, those that have no digest
    damaged_tables: int = 0  # of the faults
    faults: list[str] = field(default_factory=list)
    strays: list[Path] = field(default_factory=list)  # files and folders that belong to nothing
    other: list[str] = field(default_factory=list)  # cells that this code does not have


def inspect(root: Path) -> Inspected:
    """Check every file of a results folder: cells, encoders, attempts, launches, tables.

    Args:
        root: the results folder.
    """
    inspected = Inspected()
    for folder in (folder for kind in (*CELLS, TRAINED) for folder in finished_in(root, kind)):
        try:
            checked = check(folder)
        except OtherCode as fault:
            inspected.other.append(str(fault))
        except StoreError as fault:
            inspected.faults.append(str(fault))
        else:
            inspected.cells += checked.cell is not None
            inspected.encoders += checked.cell is None
            inspected.unverified += not checked.verified
    inspected.strays = [path for kind in (*CELLS, TRAINED) for path in strays_in(root, kind)]
    inspected.faults += _faults_of_others(root)
    _inspect_tables(root, inspected)
    return inspected


def _inspect_tables(root: Path, inspected: Inspected) -> None:
    """Hold the files of exported tables against their digests, where they have some."""
    files = table_files(root)
    try:
        digests = read_manifest(root)
        gone = missing_tables(root)
    except StoreError as fault:
        inspected.faults.append(str(fault))
        inspected.damaged_tables += 1
        return
    inspected.faults += [f"{root / name}: {GONE}; export it again" for name in gone]
    inspected.damaged_tables += len(gone)
    for path in files:
        try:
            read_table(path)
            if path.name not in digests:
                check_unverified(path)
        except StoreError as fault:
            inspected.faults.append(str(fault))
            inspected.damaged_tables += 1
        else:
            inspected.tables += 1
            inspected.unverified_tables += path.name not in digests


def _faults_of_others(root: Path) -> Iterator[str]:
    """Yield what is wrong with attempts, checkpoints, launches and submissions."""
    launches = root / "launches"
    looks: list[Callable[[], object]] = []
    folders = (p for kind in (*CELLS, TRAINED) for p in sorted((root / kind).glob("*")))
    for folder in filter(Path.is_dir, folders):
        looks += [partial(read_attempt, path) for path in attempt_files(folder / "attempts")]
        looks.append(partial(check_zip, CellFolder(folder).checkpoint_file))
    for path in sorted(launches.glob("*.json")):
        looks.append(partial(read_record, path, LaunchRecord, "a launch"))
    for path in sorted(launches.glob("*/*/submission.json")):
        looks.append(partial(read_record, path, SubmissionRecord, "a submission"))
    for look in looks:
        try:
            look()
        except StoreError as fault:
            yield str(fault)
