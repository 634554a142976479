"""Reading files that may be damaged: only regular files of bounded size, and finite JSON."""

import errno
import hashlib
import json
import math
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.errors import Damaged, StoreError

PIECE_BYTES = 2**20  # read at a time
MOST_BYTES_OF_JSON = 64 * 2**20
MOST_DIGITS = 40  # of a whole number


def check_regular(path: Path | str, most_bytes: int | None = None) -> os.stat_result | None:
    """Return the status of a file, None if there is none; links to regular files are such files.

    Raises:
        Damaged: it is a folder, a pipe or a device, a link to nothing, or larger than `most_bytes`.
        StoreError: the system does not say.
    """
    try:
        status = os.stat(path)
    except OSError as fault:
        absent = isinstance(fault, FileNotFoundError | NotADirectoryError)
        if os.path.islink(path) and (absent or fault.errno == errno.ELOOP):
            raise Damaged(f"{path}: is a link to nothing") from None
        if absent:
            return None
        raise _unread(path, fault) from fault
    if not stat.S_ISREG(status.st_mode):
        raise Damaged(f"{path}: is not a regular file")
    if most_bytes is not None and status.st_size > most_bytes:
        raise Damaged(f"{path}: has {status.st_size} bytes; at most {most_bytes} are allowed")
    return status


def read_regular(path: Path | str, most_bytes: int) -> bytes | None:
    """Return what is in a regular file; None if there is no such file.

    Raises:
        Damaged: it is not a regular file, or larger than `most_bytes`.
        StoreError: it cannot be read.
    """
    if not check_regular(path, most_bytes):
        return None
    try:
        return b"".join(_pieces(path))
    except FileNotFoundError:  # removed meanwhile
        return None
    except OSError as fault:
        raise _unread(path, fault) from fault


def _pieces(path: Path | str) -> Iterator[bytes]:
    """Yield what is in a file: with as few system calls as can be, for files are many and small."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while piece := os.read(file, PIECE_BYTES):
            yield piece
    finally:
        os.close(file)


def sha256_of(content: bytes) -> str:
    """Return the SHA-256 of some bytes, as 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_file(path: Path | str) -> str | None:
    """Return the SHA-256 of a regular file, as 64 hex digits; None if there is no such file.

    Raises:
        Damaged: it is not a regular file.
        StoreError: it cannot be read.
    """
    return sha256_of_regular(path) if check_regular(path) else None


def sha256_of_regular(path: Path | str) -> str | None:
    """Return the SHA-256 of a file that `check_regular` has found; None if it was removed since.

    Raises:
        StoreError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for piece in _pieces(path):
            digest.update(piece)
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise _unread(path, fault) from fault
    return digest.hexdigest()


def check_zip(path: Path) -> bool:
    """Check the CRC-32 of every member of a zip file, which PyTorch and numpy write.

    PyTorch itself loads altered numbers without complaint.

    Returns:
        Whether there is such a file.

    Raises:
        Damaged: it is not what was written, or not a regular file.
    """
    if not check_regular(path):
        return False
    try:
        with zipfile.ZipFile(path) as packed:
            torn = packed.testzip()
    except Exception as fault:  # zipfile raises many kinds for a torn file
        raise Damaged(f"{path}: cannot be read ({fault})") from fault
    if torn is not None:
        raise Damaged(f"{path}: cannot be read ({ascii(torn)[1:-1]} in it is damaged)")
    return True


def _unread(path: Path | str, fault: OSError) -> StoreError:
    return StoreError(f"{path}: cannot be read ({fault.strerror or fault})")


def parse_json(content: bytes) -> Any:
    """Return the value of UTF-8 JSON whose numbers are finite.

    Raises:
        ValueError: it is not that, or is nested too deeply.
    """
    try:
        value = _DECODER.decode(content.decode())
        if b"\\u" in content:
            json.dumps(value, ensure_ascii=False).encode()  # fails for half of a surrogate pair
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
    return value


def is_number(value: Any) -> bool:
    """Whether a value of `parse_json` is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text[:MOST_DIGITS]} is not finite")
    return float(text)


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits")
    return int(text)


_DECODER = json.JSONDecoder(parse_constant=_finite, parse_float=_finite, parse_int=_whole)
