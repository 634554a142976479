"""Parcels as one tar file, packed or not: the same bytes for the same parcels.

Members are plain files in the order of their names, of no owner and of time 0; the last one is
`sha256`, the digest of all bytes before it.
"""

import gzip
import hashlib
import os
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from bench.config.pretrain import Pretrain
from bench.config.record import Cell
from bench.errors import StoreError
from bench.store.files import whole_file
from bench.store.folder import CellFolder
from bench.store.parcels import MOST_BYTES_OF_ARCHIVE, TRAINED, Parcel
from bench.store.sound import check
from bench.store.store import Store

SUFFIXES = (".tar", ".tar.gz")
DIGEST = "sha256"
_CHUNK = 2**20
_END = bytes(2 * tarfile.BLOCKSIZE)


class Counts(NamedTuple):
    """What an archive holds."""

    cells: int
    encoders: int


def export_archive(cells: Sequence[Cell], store: Store, file: Path, *, encoders: bool) -> Counts:
    """Write the finished ones of the cells and, if asked for, their trained encoders.

    Raises:
        StoreError: a file of a finished cell is damaged, or all are more than an archive may hold.
    """
    if file.is_dir():
        raise StoreError(f"{file}: is a folder; an archive needs another name")
    wanted = {(cell.experiment, cell.id) for cell in cells}
    if encoders:
        wanted |= {(TRAINED, cell.training_id) for cell in cells if isinstance(cell, Pretrain)}
    found: Counter[bool] = Counter()  # of cells, and of encoders

    def there() -> Iterator[Parcel]:
        """Yield what is finished; of encoders, those that a finished cell before speaks of."""
        trainings: set[str] = set()
        for kind, name in sorted(wanted):
            path = store.root / kind / name
            if CellFolder(path).is_done and (kind != TRAINED or name in trainings):
                checked = check(Parcel(kind, name, path, f"{store.root}/"), lambda _: None)
                if isinstance(checked.cell, Pretrain):
                    trainings.add(checked.cell.training_id)
                found[kind != TRAINED] += 1
                yield checked.parcel

    write_archive(file, there())
    return Counts(found[True], found[False])


def write_archive(file: Path, parcels: Iterable[Parcel]) -> None:
    """Write an archive that appears whole; memory does not grow with the number of parcels.

    Args:
        file: its name ends in .tar or .tar.gz.
        parcels: in the order of kind and id, each once.

    Raises:
        StoreError: the parcels are more than an archive may hold.
    """
    with whole_file(file) as raw:
        if file.name.endswith(".gz"):
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                _write(_Sink(packed, file), parcels)
        else:
            _write(_Sink(raw, file), parcels)


class _Sink:
    """Where the members go, with the digest of all so far."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, path: Path) -> None:
        self.file, self.path, self.digest, self.size = file, path, hashlib.sha256(), 0

    def write(self, content: bytes) -> None:
        self.size += len(content)
        if self.size > MOST_BYTES_OF_ARCHIVE:
            raise StoreError(f"{self.path}: more than {MOST_BYTES_OF_ARCHIVE} bytes; export fewer")
        self.digest.update(content)
        self.file.write(content)

    def begin(self, name: str, size: int) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o644
        self.write(info.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict"))

    def end(self, size: int) -> None:
        self.write(bytes(-size % tarfile.BLOCKSIZE))


def _write(sink: _Sink, parcels: Iterable[Parcel]) -> None:
    for parcel in parcels:
        for name in parcel.names():
            with (parcel.path / name).open("rb") as source:
                size = left = os.fstat(source.fileno()).st_size
                sink.begin(f"{parcel.kind}/{parcel.id}/{name}", size)
                while left:
                    content = source.read(min(left, _CHUNK))
                    if not content:
                        raise parcel.fault(name, "became shorter while it was read")
                    left -= len(content)
                    sink.write(content)
            sink.end(size)
    digest = sink.digest.hexdigest().encode()
    sink.begin(DIGEST, len(digest))
    sink.write(digest)
    sink.end(len(digest))
    sink.write(_END)
