"""Files that appear whole: a reader finds the old one or the new one, never a half."""

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
    """Turn the errors of `DISK` into a `DiskFailure` that names the path; others stay."""
    try:
        yield
    except OSError as fault:
        raise_if_disk_failed(fault, path)
        raise


def raise_if_disk_failed(fault: Exception, path: Path | None = None) -> None:
    """Raise a `DiskFailure` if that is what an error means."""
    if isinstance(fault, OSError) and fault.errno in DISK:
        where = path or fault.filename or "a file"
        raise DiskFailure(
            f"{where}: cannot be written ({fault.strerror}); finished cells are kept; free "
            f"space, then repeat the command"
        ) from fault


def write_whole(path: Path, content: bytes) -> None:
    """Write a file; create the folder if need be."""
    with whole_file(path) as file:
        file.write(content)


def copy_whole(source: Path, path: Path, *, sync: bool = True) -> None:
    """Copy a file; create the folder if need be.

    Args:
        sync: wait for the disk; otherwise the caller must do so (`os.sync`).
    """
    with source.open("rb") as origin, whole_file(path, sync=sync) as file:
        shutil.copyfileobj(origin, file, COPY_BYTES)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Wait until no other process writes into a folder, which is created if need be.

    The lock ends with its process. Where the file system has no locks, nobody waits.
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
    """Write by temporary file, fsync and rename, in a folder that is created if need be.

    Yields the file to write to. An error leaves what was there before. That the name outlives a
    crash of the machine is sure after `sync_folder` alone.
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
    """Write a file that must not exist yet; return False if somebody else was first.

    The content is complete at the moment the name appears: a hard link is made to a finished
    temporary file, which fails if the name is taken.
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
    """Return arrays as a compressed npz archive: the same bytes for the same arrays."""
    import numpy as np  # here alone, so that `bench status` need not load it

    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def to_json(record: Any) -> bytes:
    """Return canonical JSON: sorted keys, one key a line, a newline at the end."""
    return (json.dumps(record, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def read_json(path: Path | str, most_bytes: int = MOST_BYTES_OF_JSON) -> Any:
    """Return the file's JSON, None if there is no such file.

    Raises:
        Damaged: it is not a regular file of at most so many bytes, or no JSON of finite numbers.
        StoreError: it cannot be read.
    """
    content = read_regular(path, most_bytes)
    if content is None:
        return None
    try:
        return parse_json(content)
    except ValueError as fault:
        raise Damaged(f"{path}: cannot be read ({fault})") from fault


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder outlive a crash of the machine."""
    with disk_failures(folder):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
