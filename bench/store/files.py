"""Files that appear whole: a reader finds the old one or the new one, never a half."""

from __future__ import annotations

import io
import json
import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import StoreError

if TYPE_CHECKING:
    import numpy as np

COPY_BYTES = 2**20  # at a time


def write_whole(path: Path, content: bytes) -> None:
    """Write by temporary file, fsync and rename; create the folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _write_partial(path, content)
    os.replace(partial, path)
    sync_folder(path.parent)


def copy_whole(source: Path, path: Path) -> None:
    """Copy a file by temporary file, fsync and rename; create the folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    with source.open("rb") as origin, partial.open("wb") as file:
        shutil.copyfileobj(origin, file, COPY_BYTES)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    sync_folder(path.parent)


def write_new(path: Path, content: bytes) -> bool:
    """Write a file that must not exist yet; return False if somebody else was first.

    The content is complete at the moment the name appears: a hard link is made to a finished
    temporary file, which fails if the name is taken.
    """
    partial = _write_partial(path, content)
    try:
        os.link(partial, path)
    except FileExistsError:
        return False
    finally:
        partial.unlink()
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


def read_json(path: Path) -> Any:
    """Return the file's JSON, None if there is no such file.

    Raises:
        StoreError: the file is not JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as fault:
        told = f"{path}: cannot be read ({fault}); remove {path.parent} to have it computed again"
        raise StoreError(told) from fault


def _write_partial(path: Path, content: bytes) -> Path:
    partial = _partial(path)
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return partial


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
