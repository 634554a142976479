"""The folder of one cell: file names, contents, how they are written, and damage to them."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from bench.cells import id_of
from bench.cells.cell import Cell
from bench.errors import Damaged, Diverged, StoreError
from bench.files.atomic import disk_failures, read_json, sync_folder, to_json, to_npz, write_whole
from bench.files.messages import warn
from bench.files.regular import check_zip, parse_json, read_regular
from bench.results.attempts import Attempt, begin_attempt, last_attempt
from bench.results.digests import (
    DIGESTS,
    ENCODER,
    MOST_BYTES,
    SMALL,
    TRAINED,
    check_content,
    check_files,
    write_digests,
)
from bench.results.names import history_record, is_metrics, is_name
from bench.results.owner import LEASE_S, Owner
from bench.results.provenance import fault_of_provenance
from bench.text import foreign_text

if TYPE_CHECKING:
    import numpy as np


MOST_ARRAYS = 1000
NUMBERS = "biufc"  # kinds of numpy types that may be in arrays

_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
UNTIL = "until `bench run` computes it again"
AS_MISSING = f"the cell counts as missing {UNTIL}"
"""Text that reports a damaged cell."""


def is_id(text: str) -> bool:
    """Return whether the text has 16 hexadecimal digits."""
    return _ID.fullmatch(text) is not None


def strays_in(root: Path, kind: str) -> Iterator[Path]:
    """Yield unknown files, and leftovers of killed processes, among an experiment's cells.

    A file in place of the folder of the cells is one too.
    """
    if (folder := root / kind).exists() and not folder.is_dir():
        yield folder
    for path in sorted(folder.glob("*")):
        if not (is_id(path.name) and path.is_dir()):
            yield path
            continue
        attempts = path / "attempts"
        yield from filter(_is_left, sorted([*path.glob(".*"), *attempts.glob(".*")]))
        if attempts.exists() and not attempts.is_dir():
            yield attempts


def _is_left(path: Path) -> bool:
    """Whether nobody alive can still be writing a hidden file; a folder is nobody's."""
    try:
        return path.is_dir() or time.time() - path.stat().st_mtime > LEASE_S
    except OSError:
        return False


def finished_in(root: Path, kind: str) -> Iterator[CellFolder]:
    """Yield the folders of finished cells of an experiment, or of trained encoders."""
    return (folder for folder in _folders_in(root, kind) if folder.is_done)


def diverged_in(root: Path, kind: str) -> Iterator[CellFolder]:
    """Yield the folders of an experiment's cells that diverged."""
    return (folder for folder in _folders_in(root, kind) if folder.divergence() is not None)


def _folders_in(root: Path, kind: str) -> Iterator[CellFolder]:
    folder = root / kind
    for name in sorted(filter(is_id, os.listdir(folder))) if folder.is_dir() else ():
        yield CellFolder(folder / name)


