"""Reading of files that may be damaged: regular files of limited size, and finite JSON."""

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
    """Return the status of a file; None if it does not exist; links to regular files are allowed.

    Raises:
        Damaged: the path is a folder, pipe, device or broken link, or larger than `most_bytes`.
        StoreError: the status cannot be read.
    """
    try:
        status = os.stat(path)
    except OSError as fault:
        absent = isinstance(fault, FileNotFoundError | NotADirectoryError)
        if os.path.islink(path) and (absent or fault.errno == errno.ELOOP):
            raise Damaged(f"{path}: this is a link whose target does not exist") from None
        if absent:
            return None
        raise _unread(path, fault) from fault
    if not stat.S_ISREG(status.st_mode):
        raise Damaged(f"{path}: this is not a regular file")
    if most_bytes is not None and status.st_size > most_bytes:
        raise Damaged(
            f"{path}: the file has {status.st_size} bytes, but at most {most_bytes} are allowed"
        )
    return status


def read_regular(path: Path | str, most_bytes: int) -> bytes | None:
    """Return the content of a regular file; None if it does not exist.

    Raises:
        Damaged: the file is not regular, or larger than `most_bytes`.
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
    """Return the SHA-256 of bytes as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_file(path: Path | str) -> str | None:
    """Return the SHA-256 of a regular file as 64 hexadecimal digits; None if it does not exist.

    Raises:
        Damaged: the file is not regular.
        StoreError: it cannot be read.
    """
    return sha256_of_regular(path) if check_regular(path) else None


def sha256_of_regular(path: Path | str) -> str | None:
    """Return the SHA-256 of a file checked by `check_regular`; None if it was removed.

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
    """Check the CRC-32 of every member of a zip file, such as PyTorch and numpy write.

    PyTorch does not check it when loading.

    Returns:
        Whether the file exists.

    Raises:
        Damaged: the file is corrupt or not regular.
    """
    if not check_regular(path):
        return False
    try:
        with zipfile.ZipFile(path) as packed:
            torn = packed.testzip()
    except Exception as fault:  # zipfile raises many kinds for a torn file
        raise Damaged(f"{path}: the file cannot be read ({fault})") from fault
    if torn is not None:
        raise Damaged(f"{path}: the file cannot be read (entry {ascii(torn)[1:-1]} is damaged)")
    return True


def _unread(path: Path | str, fault: OSError) -> StoreError:
    return StoreError(f"{path}: the file cannot be read ({fault.strerror or fault})")


def parse_json(content: bytes) -> Any:
    """Return the value of UTF-8 JSON with finite numbers.

    Raises:
        ValueError: the text is not such JSON, or is nested too deeply.
    """
    try:
        value = _DECODER.decode(content.decode())
        if b"\\u" in content:
            json.dumps(value, ensure_ascii=False).encode()  # fails for half of a surrogate pair
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
    return value


def is_number(value: Any) -> bool:
    """Return whether a value of `parse_json` is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text[:MOST_DIGITS]} is not finite")
    return float(text)


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(
            f"a whole number has {len(text)} digits, but at most {MOST_DIGITS} are allowed"
        )
    return int(text)


_DECODER = json.JSONDecoder(parse_constant=_finite, parse_float=_finite, parse_int=_whole)
