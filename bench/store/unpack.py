"""Parcels out of a tar file of any origin, read with distrust.

What is read: plain files under the names of parcels, in order, and their folders; `sha256`, if it
is there, is last and holds the digest of all bytes before it. Anything else is refused.
"""

import gzip
import hashlib
import tarfile
import tempfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from bench.errors import StoreError
from bench.store.archive import DIGEST
from bench.store.parcels import (
    EVALUATIONS,
    KINDS,
    MOST_BYTES_OF_ARCHIVE,
    TRAINED,
    Parcel,
    is_id,
    most_bytes,
)

_DIGITS = 64
_PACKED = b"\x1f\x8b"  # how a gzip file begins
_CHUNK = 2**20


class _Member(NamedTuple):
    parts: tuple[str, ...]
    size: int
    is_folder: bool

    @property
    def name(self) -> str:
        return "/".join(self.parts)


def read_archive(file: Path) -> Generator[Parcel, None, None]:
    """Yield the parcels of an archive one by one, each in a temporary folder while it is looked at.

    The digest is compared at the end: what was yielded counts once the iterator is exhausted.

    Raises:
        StoreError: in one line, which member is none that `bench export` writes, and why.
    """
    with _opened(file) as opened, tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        source = _Source(opened, file)
        held: Parcel | None = None
        for member in _members(source):
            if held is not None and (held.kind, held.id) != member.parts[:2]:
                yield held
                _empty(held.path)
                held = None
            if member.is_folder:
                continue
            kind, number, *rest = member.parts
            if held is None:
                held = Parcel(kind, number, Path(scratch), f"{file}: ")
            path = held.path.joinpath(*rest)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as target:
                source.copy(member.size, target)
        if held is not None:
            yield held


def _empty(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if not file.is_file():
        raise StoreError(f"{file}: no such archive; `bench export SUITE --to FILE.tar` makes one")
    with file.open("rb") as raw:
        packed = raw.read(len(_PACKED)) == _PACKED
        raw.seek(0)
        if not packed:
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield unpacked


class _Source:
    """Where members come from: bytes are counted, and never more are read than asked for."""

    def __init__(self, opened: IO[bytes] | gzip.GzipFile, file: Path) -> None:
        self.opened, self.file, self.digest = opened, file, hashlib.sha256()
        self.size, self.member = 0, "the archive"

    def fault(self, why: str) -> StoreError:
        return StoreError(f"{self.file}: {self.member}: {why}")

    def read(self, size: int) -> bytes:
        """Return so many bytes, or fewer at the end."""
        try:
            content = self.opened.read(size)
        except (EOFError, OSError, zlib.error) as fault:
            raise self.fault(f"cannot be unpacked ({fault})") from fault
        self.size += len(content)
        if self.size > MOST_BYTES_OF_ARCHIVE:
            raise self.fault(f"more than {MOST_BYTES_OF_ARCHIVE} bytes in all")
        self.digest.update(content)
        return content

    def exactly(self, size: int) -> bytes:
        content = self.read(size)
        if len(content) < size:
            raise self.fault("ends early")
        return content

    def copy(self, size: int, target: IO[bytes]) -> None:
        for begin in range(0, size, _CHUNK):
            target.write(self.exactly(min(_CHUNK, size - begin)))
        self.exactly(-size % tarfile.BLOCKSIZE)


def _members(source: _Source) -> Iterator[_Member]:
    """Yield the members, each allowed and in order; the consumer reads the content of each file."""
    before: tuple[str, ...] = ()
    while True:
        digest = source.digest.hexdigest()
        block = source.exactly(tarfile.BLOCKSIZE)
        if block == bytes(tarfile.BLOCKSIZE):
            _check_end(source)
            return
        member = _member(source, block)
        if member.parts == (DIGEST,):
            if source.exactly(_DIGITS) != digest.encode():
                raise source.fault("is not that of the bytes before it; the archive is damaged")
            source.exactly(-_DIGITS % tarfile.BLOCKSIZE)
            if source.exactly(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise source.fault("is not the last member")
            _check_end(source)
            return
        if member.parts == before:
            raise source.fault("appears twice")
        if member.parts < before:
            raise source.fault("stands out of order; members are sorted by name, each once")
        before = member.parts
        yield member


def _check_end(source: _Source) -> None:
    """Check that a second empty block ends the archive, and that only padding follows."""
    rest = source.read(tarfile.RECORDSIZE)
    if len(rest) < tarfile.BLOCKSIZE:
        raise source.fault("the archive ends early")
    if rest.strip(b"\0") or source.read(1):
        raise source.fault("something stands behind the end of the archive")


def _member(source: _Source, block: bytes) -> _Member:
    """Return the member of a header.

    Only the plain header is believed: extended ones, which may hold anything, are refused.
    """
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError) as fault:
        raise source.fault(f"what follows is no member of a tar file ({fault})") from fault
    shown = ascii(info.name)[1:-1]
    source.member = shown
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE):
        raise source.fault(f"is {_what(info)}; only plain files and folders are read")
    if info.name.startswith("/"):
        raise source.fault("has an absolute path")
    parts = tuple(info.name.rstrip("/").split("/"))
    if ".." in parts:
        raise source.fault("leaves the folder by '..'")
    if info.isdir():
        if not _is_folder(parts):
            raise source.fault("is no folder that the store knows")
        if info.size != 0:
            raise source.fault(f"is a folder of {info.size} bytes")
        return _Member(parts, 0, True)
    most = _DIGITS if parts == (DIGEST,) else _most_bytes(parts)
    if most is None or shown != "/".join(parts):
        raise source.fault("is no file that the store knows")
    if not 0 <= info.size <= most:
        raise source.fault(f"has {info.size} bytes; at most {most} are allowed")
    return _Member(parts, info.size, False)


def _most_bytes(parts: tuple[str, ...]) -> int | None:
    if len(parts) < 3 or parts[0] not in KINDS or not is_id(parts[1]):
        return None
    return most_bytes(parts[0], "/".join(parts[2:]))


def _is_folder(parts: tuple[str, ...]) -> bool:
    known = parts[0] in KINDS and (len(parts) < 2 or is_id(parts[1]))
    return known and (len(parts) < 3 or (parts[0] == TRAINED and parts[2:] == (EVALUATIONS,)))


def _what(info: tarfile.TarInfo) -> str:
    names = {
        tarfile.SYMTYPE: "a symbolic link",
        tarfile.LNKTYPE: "a hard link",
        tarfile.CHRTYPE: "a device",
        tarfile.BLKTYPE: "a device",
        tarfile.FIFOTYPE: "a named pipe",
    }
    return names.get(info.type, f"an entry of type {ascii(info.type)[1:]}")
