"""Every file of a results folder looked at: what of it is sound, what is damaged."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.cells import CELLS
from bench.errors import Damaged, StoreError
from bench.files.sealed import check_sealed
from bench.record import Record
from bench.results.attempts import attempt_files, read_attempt
from bench.results.digests import ENCODER, TRAINED
from bench.results.exchange.entry import KINDS, finished, is_id
from bench.results.exchange.validate import OtherCode, check
from bench.results.folder import CellFolder
from bench.results.records import LaunchRecord, SubmissionRecord, read_record
from bench.results.tables import read_manifest, read_table, table_files


@dataclass
class Inspected:
    """What was found."""

    cells: int = 0  # finished and sound
    encoders: int = 0
    unverified: int = 0  # of these, those without digests
    tables: int = 0  # sound files of exported tables
    unverified_tables: int = 0  # of these, those that have no digest
    damaged_tables: int = 0  # of the faults
    faults: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)  # cells that this code does not have


def inspect(root: Path) -> Inspected:
    """Look at every file of a results folder: cells, encoders, attempts, launches, tables.

    Args:
        root: the results.
    """
    inspected = Inspected()
    for kind in (*CELLS, TRAINED):
        for entry in finished(root, kind):
            try:
                checked = check(entry)
                if not checked.verified and kind == TRAINED:
                    check_sealed(entry.path / ENCODER)
            except OtherCode as fault:
                inspected.other.append(str(fault))
            except StoreError as fault:
                inspected.faults.append(str(fault))
            else:
                inspected.cells += kind != TRAINED
                inspected.encoders += kind == TRAINED
                inspected.unverified += not checked.verified
    inspected.faults += _faults_of_others(root)
    _inspect_tables(root, inspected)
    return inspected


def _inspect_tables(root: Path, inspected: Inspected) -> None:
    """Hold the files of exported tables against their digests, where they have some."""
    files = table_files(root)
    try:
        digests = read_manifest(root) if files else {}
    except StoreError as fault:
        inspected.faults.append(str(fault))
        inspected.damaged_tables += 1
        return
    for path in files:
        try:
            read_table(path)
        except StoreError as fault:
            inspected.faults.append(str(fault))
            inspected.damaged_tables += 1
        else:
            inspected.tables += 1
            inspected.unverified_tables += path.name not in digests


def _faults_of_others(root: Path) -> Iterator[str]:
    """Yield what is wrong with attempts, checkpoints, launches and submissions."""
    for folder in (p for kind in KINDS for p in sorted((root / kind).glob("*")) if is_id(p.name)):
        for path in attempt_files(folder / "attempts"):
            try:
                read_attempt(path)
            except StoreError as fault:
                yield str(fault)
        try:
            check_sealed(CellFolder(folder).checkpoint_file)
        except Damaged as fault:
            yield str(fault)
    launches = root / "launches"
    given = sorted((launches / "slurm").glob("*/submission.json"))
    records: list[tuple[Path, type[Record], str]] = [
        *((path, LaunchRecord, "a launch") for path in sorted(launches.glob("*.json"))),
        *((path, SubmissionRecord, "a submission") for path in given),
    ]
    for path, kind, what in records:
        try:
            read_record(path, kind, what)
        except StoreError as fault:
            yield str(fault)
