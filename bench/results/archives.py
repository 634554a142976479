"""Archives of finished cells: one tar file, compressed or not, reproducible byte for byte.

Members are plain files sorted by name, without owner and with time 0.
"""

import gzip
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple

from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.files.atomic import disk_failures, whole_file
from bench.results.digests import TRAINED
from bench.results.folder import CellFolder
from bench.results.inspect import check, check_cell, files_of
from bench.results.store import Store
from bench.text import foreign_text

SUFFIXES = (".tar", ".tar.gz")
NOT_AN_ARCHIVE = (EOFError, KeyError, OSError, ValueError, zlib.error, tarfile.TarError)


class Counts(NamedTuple):
    """Content of an archive."""

    cells: int
    encoders: int


def export_archive(cells: Sequence[Cell], store: Store, file: Path, *, encoders: bool) -> Counts:
    """Write the finished cells and, if requested, their trained encoders to an archive.

    Cells that diverged are written too, without the process that computed them.

    Args:
        cells: the cells; those neither finished nor diverged are omitted.
        store: the results folder.
        file: path with one of `SUFFIXES`.
        encoders: whether to include the encoders of finished cells.

    Raises:
        StoreError: a file of a finished cell is damaged.
    """
    if file.is_dir():
        raise StoreError(
            f"{file}: this name belongs to a folder; choose a different name for the archive"
        )
    done = {store.folder(cell).path: cell for cell in cells if store.folder(cell).is_done}
    names = {cell.training_id for cell in done.values()} if encoders else set()
    trained = [store.root / TRAINED / name for name in names if name is not None]
    kept = [path for path in trained if CellFolder(path).is_done]
    with _opened(file) as tar:
        for folder in map(CellFolder, sorted([*done, *kept])):
            check(folder)
            for name in files_of(folder):
                path = folder.path / name
                tar.add(path, str(path.relative_to(store.root)), filter=_anonymous)
        for folder in (f for f in map(store.folder, cells) if f.divergence() is not None):
            _add_diverged(tar, folder)
    return Counts(len(done), len(kept))


@contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    """Open a tar file to write, which appears whole when it is complete."""
    with ExitStack() as stack:
        out = stack.enter_context(whole_file(file))
        if file.name.endswith(".gz"):
            out = stack.enter_context(gzip.GzipFile("", "wb", 6, fileobj=out, mtime=0))  # type: ignore[assignment]
        yield stack.enter_context(tarfile.open(mode="w", fileobj=out, dereference=True))


def _add_diverged(tar: tarfile.TarFile, folder: CellFolder) -> None:
    """Add the settings of a cell that diverged, and the record of its failure."""
    check_cell(folder)
    last = folder.last_attempt()
    assert last is not None
    name = Path(folder.kind, folder.name)
    tar.add(folder.cell_file, str(name / folder.cell_file.name), filter=_anonymous)
    content = last.anonymous()
    member = tarfile.TarInfo(str(name / folder.attempts.name / "0001.json"))
    member.size = len(content)
    tar.addfile(member, BytesIO(content))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    return member.replace(mtime=0, mode=0o644, uid=0, gid=0, uname="", gname="", deep=False)


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """Context manager that unpacks an archive into a temporary folder.

    Errors raised in the block name the archive instead of the folder.

    Raises:
        StoreError: the file is not an archive, is damaged or truncated, or has paths outside its
            folder.
    """
    if file.is_dir():
        raise StoreError(
            f"{file}: this is a folder, not an archive; `bench merge` adds the cells of "
            "a results folder"
        )
    if not file.is_file():
        raise StoreError(
            f"{file}: this archive does not exist; `bench export SUITE --to FILE.tar` "
            "writes an archive"
        )
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        try:
            with disk_failures(Path(folder)), tarfile.open(file) as tar:
                tar.extractall(folder, filter="data")
                _check_end(tar)
        except NOT_AN_ARCHIVE as fault:
            why = str(fault).partition("\n")[0].rstrip(":")
            if why == "file could not be opened successfully":
                why = "the file is not a tar archive, or it is damaged"
            raise StoreError(
                f"{file}: this file cannot be unpacked ({foreign_text(why)}); archives are "
                "written by `bench export SUITE --to FILE.tar`"
            ) from fault
        try:
            yield Path(folder)
        except StoreError as fault:
            text = str(fault).replace(f"{folder}/", f"{file}: ").replace(folder, str(file))
            raise StoreError(text) from fault


def _check_end(tar: tarfile.TarFile) -> None:
    """Check what `tarfile` does not: that two empty blocks end the archive, and nothing follows."""
    opened: IO[bytes] = tar.fileobj  # type: ignore[assignment]
    opened.seek(tar.offset)
    rest = opened.read()
    if len(rest) < 2 * tarfile.BLOCKSIZE or any(rest):
        raise tarfile.ReadError("the archive is cut off, or has data after its end")
