"""SHA-256 of every file of a finished cell or trained encoder: `digests.json`.

    {"folder": "<the folder's name>", "files": {"summary.json": "<64 hex digits>", ...}}

It is written before the summary, whose existence means "done". Folders without it come from older
versions; their files are not verified.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.errors import Damaged
from bench.files.atomic import read_json, to_json, write_whole
from bench.files.regular import (
    check_regular,
    sha256_of,
    sha256_of_file,
    sha256_of_regular,
)

DIGESTS = "digests.json"
TRAINED, ENCODER, EVALUATIONS = "trained", "encoder.pt", "evaluations"

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30
MOST_BYTES = {
    "arrays.npz": 64 * _MIB,  # unpacked too
    "cell.json": 64 * _KIB,
    ENCODER: 4 * _GIB,
    "history.jsonl": 64 * _MIB,
    "provenance.json": _MIB,
    "summary.json": 64 * _KIB,
}
"""Files with a digest, and the largest size of each."""
SMALL = ("cell.json", "provenance.json", "summary.json")
"""Files with the measurements and their origin; most verbs read only these."""
MOST_BYTES_OF_DIGESTS = 64 * _KIB


def write_digests(folder: Path, summary: bytes) -> None:
    """Write the digests of a cell's files before the cell is finished.

    Args:
        folder: folder of the cell, with all files except the summary.
        summary: content of the future summary.
    """
    digests = {name: sha256_of_file(folder / name) for name in MOST_BYTES if name != "summary.json"}
    files = {name: digest for name, digest in digests.items() if digest is not None}
    files["summary.json"] = sha256_of(summary)
    write_whole(folder / DIGESTS, to_json({"folder": folder.name, "files": files}))


def check_files(folder: Path, names: Iterable[str] = MOST_BYTES) -> bool:
    """Compare files of a folder with their digests; return whether there are digests.

    Results are cached until a file's size or time changes.

    Args:
        folder: folder of the cell.
        names: names of the files; default: all with a digest.

    Raises:
        Damaged: a file is corrupt.
        StoreError: a file cannot be read.
    """
    digests = _remembered(_digests_in, f"{folder}/{DIGESTS}")
    if digests is None:
        return False
    for name in names:
        _compare(folder, name, digests, _remembered(sha256_of_regular, f"{folder}/{name}"))
    return True


def check_content(path: Path, content: bytes | None) -> None:
    """Compare a file's content (None if missing) with its digest, if there is one.

    Raises:
        Damaged: the file is corrupt.
    """
    digests = _remembered(_digests_in, f"{path.parent}/{DIGESTS}")
    if digests is not None:
        _compare(path.parent, path.name, digests, None if content is None else sha256_of(content))


def _remembered(read: Callable[[str], Any], path: str) -> Any:
    """Return what `read` makes of a file; None if there is no such file."""
    status = check_regular(path)
    if status is None:
        return None
    return _at_state(read, path, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=2**17)
def _at_state(read: Callable[[str], Any], path: str, _state: tuple[int, ...]) -> Any:
    return read(path)


def _digests_in(path: str) -> dict[str, str] | None:
    """Return the digest of each file of a finished folder, by its name.

    Raises:
        Damaged: they are torn, or those of another folder.
    """
    record, folder = read_json(path, MOST_BYTES_OF_DIGESTS), os.path.dirname(path)
    if record is None:
        return None
    files = record.get("files") if isinstance(record, dict) else None
    if not isinstance(files, dict) or set(record) != {"folder", "files"}:
        raise _damaged(folder, DIGESTS, "this file is not a record of digests")
    if record["folder"] != os.path.basename(folder):
        raise _damaged(
            folder, DIGESTS, f"this file was written for folder {ascii(record['folder'])[:60]}"
        )
    return files


def _compare(folder: Path, file: str, digests: Mapping[str, str], digest: str | None) -> None:
    expected = digests.get(file)
    if digest is None and expected is not None:
        raise _damaged(folder, file, f"this file is missing, but {DIGESTS} lists it")
    if digest is not None and expected is None:
        raise _damaged(folder, file, f"this file is not listed in {DIGESTS}")
    if digest != expected:
        raise _damaged(folder, file, f"the SHA-256 of this file differs from {DIGESTS}")


def _damaged(folder: Path | str, file: str, why: str) -> Damaged:
    return Damaged(f"{folder}/{file}: {why}")
