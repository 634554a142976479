"""What travels between results folders: the folder of a finished cell or of a trained encoder.

    <experiment>/<cell id>/    cell.json, summary.json, provenance.json, history.jsonl, arrays.npz,
                               digests.json
    trained/<training id>/     encoder.pt instead of the cell, and evaluations/<evaluation id>.json

Attempts and checkpoints stay where they are.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.cells import CELLS
from bench.errors import StoreError
from bench.results.digests import (
    DIGESTS,
    ENCODER,
    EVALUATIONS,
    MOST_BYTES,
    MOST_BYTES_OF_DIGESTS,
    TRAINED,
)
from bench.results.folder import CellFolder

KINDS = (*CELLS, TRAINED)

MOST_BYTES_OF_EVALUATION = 64 * 2**10
MOST_BYTES_OF_ARCHIVE = 64 * 2**30  # unpacked
MOST_BYTES_OF_FILE = MOST_BYTES | {DIGESTS: MOST_BYTES_OF_DIGESTS}
OF_CELL = frozenset(MOST_BYTES_OF_FILE) - {ENCODER}
OF_TRAINED = frozenset(MOST_BYTES_OF_FILE) - {"cell.json"}

_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)


@dataclass(frozen=True)
class Entry:
    """The files of one finished cell or trained encoder, in a folder of this machine."""

    kind: str  # an experiment, or "trained"
    id: str
    path: Path
    source: str  # what stands before kind/id/name in the words about a file

    def fault(self, name: str, why: str) -> StoreError:
        """Return the error that names one of the files."""
        return StoreError(f"{self.source}{self.kind}/{self.id}/{name}: {why}")

    def names(self) -> list[str]:
        """Return the names of the files that travel, in the order in which they do.

        Raises:
            StoreError: one of them is a link, or no plain file, or too large.
        """
        files = sorted(OF_TRAINED if self.kind == TRAINED else OF_CELL)
        if self.kind == TRAINED and (self.path / EVALUATIONS).is_dir():
            there = sorted(os.listdir(self.path / EVALUATIONS))
            files += [f"{EVALUATIONS}/{name}" for name in there]
        sized = [(name, most_bytes(self.kind, name)) for name in files]
        return sorted(n for n, most in sized if most is not None and self._has(n, most))

    def _has(self, name: str, most: int) -> bool:
        path = self.path / name
        if not os.path.lexists(path):
            return False
        if path.is_symlink() or not path.is_file():
            raise self.fault(name, "is not a plain file")
        size = path.stat().st_size
        if size > most:
            raise self.fault(name, f"has {size} bytes; at most {most} are allowed")
        return True


def finished(root: Path, kind: str) -> Iterator[Entry]:
    """Yield the finished cells (or trained encoders) of one kind in a results folder."""
    folder = root / kind
    for name in sorted(filter(is_id, os.listdir(folder))) if folder.is_dir() else ():
        if CellFolder(folder / name).is_done:
            yield Entry(kind, name, folder / name, f"{root}/")


def is_id(text: str) -> bool:
    """Whether the text is 16 hex digits."""
    return _ID.fullmatch(text) is not None


def most_bytes(kind: str, name: str) -> int | None:
    """Return how large a file may be; None if a entry of the kind has no file of that name."""
    if kind == TRAINED:
        folder, _, file = name.rpartition("/")
        if folder == EVALUATIONS and file.endswith(".json") and is_id(file[: -len(".json")]):
            return MOST_BYTES_OF_EVALUATION
    allowed = OF_TRAINED if kind == TRAINED else OF_CELL
    return MOST_BYTES_OF_FILE[name] if name in allowed else None
