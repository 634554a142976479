"""Entries as one tar file, packed or not: the same bytes for the same entries.

Members are plain files in the order of their names, of no owner and of time 0; the last one is
`sha256`, the digest of all bytes before it.
"""

import gzip
import hashlib
import io
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.files.atomic import whole_file
from bench.results.digests import TRAINED
from bench.results.exchange.entry import MOST_BYTES_OF_ARCHIVE, Entry
from bench.results.exchange.validate import check
from bench.results.folder import CellFolder
from bench.results.store import Store

SUFFIXES = (".tar", ".tar.gz")
DIGEST = "sha256"
END = bytes(2 * tarfile.BLOCKSIZE)
"""What ends a tar file."""
AFTER_CONTENT = 2 * tarfile.BLOCKSIZE + len(END)
"""Bytes from the header of the digest to the end of the archive."""


class Counts(NamedTuple):
    """What an archive holds."""

    cells: int
    encoders: int


def export_archive(cells: Sequence[Cell], store: Store, file: Path, *, encoders: bool) -> Counts:
    """Write the finished ones of the cells and, if asked for, their trained encoders.

    Args:
        cells: the cells; those that are not finished are left out.
        store: where they are.
        file: the archive; its name ends in one of `SUFFIXES`.
        encoders: whether the encoders that finished cells speak of go with them.

    Raises:
        StoreError: a file of a finished cell is damaged, or all are more than an archive may hold.
    """
    if file.is_dir():
        raise StoreError(f"{file}: is a folder; an archive needs another name")
    wanted = {(cell.experiment, cell.id) for cell in cells}
    if encoders:
        wanted |= {(TRAINED, name) for cell in cells if (name := cell.training_id) is not None}
    counts: Counter[bool] = Counter()  # of cells, and of encoders

    def finished() -> Iterator[Entry]:
        """Yield what is finished; of encoders, those that a finished cell before speaks of."""
        trainings: set[str] = set()
        for kind, name in sorted(wanted):
            path = store.root / kind / name
            if CellFolder(path).is_done and (kind != TRAINED or name in trainings):
                checked = check(Entry(kind, name, path, f"{store.root}/"), lambda _: None)
                if checked.cell is not None and checked.cell.training_id is not None:
                    trainings.add(checked.cell.training_id)
                counts[kind != TRAINED] += 1
                yield checked.entry

    write_archive(file, finished())
    return Counts(counts[True], counts[False])


def write_archive(file: Path, entries: Iterable[Entry]) -> None:
    """Write an archive that appears whole; memory does not grow with the number of entries.

    Args:
        file: its name ends in .tar or .tar.gz.
        entries: in the order of kind and id, each once.

    Raises:
        StoreError: the entries are more than an archive may hold.
    """
    with whole_file(file) as raw:
        if file.name.endswith(".gz"):
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                _write(_Sink(packed, file), entries)
        else:
            _write(_Sink(raw, file), entries)


class _Sink:
    """What a `TarFile` writes to: a file, with the digest and the number of all bytes so far."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, path: Path) -> None:
        self.file, self.path, self.digest, self.size = file, path, hashlib.sha256(), 0

    def write(self, content: bytes) -> int:
        self.size += len(content)
        if self.size > MOST_BYTES_OF_ARCHIVE:
            raise StoreError(f"{self.path}: more than {MOST_BYTES_OF_ARCHIVE} bytes; export fewer")
        self.digest.update(content)
        return self.file.write(content)

    def tell(self) -> int:
        return self.size


def _write(sink: _Sink, entries: Iterable[Entry]) -> None:
    tar = tarfile.TarFile(mode="w", fileobj=sink, format=tarfile.USTAR_FORMAT)  # type: ignore[arg-type]
    for entry in entries:
        for name in entry.names():
            with (entry.path / name).open("rb") as source:
                size = source.seek(0, io.SEEK_END)
                source.seek(0)
                try:
                    tar.addfile(_member(f"{entry.kind}/{entry.id}/{name}", size), source)
                except OSError as fault:
                    if source.tell() < size:
                        raise entry.fault(name, "became shorter while it was read") from fault
                    raise
    digest = sink.digest.hexdigest().encode()
    tar.addfile(_member(DIGEST, len(digest)), io.BytesIO(digest))
    sink.write(END)  # `tar.close` would fill a record of 10240 bytes


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member
