"""Archives that nobody exported: changed, torn, repacked, and with members that must not be."""

import gzip
import io
import json
import pickle
import shutil
import tarfile
from collections.abc import Callable, Generator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from bench.results.digests import DIGESTS
from bench.results.exchange.write_tar import export_archive
from benchmarks.attacks.attempt import Attempt, judge
from benchmarks.attacks.child import Answer, bench, in_child
from benchmarks.attacks.material import below, damaged, hostile_value, mutated
from benchmarks.attacks.results import Read
from tests.fakes.archives import all_members_of, filled_store, members_of, write_members
from tests.fakes.bad_archives import REFUSED, Members, info_of, npy, npz

AFTER = (
    ("status", "small"), ("doctor",), ("suites",), ("claims",), ("compare", "results", "whole"),
    ("merge", "whole"), ("--results", "new", "merge", "results", "--encoders"),
)  # fmt: skip
RAN = "ran"  # a file that foreign code would make


class Payload:
    """What a pickle of runs where it is loaded."""

    def __init__(self, root: Path) -> None:
        """Name the folder in which a file appears then."""
        self.root = root

    def __reduce__(self) -> Any:
        """Write a file."""
        return (exec, (f"open({str(self.root / RAN)!r}, 'w').close()",))


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield attempts at `import`, and at another verb on what was imported."""
    base, home = root / "base", root / "a" / "b" / "home"
    store, cells = filled_store(base / "results", 3)
    (base / "suites").mkdir()
    export_archive(cells, store, base / "sound.tar", encoders=True)
    whole = Read(base)
    while True:
        shutil.rmtree(root / "a", ignore_errors=True)
        home.mkdir(parents=True)
        (home / "suites").mkdir()
        shutil.copytree(base / "results", home / "whole")
        file = home / rng.choice(["x.tar", "x.tar.gz"])
        told, is_other = rng.choice(_KINDS)(rng, base / "sound.tar", file, root)
        yield _brought_in(rng, root, home, file, told, None if is_other else whole)


def _brought_in(
    rng: Random, root: Path, home: Path, file: Path, told: str, whole: Read | None
) -> Attempt:
    """Import an archive; if that went well, let another verb read what came.

    Args:
        rng: chooses the verb.
        root: outside of which, and of `home/results`, nothing may be written.
        home: where it is imported.
        file: the archive.
        told: what is wrong with it.
        whole: what may be in it, where its numbers are not to be believed.
    """
    if rng.random() < 0.3:  # some of it is there already
        cells = sorted((home / "whole").glob("*/*"))
        chosen = rng.choice(cells)
        shutil.copytree(chosen, home / "results" / chosen.relative_to(home / "whole"))
    before = below(root)
    answer = bench(home, "import", file.name)
    escaped, changed = _escape(root, home, before, answer), _change(home, whole)
    attempt = judge(f"import: {told}", answer, lambda: changed, lambda: escaped)
    if attempt.is_finding or answer.refuses:
        return attempt
    verb = rng.choice(AFTER)
    (home / "results").mkdir(exist_ok=True)
    after = bench(home, *verb)
    return judge(f"import, then {' '.join(verb)}: {told}", after, lambda: _change(home, whole))


def _escape(root: Path, home: Path, before: set[str], answer: Answer) -> str | None:
    """Return what was written outside of the results, or inside though the archive was refused."""
    inside = (home / "results").relative_to(root).as_posix()
    new = below(root) - before
    wrong = {n for n in new if n != inside and not n.startswith(f"{inside}/")}
    if answer.refuses:
        wrong = new - {inside}
    return f"wrote {min(wrong)}" if wrong else None


def _change(home: Path, whole: Read | None) -> str | None:
    if whole is None or not (home / "results").is_dir():
        return None
    return in_child(lambda: print(whole.altered_in(home) or ""), home).out.strip() or None


def _pack(file: Path, content: bytes) -> None:
    file.write_bytes(gzip.compress(content, 1) if file.suffix == ".gz" else content)


def _torn(rng: Random, sound: Path, file: Path, root: Path) -> tuple[str, bool]:
    """Other bytes anywhere, before or after packing."""
    packed = rng.random() < 0.5
    content = sound.read_bytes()
    for _ in range(rng.choice([1, 1, 4])):
        content = content if packed else damaged(content, rng)
    _pack(file, content)
    if packed:
        file.write_bytes(damaged(file.read_bytes(), rng))
    return "other bytes", False


def _known(rng: Random, sound: Path, file: Path, root: Path) -> tuple[str, bool]:
    """One of the archives that tests refuse."""
    name = rng.choice(sorted(REFUSED))
    _write(file, REFUSED[name][0](members_of(sound)))
    return name, False


def _write(file: Path, members: Members) -> None:
    write_members(file, members, "w:gz" if file.suffix == ".gz" else "w")


def _with_records(rng: Random, sound: Path, file: Path, root: Path) -> tuple[str, bool]:
    """Other values in records, with the old digests or with none."""
    members = all_members_of(sound) if rng.random() < 0.5 else members_of(sound)
    sealed = any(info.name.endswith(DIGESTS) for info, _ in members)
    told = []
    for _ in range(rng.choice([1, 2])):
        i = rng.choice([i for i, (info, _) in enumerate(members) if ".json" in info.name])
        info, content = members[i]
        record = json.loads(content.splitlines()[0] if info.name.endswith("l") else content)
        record = mutated(record, rng) if rng.random() < 0.8 else hostile_value(rng)
        lines = json.dumps(record, indent=rng.choice([None, 1])) + "\n"
        members[i] = (info_of(info.name, len(lines.encode())), lines.encode())
        told.append(info.name.rpartition("/")[2])
    _write(file, members)
    return f"other values in {', '.join(told)}{' beside digests' if sealed else ''}", not sealed


def _with_code(rng: Random, sound: Path, file: Path, root: Path) -> tuple[str, bool]:
    """Pickles that write a file, as weights and as arrays."""
    payload = Payload(root)
    buffer = io.BytesIO()
    kind = rng.choice(["weights", "old weights", "arrays", "array", "pickle"])
    if kind.endswith("weights"):
        torch.save({"w": payload}, buffer, _use_new_zipfile_serialization=kind == "weights")
    content = {
        "arrays": npz(npy(np.array([payload], dtype=object))),
        "array": npy(np.array([payload], dtype=object)),
        "pickle": pickle.dumps(payload),
    }.get(kind, buffer.getvalue())
    name = rng.choice(["encoder.pt", "arrays.npz"])
    members = [
        (info_of(info.name, len(content)), content) if info.name.endswith(name) else (info, old)
        for info, old in members_of(sound)
    ]
    _write(file, members)
    return f"{kind} that run code as {name}", False


def _with_member(rng: Random, sound: Path, file: Path, root: Path) -> tuple[str, bool]:
    """A member of any type, size and name, with any header."""
    members = members_of(sound)
    at = rng.randrange(len(members))
    old = members[at][0].name
    name = rng.choice(
        [f"../../{old}", f"/{old}", f"{root}/{RAN}", f"{old}/x", old.upper(), f"./{old}",
         f"{old}\0x", f"{old} ", old.replace("/", "\\"), f"trained/{'0' * 16}/encoder.pt",
         "launches/0123456789ab.json", f"{old}/../../../../../{RAN}", old]
    )  # fmt: skip
    kinds = [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE,
             tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE,
             tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE, b"V", b"\x7f"]  # fmt: skip
    kind, link = rng.choice(kinds), rng.choice(["", "/etc/passwd", "../../..", str(root / RAN)])
    info = info_of(name[:99], 4, kind, link[:99])
    info.mode = rng.choice([0o644, 0o4777, 0])
    members.insert(at, (info, b"abcd"))
    _write(file, members)
    return f"a member {name!r} of type {kind!r}", False


def _repacked(rng: Random, sound: Path, file: Path, root: Path) -> tuple[str, bool]:
    """Bombs, archives in archives, two in one, other compressions, endless headers."""
    content = sound.read_bytes()
    kinds: dict[str, Callable[[], bytes]] = {
        "bomb": lambda: gzip.compress(bytes(2**28), 1),
        "bomb of members": lambda: gzip.compress(content[:-1024] + bytes(2**28), 1),
        "two": lambda: content + content,
        "packed twice": lambda: gzip.compress(gzip.compress(content)),
        "half a stream": lambda: gzip.compress(content)[: rng.randrange(1, 4000)],
        "two streams": lambda: gzip.compress(content[:512]) + gzip.compress(content[512:]),
        "empty": lambda: b"",
        "empty tar": lambda: bytes(10240),
        "noise": lambda: rng.randbytes(20_000),
        "size of a giant": lambda: content[:124] + b"\x80" + b"\xff" * 11 + content[136:],
    }
    kind = rng.choice(sorted(kinds))
    file.write_bytes(kinds[kind]())
    return kind, False


_KINDS = (_torn, _known, _known, _with_records, _with_records, _with_code, _with_member, _repacked)
