"""Results folders that were damaged, altered or mixed up, and verbs that read them."""

import json
import pickle
import shutil
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from bench.cli.doctor import examine
from bench.cli.workspace import workspace_of
from bench.results.digests import TRAINED, write_digests
from bench.results.folder import CellFolder
from benchmarks.attacks.attempt import Attempt, judge
from benchmarks.attacks.child import bench, in_child
from benchmarks.attacks.material import damaged, hostile_value, mutated, replace_by_odd_file
from benchmarks.attacks.workbench import NAMES, cell_bytes, copy_of, difference, make_workbench
from tests.fakes.flips import files_of, flip, readable, usable

VERBS = (
    ("status", "small"), ("status", "digits", "--json"), ("compare", "small"), ("claims",),
    ("claims", "small", "--json"), ("plan", "digits"), ("plan", "small", "--json"), ("doctor",),
    ("suites",), ("export", *NAMES, "--to", "tables"), ("compare", "results", "whole"),
    ("export", *NAMES, "--to", "cells.tar.gz", "--encoders"), ("report", "small", "--to", "site"),
    ("merge", "whole"), ("--results", "new", "merge", "results", "--encoders"),
    ("run", *NAMES, "--executor", "inline"), ("run", *NAMES, "--executor", "inline"),
    ("verify", "small", "--sample", "1"),
)  # fmt: skip
MOST_BYTES = 10**7  # of a file that is damaged once more


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield attempts: one flipped bit before `doctor`, or other damage before another verb."""
    base = make_workbench(root / "base")
    shutil.copytree(base / "results", base / "whole")
    _announce(base / "results")
    before, bytes_before = Read(base), cell_bytes(base)
    while True:
        home = copy_of(base, root / "home")
        if rng.random() < 0.4:
            yield _flipped(rng, home, before)
        else:
            yield _damaged(rng, home, before, bytes_before)


def _announce(results: Path) -> None:
    """Leave what a killed launcher leaves: its announcement."""
    attempt = json.loads(next(results.glob("gaussian-mi/*/attempts/0001.json")).read_text())
    record = {"owner": attempt["owner"], "cells": ["0" * 16], "retry_before": 0.0}
    (results / "launches").mkdir(exist_ok=True)
    (results / "launches" / "0123456789ab.json").write_text(json.dumps(record))


class Read:
    """All that verbs and evaluations read of a results folder while it is whole."""

    def __init__(self, home: Path) -> None:
        """Read a folder."""
        self.cells = _readable(home)
        self.evaluations = _evaluations(home)

    def altered_in(self, home: Path) -> str | None:
        """Return what can be read of another folder that was not written."""
        now = _readable(home)
        wrong = [name for name, value in now.items() if self.cells.get(name) != value]
        wrong += sorted(set(_evaluations(home)) - set(self.evaluations))
        return f"{wrong[0]} was altered and is read" if wrong else None


def _readable(home: Path) -> dict[str, Any]:
    """Return everything that can be read; a kind whose folder is none is left out."""
    return {
        name: value
        for name, value in readable(home / "results").items()
        if not name.endswith("/history") or value  # a damaged history is left out, and told
    }


def _evaluations(home: Path) -> list[str]:
    found = []
    for folder in sorted((home / "results" / TRAINED).glob("*")):
        with suppress(OSError):
            found += usable(CellFolder(folder))
    return found


def _flipped(rng: Random, home: Path, before: Read) -> Attempt:
    """One bit: `doctor` must find it, and nothing that it altered may be read."""
    path = rng.choice([p for p in files_of(home / "results") if "launches" not in p.parts])
    flip(path, rng)

    def look() -> None:
        at = workspace_of(suites=home / "suites", results=home / "results")
        (cells,) = [f for f in examine(at) if f["what"] == "cells"]
        if cells["state"] == "ok":
            print("doctor does not find it")
        print(before.altered_in(home) or "")

    answer = in_child(look, home)
    told = f"a bit of {path.relative_to(home / 'results')}"
    return judge(told, answer, lambda: answer.out.strip() or None)


def _damaged(rng: Random, home: Path, before: Read, bytes_before: dict[str, bytes]) -> Attempt:
    """Damage of one to three kinds, then a verb."""
    kinds = [rng.choice(_DAMAGES) for _ in range(rng.choice([1, 1, 2, 3]))]
    told, believed = [], False
    for kind in kinds:
        told.append(kind(rng, home / "results"))
        believed |= kind in (_resealed, _foreign_record)
    words = rng.choice(VERBS)
    answer = bench(home, *words)

    def changed() -> str | None:
        if believed or words[0] == "verify":
            return None  # what carries right digests is believed
        if words[0] == "run":
            return difference(home, bytes_before) if answer.status == 0 else None
        look = in_child(lambda: print(before.altered_in(home) or ""), home)
        return look.out.strip() or None

    return judge(f"{' '.join(words)} after {', '.join(told)}", answer, changed)


def _pick(rng: Random, results: Path, pattern: str = "*") -> Path:
    files = [p for p in files_of(results) if p.match(pattern) and not p.is_symlink()]
    return rng.choice([p for p in files if p.stat().st_size < MOST_BYTES])


def _short(path: Path) -> str:
    return "/".join([*path.parts[-3:-2], path.parts[-2][:6], path.name])


def _torn(rng: Random, results: Path) -> str:
    path = _pick(rng, results)
    path.write_bytes(damaged(path.read_bytes(), rng))
    return f"other bytes in {_short(path)}"


def _removed(rng: Random, results: Path) -> str:
    path = _pick(rng, results)
    if rng.random() < 0.2:
        shutil.rmtree(path.parent)
        return f"without {_short(path.parent)}"
    path.unlink()
    return f"without {_short(path)}"


def _odd(rng: Random, results: Path) -> str:
    path = _pick(rng, results)
    return f"{replace_by_odd_file(path, rng)} as {_short(path)}"


def _record_of(path: Path) -> Any:
    lines = path.read_text().splitlines()
    return json.loads(lines[0] if path.suffix == ".jsonl" else path.read_text())


def _foreign_record(rng: Random, results: Path) -> str:
    """A record of JSON with other values, or another record altogether, with or without a seal."""
    path = _pick(rng, results, "*.json*")
    try:
        record = _record_of(path)
    except ValueError:  # damaged before
        record = {}
    if isinstance(record, dict):
        record.pop("sha256", None)
    record = mutated(record, rng, 2) if rng.random() < 0.7 else hostile_value(rng)
    text = json.dumps(record)
    path.write_text(rng.choice([text, text.replace("Infinity", "1e999"), "[" * 10**5, "9" * 400]))
    return f"another record in {_short(path)}"


def _resealed(rng: Random, results: Path) -> str:
    """Other bytes or values in a file of a cell, and the right digests beside it."""
    told = rng.choice([_torn, _foreign_record])(rng, results)
    for summary in results.glob("*/*/summary.json"):
        with suppress(Exception):
            write_digests(summary.parent, summary.read_bytes())
    return f"{told}, resealed"


def _exchanged(rng: Random, results: Path) -> str:
    """Two files of the same name, or two folders, in each other's place."""
    one = _pick(rng, results)
    others = [p for p in files_of(results) if p.name == one.name and p != one]
    if not others:
        return "nothing"
    other = rng.choice(others)
    if rng.random() < 0.3:
        one, other = one.parent, other.parent
    kept = results / "kept"
    for source, to in ((one, kept), (other, one), (kept, other)):
        with suppress(OSError):
            source.rename(to)
    return f"{_short(one)} and {_short(other)} exchanged"


def _added(rng: Random, results: Path) -> str:
    """Files and folders that nobody wrote, pickles among them."""
    folder = rng.choice([p.parent for p in files_of(results)])
    name = rng.choice(
        ["x", "summary.json", ".x", "0002.json", "9999.json", "arrays.npz", "digests.json", "a\nb",
         "checkpoint.pt", "encoder.pt", "0123456789abcdef", "gaussian-mi", "ä💥", "x.csv.gz"]
    )  # fmt: skip
    path = folder / name
    with suppress(OSError):
        if rng.random() < 0.3:
            path.mkdir()
        else:
            path.write_bytes(rng.choice([b"", rng.randbytes(99), b"{}", pickle.dumps({"a": 1})]))
    return f"{name!r} added beside {_short(folder)}"


_DAMAGES = (_torn, _torn, _removed, _odd, _foreign_record, _resealed, _exchanged, _added)
