"""Entries out of a tar file of any origin, read with distrust.

What is read: plain files under the names that entries have, in order; `sha256`, if it is in the
archive, is last and holds the digest of all bytes before it. Anything else is refused.
"""

import gzip
import hashlib
import tarfile
import tempfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bench.errors import StoreError
from bench.results.exchange.entry import KINDS, MOST_BYTES_OF_ARCHIVE, Entry, is_id, most_bytes
from bench.results.exchange.write_tar import AFTER_CONTENT, DIGEST, END

_HEX_DIGITS = 64
_MAGIC = slice(257, 262)  # of a header of tar
_PACKED = b"\x1f\x8b"  # how a gzip file begins
_CHUNK = 2**20
_DAMAGE = (EOFError, OSError, ValueError, zlib.error, tarfile.TarError)


def read_archive(file: Path) -> Generator[Entry, None, None]:
    """Yield the entries of an archive one by one, each in a temporary folder while it is looked at.

    The archive is read twice: its length and digest are checked before anything is unpacked.

    Raises:
        StoreError: in one line, which member is none that `bench export` writes, and why.
    """
    has_digest = _check_whole(file)
    with _opened(file) as opened, tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        before: tuple[str, ...] = ()
        entry: Entry | None = None
        for tar, member in _members(opened, file):
            if before == (DIGEST,):
                raise StoreError(f"{file}: {DIGEST}: is not the last member")
            if member.name == DIGEST and has_digest:
                before = (DIGEST,)
                continue
            parts = _parts_of(member, file)
            if parts <= before:
                fault = "appears twice" if parts == before else "is out of order"
                raise StoreError(f"{file}: {'/'.join(parts)}: {fault}; members are sorted by name")
            before = parts
            if entry is not None and (entry.kind, entry.id) != parts[:2]:
                yield entry
                _empty(entry.path)
                entry = None
            entry = entry or Entry(parts[0], parts[1], Path(scratch), f"{file}: ")
            member.name = "/".join(parts[2:])
            with _read_failures(file, "/".join(parts)):
                tar.extract(member, scratch, set_attrs=False, filter="data")
        if entry is not None:
            yield entry


class _NotPlain(Exception):
    """A member is a link, a device, a folder or an extended header."""


class _PlainFile(tarfile.TarInfo):
    """The header of a plain file: extended ones, which may hold anything, are not believed.

    `frombuf` sees every header before `tarfile` acts on it.
    """

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> "_PlainFile":
        member = super().frombuf(buf, encoding, errors)
        if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise _NotPlain(f"{ascii(member.name)[1:-1]}: is not a plain file")
        return member


def _check_whole(file: Path) -> bool:
    """Read an archive to its end; return whether it has a digest, which then is right.

    Raises:
        StoreError: it cannot be unpacked, is too large, ends early, or its digest is another one.
    """
    digest, size, head, tail = hashlib.sha256(), 0, b"", b""
    with _opened(file) as opened, _read_failures(file, "the archive"):
        while content := opened.read(_CHUNK):
            size += len(content)
            head = head or content[: tarfile.BLOCKSIZE]
            if size > MOST_BYTES_OF_ARCHIVE:
                raise StoreError(f"{file}: more than {MOST_BYTES_OF_ARCHIVE} bytes in all")
            tail += content
            digest.update(tail[:-AFTER_CONTENT])
            tail = tail[-AFTER_CONTENT:]
    if head[_MAGIC] != b"ustar":
        raise StoreError(f"{file}: is not an archive; `bench export SUITE --to FILE.tar` makes one")
    if not tail.endswith(END):
        raise StoreError(f"{file}: the archive ends early, or has data after its end")
    if len(tail) < AFTER_CONTENT or not tail.startswith(DIGEST.encode() + b"\0"):
        return False
    if tail[tarfile.BLOCKSIZE :][:_HEX_DIGITS] != digest.hexdigest().encode():
        raise StoreError(
            f"{file}: {DIGEST}: does not match the bytes before it: the archive is damaged"
        )
    return True


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if file.is_dir():
        raise StoreError(f"{file}: is a folder; `bench merge` adds the cells of one")
    if not file.is_file():
        raise StoreError(f"{file}: no such archive; `bench export SUITE --to FILE.tar` makes one")
    with file.open("rb") as raw:
        packed = raw.read(len(_PACKED)) == _PACKED
        raw.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked
        else:
            yield raw


@contextmanager
def _read_failures(file: Path, what: str) -> Iterator[None]:
    """Turn what the standard library raises for a damaged archive into one line."""
    try:
        yield
    except _NotPlain as fault:
        raise StoreError(f"{file}: {fault}") from None
    except _DAMAGE as fault:
        raise StoreError(f"{file}: {what}: cannot be read ({fault})") from fault


def _members(
    opened: IO[bytes] | gzip.GzipFile, file: Path
) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Yield each member with the open archive that it is extracted from."""
    with _read_failures(file, "the archive"):
        tar = tarfile.open(fileobj=opened, mode="r|", tarinfo=_PlainFile)  # noqa: SIM115
        member = tar.next()
    while member is not None:
        tar.members = []  # type: ignore[attr-defined] # it would keep all headers
        yield tar, member
        with _read_failures(file, f"what follows {ascii(member.name)[1:-1]}"):
            member = tar.next()


def _parts_of(member: tarfile.TarInfo, file: Path) -> tuple[str, ...]:
    """Return a member's path; it is one that an archive may hold, and not too large.

    Raises:
        StoreError: it is not.
    """
    shown = ascii(member.name)[1:-1]
    kind, _, rest = member.name.partition("/")
    name, _, path = rest.partition("/")
    most = most_bytes(kind, path) if kind in KINDS and is_id(name) else None
    if most is None:
        raise StoreError(f"{file}: {shown}: is not a file that the store knows")
    if not 0 <= member.size <= most:
        raise StoreError(f"{file}: {shown}: has {member.size} bytes; at most {most} are allowed")
    return (kind, name, *path.split("/"))


def _empty(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