class _Named:
    """A file of a folder, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: CellFolder, kind: type[CellFolder]) -> Path:
        return folder.path / self.name


class CellFolder:
    """Folder of one cell."""

    cell_file = _Named("cell.json")  # the resolved cell
    attempts = _Named("attempts")  # the records of executions
    history_file = _Named("history.jsonl")  # metrics while it trained, one JSON object a line
    checkpoint_file = _Named("checkpoint.pt")  # where to go on
    step_file = _Named("checkpoint.json")  # how many steps the checkpoint has behind it
    arrays_file = _Named("arrays.npz")  # arrays worth keeping
    provenance_file = _Named("provenance.json")  # where the result comes from
    summary_file = _Named("summary.json")  # the metrics; that it exists is what "done" means

    def __init__(self, path: Path) -> None:
        """Name the folder; nothing is read or written yet."""
        self.path = path

    @property
    def name(self) -> str:
        """Id of the cell or training."""
        return self.path.name

    @property
    def kind(self) -> str:
        """The cell's experiment, or `trained`."""
        return self.path.parent.name

    @property
    def is_done(self) -> bool:
        """Whether the cell is finished."""
        return self.summary_file.exists()

    def to_evaluate(self, cell: Cell) -> list[str]:
        """Return the metrics that a finished cell lacks and its stored encoder can provide."""
        if not cell.evaluation_metrics or cell.training_id is None:
            return []
        trained = CellFolder(self.path.parent.parent / TRAINED / cell.training_id)
        kept = trained.is_done and (trained.path / ENCODER).exists()
        try:
            return cell.lacking(self.metrics() or {}) if kept else []
        except Damaged:
            return []

    def is_complete(self, cell: Cell | None) -> bool:
        """Return whether the cell is finished and has all metrics of its encoder."""
        return self.is_done and (cell is None or not self.to_evaluate(cell))

    def claim(
        self, cell: Cell | None, owner: Owner, launch: str, *, retry_before: float = 0.0
    ) -> Attempt | None:
        """Start an attempt; None if the cell is complete, failed or held by another process.

        Args:
            cell: the cell of this folder; None for a trained encoder.
            owner: the claiming process.
            launch: the launcher of this process.
            retry_before: failures that ended before this time (seconds since 1970) run again.
        """
        if self.is_complete(cell):
            return None
        self._clear_way()
        attempt = begin_attempt(self.attempts, owner, launch, retry_before=retry_before)
        if attempt is None:
            return None
        if self.is_complete(cell):  # finished between the look and the claim: nothing was executed
            attempt.end("interrupted", message="a different process has finished this cell")
            return None
        self.sweep()
        if self.is_done:  # its encoder is evaluated again; until then its files stay as they are
            return attempt
        (self.path / DIGESTS).unlink(missing_ok=True)  # of an attempt that ended before the summary
        if cell is not None:
            write_whole(self.cell_file, to_json(cell.model_dump(mode="json")))
        return attempt

    def sweep(self) -> None:
        """Remove incomplete files of a killed owner; only its successor may call this."""
        for leftover in self.path.glob(".*"):
            if not leftover.is_dir():  # such as what an editor or Jupyter leaves
                leftover.unlink(missing_ok=True)
        for leftover in self.attempts.glob(".*"):  # of others who try to claim it: old ones alone
            if _is_left(leftover) and not leftover.is_dir():
                leftover.unlink(missing_ok=True)

    def _clear_way(self) -> None:
        """Rename a file that has the name of this folder or of its attempts."""
        for path in (self.path, self.attempts):
            if path.exists() and not path.is_dir():
                aside = path.with_name(f"{path.name}.stray-{uuid4().hex[:8]}")
                with suppress(FileNotFoundError):  # another process was faster
                    path.rename(aside)
                    warn(f"{path}: this is not a folder; it was renamed {aside.name}")

    def last_attempt(self) -> Attempt | None:
        """Return the latest attempt."""
        return last_attempt(self.attempts)

    def divergence(self) -> str | None:
        """Return the message of the latest attempt if the cell diverged; else None."""
        last = None if self.is_done else self.last_attempt()
        if last is None or (last.state, last.record["reason"]) != ("failed", Diverged.reason):
            return None
        return str(last.record["message"])

    def finish(
        self,
        metrics: dict[str, float],
        arrays: dict[str, np.ndarray[Any, Any]],
        provenance: dict[str, Any],
    ) -> None:
        """Write the result; the summary is written last and marks the cell as finished.

        A finished cell goes without digests until its new result is whole, so that it stays
        finished whenever this is interrupted.

        Args:
            metrics: finite numbers by name.
            arrays: arrays to store, by name.
            provenance: provenance of the result, see `provenance.py`.
        """
        is_again = self.is_done
        if is_again:
            (self.path / DIGESTS).unlink(missing_ok=True)
        if arrays:
            write_whole(self.arrays_file, to_npz(arrays))
        write_whole(self.provenance_file, to_json(provenance))
        summary = to_json({"metrics": metrics})
        if not is_again:
            write_digests(self.path, summary)
        write_whole(self.summary_file, summary)
        if is_again:
            write_digests(self.path, summary)
        sync_folder(self.path)
        self.remove_checkpoint()

    def note_step(self, step: int) -> None:
        """Write the number of steps in the checkpoint, so readers need not load it."""
        write_whole(self.step_file, to_json({"step": step}))

    def checkpoint_step(self) -> int | None:
        """Return the number of steps in the checkpoint, without loading it.

        Returns:
            0 without a checkpoint; None if the number is not recorded.
        """
        if not self.checkpoint_file.exists():
            return 0
        with suppress(StoreError, TypeError, KeyError, ValueError):
            return int(read_json(self.step_file)["step"])
        return None

    def remove_checkpoint(self) -> None:
        """Remove the checkpoint of a finished training."""
        self.checkpoint_file.unlink(missing_ok=True)
        self.step_file.unlink(missing_ok=True)

    def metrics(self) -> dict[str, float] | None:
        """Return the metrics of the summary; None if the cell is not finished.

        Raises:
            Damaged: the file is corrupt, or a metric is not a finite number.
        """
        summary = self._json(self.summary_file)
        if summary is None:
            return None
        metrics = summary.get("metrics") if isinstance(summary, dict) else None
        if not is_metrics(metrics):
            raise Damaged(f"{self.summary_file}: the file does not hold finite metrics")
        return metrics

    def provenance(self) -> dict[str, Any]:
        """Return the provenance of the result; empty if the cell is not finished.

        Raises:
            Damaged: the file is corrupt, or a field has the wrong type.
        """
        record = self._json(self.provenance_file)
        why = None if record is None else fault_of_provenance(record)
        if why is not None:
            raise self._unreadable(self.provenance_file, why)
        return record or {}

    def result(self) -> tuple[dict[str, float], dict[str, Any]]:
        """Return metrics and provenance of a finished cell.

        Raises:
            Damaged: a file is corrupt, or a field has the wrong type.
        """
        if not check_files(self.path, ("cell.json",)):  # the others are checked as they are read
            name = id_of(self.kind, self.fields() or {})
            if name not in (None, self.name):
                raise Damaged(
                    f"{self.cell_file}: the file describes cell {name}, but its folder has the "
                    f"name {self.name}"
                )
        return self.metrics() or {}, self.provenance()

    def fields(self) -> dict[str, Any] | None:
        """Return the stored settings of the cell; None if they do not exist.

        Raises:
            Damaged: the file is corrupt or not a JSON object.
        """
        record = self._json(self.cell_file)
        if not isinstance(record, dict | None):
            raise self._unreadable(self.cell_file, "the content is not a JSON object")
        return record

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the stored arrays; empty if there are none.

        Raises:
            Damaged: the file is corrupt or has other content than numeric arrays.
        """
        content = self._sound(self.arrays_file)
        if content is None:
            return {}
        try:
            return arrays_of(content)
        except ValueError as fault:
            raise self._unreadable(self.arrays_file, str(fault)) from fault

    def _sound(self, path: Path) -> bytes | None:
        """Return what is in a file of a finished cell; None if it is not there."""
        content = read_regular(path, MOST_BYTES[path.name])
        check_content(path, content)
        return content

    def _json(self, path: Path) -> Any:
        content = self._sound(path)
        try:
            return None if content is None else parse_json(content)
        except ValueError as fault:
            raise self._unreadable(path, str(fault)) from fault

    def _unreadable(self, path: Path, why: str) -> Damaged:
        return Damaged(f"{path}: the file cannot be read ({why})")

    def append_history(self, line: dict[str, float]) -> None:
        """Append one record of metrics, including `step`."""
        with (
            disk_failures(self.history_file),
            self.history_file.open("a", encoding="utf-8") as file,
        ):
            file.write(json.dumps(line, sort_keys=True) + "\n")

    def history(self, *, finished: bool = False) -> list[dict[str, float]]:
        """Return the records up to the first incomplete line.

        Args:
            finished: whether the cell is finished, so all lines must be complete.

        Raises:
            Damaged: a line is incomplete, or the file is corrupt.
        """
        content = read_regular(self.history_file, MOST_BYTES["history.jsonl"])
        if finished:
            check_content(self.history_file, content)
        lines = (content or b"").splitlines(keepends=True)
        records = []
        for line in lines:
            record = history_record(line)
            if record is None:
                break
            records.append(record)
        if finished and len(records) < len(lines):
            why = f"line {len(records) + 1} is not a record of metrics"
            raise self._unreadable(self.history_file, why)
        return records

    def rewind_history(self, step: int) -> None:
        """Delete records after `step`, from which training resumes."""
        kept = [line for line in self.history() if line["step"] <= step]
        text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in kept)
        write_whole(self.history_file, text.encode())

    def copy_history(self, other: CellFolder) -> None:
        """Copy the history of another folder."""
        if other.history_file.exists():
            write_whole(self.history_file, other.history_file.read_bytes())

    def write_traceback(self, attempt: Attempt, lines: Iterable[str]) -> Path:
        """Store the traceback of a failed attempt; return its file."""
        path = attempt.path.with_suffix(".log")
        write_whole(path, "".join(lines).encode())
        return path


def arrays_of(content: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of an untrusted npz file, limited to 64 MiB of memory.

    Raises:
        ValueError: the file is corrupt, too large when unpacked, or not numeric.
    """
    import numpy as np  # here alone, so that `bench status` need not load it

    try:
        with warnings.catch_warnings(), zipfile.ZipFile(BytesIO(content)) as file:
            warnings.simplefilter("error")
            entries = file.infolist()
            names = [entry.filename.removesuffix(".npy") for entry in entries]
            if len(entries) > MOST_ARRAYS or len(set(names)) < len(names):
                raise ValueError(
                    f"the file holds more than {MOST_ARRAYS} arrays, or an array twice"
                )
            if not all(map(is_name, names)):
                raise ValueError("the name of an array is not a valid identifier")
            size = sum(entry.file_size for entry in entries)
            if size > MOST_BYTES["arrays.npz"]:
                raise ValueError(
                    f"the file has {size} bytes when unpacked, but at most "
                    f"{MOST_BYTES['arrays.npz']} are allowed"
                )
        with np.load(BytesIO(content), allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except Exception as fault:  # zipfile and numpy raise many kinds for a torn file
        raise ValueError(foreign_text(str(fault))) from fault
    for name, array in arrays.items():
        if array.dtype.kind not in NUMBERS:
            raise ValueError(
                f"array {foreign_text(name)} has type {array.dtype}, but must hold numbers"
            )
    return arrays


class Folders(list[CellFolder]):
    """Folders of a stack's cells, of trained encoders and of data sets."""

    def __init__(self, folders: Iterable[CellFolder], *, encoders: Path, data: Path) -> None:
        """Name the folders.

        Args:
            folders: one for each cell, in order.
            encoders: holds a folder for each trained encoder, named by its training id.
            data: holds the data sets.
        """
        super().__init__(folders)
        self.encoders, self.data = encoders, data


def damage_of(folder: CellFolder, *, whole: bool = False) -> str | None:
    """Return which file of a finished cell is corrupt, and how; None if none is.

    Args:
        folder: folder of a cell or a trained encoder.
        whole: whether to read all files, not only settings, summary and provenance.

    Raises:
        StoreError: a file cannot be read.
    """
    try:
        vouched = check_files(folder.path, MOST_BYTES if whole else SMALL)
        if whole or not vouched:
            folder.result()
        if whole and not vouched:
            folder.history(finished=True)
            folder.arrays()
            check_zip(folder.path / ENCODER)
    except Damaged as fault:
        return str(fault)
    return None


def discard(folder: CellFolder, is_damaged: Callable[[CellFolder], bool]) -> bool:
    """Remove the files of a damaged cell under a claim, so the cell is recomputed.

    Attempts are kept. Returns False if a living process holds the cell and will handle it.

    Args:
        folder: folder of a cell or a trained encoder.
        is_damaged: function that checks for damage again under the claim.
    """
    attempt = begin_attempt(folder.attempts, Owner.me(), "", retry_before=math.inf)
    if attempt is None:
        return False
    if folder.is_done and not is_damaged(folder):
        attempt.end("done")
        return True
    _remove(folder.summary_file)  # first: without it the cell is not done
    for path in folder.path.iterdir():
        if path != folder.attempts:
            _remove(path)
    attempt.end("interrupted")
    return True


def _remove(path: Path) -> None:
    """Remove what has a name: a file, a link, a folder in the place of a file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
