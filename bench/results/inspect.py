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
from bench.results.tables import read_table, table_files


@dataclass
class Inspected:
    """What was found."""

    cells: int = 0  # finished and sound
    encoders: int = 0
    unverified: int = 0  # of these, those without digests
    faults: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)  # cells that this code does not have


def inspect(root: Path) -> Inspected:
    """Look at every file of a results folder: of finished cells, encoders, attempts, launches.

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
    return inspected


def _faults_of_others(root: Path) -> Iterator[str]:
    """Yield what is wrong with attempts, checkpoints, tables, launches and submissions."""
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
    for path in table_files(root):
        try:
            read_table(path)
        except StoreError as fault:
            yield str(fault)
    launches = root / "launches"
    given = sorted((launches / "slurm").glob("*.json"))
    records: list[tuple[Path, type[Record], str]] = [
        *((path, LaunchRecord, "a launch") for path in sorted(launches.glob("*.json"))),
        *((path, SubmissionRecord, "a submission") for path in given),
    ]
    for path, kind, what in records:
        try:
            read_record(path, kind, what)
        except StoreError as fault:
            yield str(fault)
