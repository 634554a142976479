"""Atomic file writes: readers see the old or the new file, never a partial one."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bench.errors import Damaged, DiskFailure
from bench.files.regular import MOST_BYTES_OF_JSON, parse_json, read_regular

if TYPE_CHECKING:
    import numpy as np

COPY_BYTES = 2**20  # at a time
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
"""System errors that mean a disk is full or cannot be written."""


@contextmanager
def disk_failures(path: Path) -> Iterator[None]:
    """Convert the errors of `DISK` to a `DiskFailure` with the path; pass on others."""
    try:
        yield
    except OSError as fault:
        raise_if_disk_failed(fault, path)
        raise


def raise_if_disk_failed(fault: Exception, path: Path | None = None) -> None:
    """Raise a `DiskFailure` if the error is a disk failure."""
    if isinstance(fault, OSError) and fault.errno in DISK:
        where = path or fault.filename or "a file"
        first = "make the folder writable" if fault.errno == errno.EROFS else "free some space"
        raise DiskFailure(
            f"{where}: the file cannot be written ({fault.strerror}); finished cells "
            f"are kept; {first}, then repeat the command"
        ) from fault


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically; create the folder if needed."""
    with whole_file(path) as file:
        file.write(content)


def copy_whole(source: Path, path: Path, *, sync: bool = True) -> None:
    """Copy a file atomically; create the folder if needed.

    Args:
        sync: whether to wait for the disk. Otherwise the caller must do so (`os.sync`).
    """
    with source.open("rb") as origin, whole_file(path, sync=sync) as file:
        shutil.copyfileobj(origin, file, COPY_BYTES)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock a folder for writing, after creating it if needed; wait for other processes.

    The lock ends with its process. On file systems without locks, there is no waiting.
    """
    with disk_failures(folder):
        folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def whole_file(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """Write with a temporary file, fsync and rename; create the folder if needed.

    It yields the file to write to. An error leaves the old file unchanged. Only `sync_folder`
    guarantees that the new name survives a crash of the machine.
    """
    partial = _partial(path)
    with disk_failures(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                yield file
                if sync:
                    _sync(file)
            os.replace(partial, path)
        except BaseException as error:
            if isinstance(error, OSError) and error.filename in (partial, str(partial)):
                error.filename = str(path)
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


def write_new(path: Path, content: bytes) -> bool:
    """Write a file that must not exist; return False if another process was first.

    The file appears with its complete content: a hard link to a finished temporary file, which
    fails if the name exists.
    """
    partial = _partial(path)
    with disk_failures(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                file.write(content)
                _sync(file)
            os.link(partial, path)
        except FileExistsError:
            return False
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
    return True


def to_npz(arrays: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """Return arrays as a compressed npz archive, with equal bytes for equal arrays."""
    import numpy as np  # here alone, so that `bench status` need not load it

    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def to_json(record: Any) -> bytes:
    """Return canonical JSON: sorted keys, one key per line, a final newline."""
    return (json.dumps(record, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def read_json(path: Path | str, most_bytes: int = MOST_BYTES_OF_JSON) -> Any:
    """Return the content of a JSON file; None if the file does not exist.

    Raises:
        Damaged: the file is not regular, too large, or not JSON with finite numbers.
        StoreError: the file cannot be read.
    """
    content = read_regular(path, most_bytes)
    if content is None:
        return None
    try:
        return parse_json(content)
    except ValueError as fault:
        raise Damaged(f"{path}: the file cannot be read ({fault})") from fault


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Ensure that the names in a folder survive a crash of the machine."""
    with disk_failures(folder):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
