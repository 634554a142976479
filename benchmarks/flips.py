"""Flip bits of finished cells and trained encoders at random; count those that are not found.

Real cells are computed (`pretrain` on the digits, `gaussian-mi`). Then, again and again, one bit of
one file is flipped: `bench doctor` must find it, and what reading verbs and evaluations read must
be what was written, or nothing.

    python -m benchmarks.flips [--flips 500] [--seed 0]
"""

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

from bench.cli.doctor import examine
from bench.files.messages import forget_warnings
from bench.launch.run import run_cells
from bench.results.digests import TRAINED
from bench.results.folder import CellFolder
from bench.results.store import Store
from tests.fakes.cells import small_cell
from tests.fakes.flips import files_of, flip, readable, usable
from tests.fakes.toys import toy


def doctor_is_content(root: Path) -> bool:
    """Return whether `bench doctor` finds the results sound."""
    (found,) = [f for f in examine(root / "no-suites", root / "results") if f["what"] == "cells"]
    return bool(found["state"] == "ok")


def main() -> None:
    """Flip bits and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root, rng = Path(folder), random.Random(given.seed)
        (root / "no-suites").mkdir()
        store = Store(root / "results")
        cells = [small_cell(seed=seed) for seed in range(2)] + [toy(seed=0)]
        run_cells(cells, store, root, title="cells to damage", jobs=0)
        homes = [CellFolder(path) for path in sorted((store.root / TRAINED).iterdir())]
        whole, evaluations = readable(store.root), [usable(home) for home in homes]
        assert doctor_is_content(root)
        files, flipped = files_of(store.root), Counter[str]()
        unfound, read = Counter[str](), Counter[str]()
        for _ in range(given.flips):
            path = rng.choice(files)
            content = flip(path, rng)
            name = "evaluation" if path.parent.name == "evaluations" else path.name
            flipped[name] += 1
            unfound[name] += doctor_is_content(root)
            same = readable(store.root).items() <= whole.items()
            same &= all(set(usable(h)) <= set(e) for h, e in zip(homes, evaluations, strict=True))
            read[name] += not same
            path.write_bytes(content)
            forget_warnings()
        assert doctor_is_content(root)
        print(f"{'file':20} flipped  not found  altered content read")
        for name, count in sorted(flipped.items()):
            print(f"{name:20} {count:7} {unfound[name]:10} {read[name]:21}")
        print(f"{'all':20} {flipped.total():7} {unfound.total():10} {read.total():21}")


if __name__ == "__main__":
    main()
