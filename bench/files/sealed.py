"""Files that carry the SHA-256 of their content before it: one line, `sha256:<64 hex digits>`."""

import hashlib
import zipfile
from pathlib import Path
from typing import BinaryIO

from bench.errors import Damaged
from bench.files.regular import PIECE_BYTES, check_regular, sha256_of

_MARK = b"sha256:"
_LINE_BYTES = len(_MARK) + 64 + 1


def with_seal(content: bytes) -> bytes:
    """Return the content behind the line with its digest."""
    return b"%s%s\n%s" % (_MARK, sha256_of(content).encode(), content)


def pass_seal(file: BinaryIO) -> None:
    """Compare the content of an open file with its seal, and stand at the content's begin.

    A file without a seal, which earlier versions of this code wrote, must be a zip archive whose
    members agree with their CRC-32.

    Raises:
        ValueError: the content is not what was written.
    """
    line = file.read(_LINE_BYTES)
    if not line.startswith(_MARK):
        _check_zip(file)
        file.seek(0)
        return
    digest = hashlib.sha256()
    while piece := file.read(PIECE_BYTES):
        digest.update(piece)
    if line[len(_MARK) :] != digest.hexdigest().encode() + b"\n":
        raise ValueError("its SHA-256 does not match its content")
    file.seek(_LINE_BYTES)


def check_sealed(path: Path) -> None:
    """Compare the content of a file with its seal, or, without one, with the CRC-32 of a zip.

    Raises:
        Damaged: it is not what was written, or no regular file.
    """
    if not check_regular(path):
        return
    try:
        with path.open("rb") as file:
            pass_seal(file)
    except (OSError, ValueError) as fault:
        raise Damaged(f"{path}: cannot be read ({fault})") from fault


def _check_zip(file: BinaryIO) -> None:
    try:
        with zipfile.ZipFile(file) as packed:
            torn = packed.testzip()
    except Exception as fault:  # zipfile raises many kinds for a torn file
        raise ValueError(str(fault) or type(fault).__name__) from fault
    if torn is not None:
        raise ValueError(f"{ascii(torn)[1:-1]} in it is damaged")
