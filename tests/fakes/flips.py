"""Bits flipped in the files of a results folder, and all that verbs could read of it."""

import random
from pathlib import Path
from typing import Any

from bench.results.digests import EVALUATIONS, TRAINED
from bench.results.folder import CellFolder
from bench.results.reader import Results
from bench.results.records import EvaluationRecord, read_record


def files_of(root: Path) -> list[Path]:
    """Return every file of finished cells and trained encoders; logs say nothing to a program."""
    return sorted(p for p in root.rglob("*") if p.is_file() and p.suffix != ".log")


def flip(path: Path, rng: random.Random) -> bytes:
    """Flip a bit of a file at random; return what was in it."""
    content = path.read_bytes()
    altered = bytearray(content)
    altered[rng.randrange(len(altered))] ^= 1 << rng.randrange(8)
    path.write_bytes(altered)
    return content


def readable(root: Path) -> dict[str, Any]:
    """Return everything that reading verbs and evaluations take from a results folder, by place."""
    results, found = Results(root), dict[str, Any]()
    for kind in sorted(path.name for path in root.iterdir() if path.name != TRAINED):
        for name in results.names(kind):
            kept = results.kept(kind, name)
            assert kept is not None
            found[f"{kind}/{name}/metrics"] = kept.metrics
            found[f"{kind}/{name}/provenance"] = kept.provenance
            found[f"{kind}/{name}/fields"] = results.fields(kind, name)
            if kept.history:
                found[f"{kind}/{name}/history"] = kept.history
            for array, value in kept.arrays.items():
                found[f"{kind}/{name}/arrays/{array}"] = value.tolist()
    return found


def usable(home: CellFolder) -> list[str]:
    """Return the evaluations in the folder of an encoder that would be believed."""
    believed = []
    for path in sorted((home.path / EVALUATIONS).iterdir()):
        try:
            believed.append(str(read_record(path, EvaluationRecord, "an evaluation")))
        except Exception:
            continue
    return believed
