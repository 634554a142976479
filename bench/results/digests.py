"""The SHA-256 of every file that a finished cell or trained encoder consists of: `digests.json`.

    {"folder": "<the folder's name>", "files": {"summary.json": "<64 hex digits>", ...}}

It is written before the summary, whose existence means "done". A folder without it was finished by
a version of this code that wrote none: its files are believed as they are, unverified.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from bench.errors import Damaged
from bench.files.atomic import read_json, to_json, write_whole
from bench.files.regular import read_regular, sha256_of, sha256_of_file

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
"""The files that a digest is kept of, and how large each may be."""
SMALL = ("cell.json", "provenance.json", "summary.json")
"""Those of them that say what was measured and where: most verbs read no others."""
SmallFiles = dict[str, bytes | None]
"""What is in each of them, by name; None: it is not there."""
MOST_BYTES_OF_DIGESTS = 64 * _KIB

_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)


def write_digests(folder: Path, summary: bytes) -> None:
    """Write the digests of the files of a cell that is about to be finished.

    Args:
        folder: the cell's; all of its files but the summary are written.
        summary: what is going to be in the summary.
    """
    digests = {name: sha256_of_file(folder / name) for name in MOST_BYTES if name != "summary.json"}
    files = {name: digest for name, digest in digests.items() if digest is not None}
    files["summary.json"] = sha256_of(summary)
    write_whole(folder / DIGESTS, to_json({"folder": folder.name, "files": files}))


def read_digests(folder: Path, name: str | None = None) -> dict[str, str] | None:
    """Return the digest of each file, by its name; None if none were written.

    Args:
        folder: the cell's.
        name: what it is called where it was written, if that is not its name here.

    Raises:
        Damaged: they are torn, or those of another folder.
    """
    record = read_json(f"{folder}/{DIGESTS}", MOST_BYTES_OF_DIGESTS)
    if record is None:
        return None
    files = record.get("files") if isinstance(record, dict) else None
    if not isinstance(files, dict) or set(record) != {"folder", "files"}:
        raise _damaged(folder, DIGESTS, "is not a record of digests")
    if not all(isinstance(digest, str) and _HEX.fullmatch(digest) for digest in files.values()):
        raise _damaged(folder, DIGESTS, "is not a record of digests")
    if not {"summary.json"} <= set(files) <= set(MOST_BYTES):
        raise _damaged(
            folder, DIGESTS, "names other files than those that belong to a finished folder"
        )
    if record["folder"] != (name or folder.name):
        raise _damaged(folder, DIGESTS, f"is of folder {ascii(record['folder'])[:60]}")
    return files


def check_content(path: Path, content: bytes | None) -> None:
    """Compare what was read of a file (None: it is not there) with the digest beside it, if any.

    Raises:
        Damaged: it is not what was written.
    """
    digests = read_digests(path.parent)
    if digests is not None:
        digest = None if content is None else sha256_of(content)
        _compare(path.parent, path.name, digests, digest)


def read_small_files(folder: Path) -> tuple[SmallFiles, bool]:
    """Return what is in settings, summary and provenance, each read once (None: it is not there).

    Also whether there are digests, with which they were compared.

    Raises:
        Damaged: one of them is not what was written.
        StoreError: one of them cannot be read.
    """
    digests = read_digests(folder)
    contents = {name: read_regular(f"{folder}/{name}", MOST_BYTES[name]) for name in SMALL}
    if digests is None:
        return contents, False
    for name, content in contents.items():
        _compare(folder, name, digests, None if content is None else sha256_of(content))
    return contents, True


def check_files(folder: Path, name: str | None = None) -> bool:
    """Compare all files of a folder with the digests beside them; return whether there are any.

    Args:
        folder: the cell's.
        name: what it is called where it was written, if that is not its name here.

    Raises:
        Damaged: a file is not what was written.
        StoreError: a file cannot be read.
    """
    digests = read_digests(folder, name)
    if digests is None:
        return False
    for file in MOST_BYTES:
        _compare(folder, file, digests, sha256_of_file(folder / file))
    return True


def _compare(folder: Path, file: str, digests: Mapping[str, str], digest: str | None) -> None:
    expected = digests.get(file)
    if digest is None and expected is not None:
        raise _damaged(folder, file, f"is missing, but {DIGESTS} names it")
    if digest is not None and expected is None:
        raise _damaged(folder, file, f"is not named in {DIGESTS}")
    if digest != expected:
        raise _damaged(folder, file, f"has a SHA-256 that differs from {DIGESTS}")


def _damaged(folder: Path, file: str, why: str) -> Damaged:
    return Damaged(f"{folder / file}: {why}")
