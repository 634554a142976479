"""What verbs cost as a grid grows: CPU seconds, memory, and the exponents at which they grow.

Two suites are measured: Table 9 of EqCo with a longer axis of K, whose cells get made-up numbers in
a folder of their own, and a search on digits with seven axes, of which nothing has run. Beside them
stand verbs over the shipped suites and the reference results. The limits are promises of the
project, for the largest grids.

    python -m benchmarks.growth [--cells 1000 10000 50000] [--planned 1000 10000 100000]
        [--only claims import] [--checkout FOLDER]
"""

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench.cells.cell import Cell
from bench.files.atomic import to_json
from bench.record import Json
from bench.results.digests import write_digests
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite

CHECKOUT = Path(__file__).parents[1]
SUITE, PLANNED = "eqco-table-9", "digits-learning-rate"
CELLS_PER_K = 100  # five values of the MI, ten seeds, two losses
PLANNED_PER_TAU = 1_000
LIMITS = {
    "compare": (10_000, 3.0, 300), "report, one cell changed": (10_000, 10.0, 300),
    "import": (10_000, 20.0, None), "claims": (50_000, 10.0, None), "resume": (50_000, 8.0, None),
    "plan, nothing run": (100_000, 10.0, 500), "suites": (0, 2.0, None),
    "claims of all suites": (0, 2.0, None),
}  # fmt: skip
"""Cells, CPU seconds and MiB."""
SHIPPED = {
    "suites": ("suites",),
    "claims of all suites": ("claims",),
    "report of two suites": ("report", SUITE, "eqco-theorems", "--to", "{folder}/site"),
}


PANDAS = "import time, pandas; print(time.process_time())"
MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(status not in (0, 1, 3))  # 1 and 3: claims fail, or nothing was measured
"""


class Cost(NamedTuple):
    """What a process and its children took."""

    seconds: float  # of CPU
    mib: float  # the largest resident


def wide_suite(folder: Path, cells: int) -> Path:
    """Write Table 9 of EqCo with so many cells at the scale `wide`; return its file."""
    values = [64, 128, 256, 512, *range(600, 600 + cells // CELLS_PER_K - 4)]
    return _with_scale(folder, SUITE, {"K": values}, list(range(10)))


def planned_suite(folder: Path, cells: int) -> Path:
    """Write a search on digits with so many cells, on seven axes, at the scale `wide`."""
    taus = min(10, cells // PLANNED_PER_TAU)
    axes: dict[str, list[Any]] = {
        "loss": ["infonce", "dcl"],
        "batch_size": [16, 32, 64, 128, 256],
        "epochs": [10, 20],
        "weight_decay": [0.0, 1e-5, 1e-4, 5e-4, 1e-3],
        "base_lr": [0.01 * i for i in range(1, 11)],
        "tau": [0.05 * i for i in range(1, taus + 1)],
    }
    return _with_scale(
        folder, PLANNED, axes, list(range(cells // taus // PLANNED_PER_TAU)), like="cpu"
    )


def _with_scale(
    folder: Path, name: str, grid: dict[str, list[Any]], seeds: list[int], like: str | None = None
) -> Path:
    shutil.copytree(CHECKOUT / "suites" / "parts", folder / "parts", dirs_exist_ok=True)
    document = yaml.safe_load((CHECKOUT / "suites" / f"{name}.yaml").read_text())
    scale: Json = document["scales"][like] if like else {"protocol": "published"}
    fixed = {name: value for name, value in scale.get("fixed", {}).items() if name not in grid}
    wide = {"what": "made-up numbers", "fixed": fixed, "grid": grid, "seeds": seeds}
    document["fixed"] = {k: v for k, v in document["fixed"].items() if k not in grid}
    document["scales"]["wide"] = scale | wide
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def finish(store: Store, cell: Cell, draw: random.Random) -> None:
    """Write a finished cell with made-up numbers, without waiting for the disk."""
    folder = store.folder(cell)
    folder.path.mkdir(parents=True)
    folder.cell_file.write_bytes(to_json(cell.model_dump(mode="json")))
    bound = cell.settings["mi_true"] * 0.6 + draw.gauss(0, 0.02)
    records = ({"step": 1000 * i, "mi_lower_bound": bound * i / 5} for i in range(1, 6))
    folder.history_file.write_text("".join(json.dumps(record) + "\n" for record in records))
    folder.provenance_file.write_bytes(
        to_json({"commit": "0" * 40, "device": "cpu", "wall_s": 9.5})
    )
    summary = to_json({"metrics": {"mi_lower_bound": bound, "mi_lower_bound_std": draw.random()}})
    write_digests(folder.path, summary)
    folder.summary_file.write_bytes(summary)


def cost(folder: Path, checkout: Path, *words: str) -> Cost:
    """Return what a `bench` command costs in a folder, with the code of a checkout."""
    told = subprocess.run(
        [sys.executable, "-c", MEASURE, sys.executable, "-m", "bench", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(checkout)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return Cost(float(told[0]), float(told[1]))


def costs_of_verbs(
    folder: Path, count: int, checkout: Path, wanted: Callable[[str], bool]
) -> Iterator[tuple[str, Cost]]:
    """Yield what each verb costs with so many finished cells."""
    path = wide_suite(folder / "suites", count)
    cells = expand(load_suite(path), "wide", path)
    store, draw = Store(folder / "results"), random.Random(0)
    for cell in cells:
        finish(store, cell, draw)
    at = (SUITE, "--scale", "wide")
    commands: dict[str, tuple[str, ...]] = {
        verb: (verb, *at) for verb in ("status", "plan", "show", "compare", "claims")
    }
    commands |= {"resume": ("resume", *at), "export": ("export", *at, "--to", "cells.tar")}
    commands["import"] = ("--results", "other", "import", "cells.tar")
    commands |= dict.fromkeys(("report", "report, one cell changed"), ("report", *at))
    for verb, words in filter(lambda command: wanted(command[0]), commands.items()):
        if verb == "report, one cell changed":
            shutil.rmtree(store.folder(cells[0]).path)
            finish(store, cells[0], random.Random(1))
        yield verb, cost(folder, checkout, *words)


def costs_of_plan(folder: Path, count: int, checkout: Path) -> Cost:
    """Return what planning so many cells costs, of which none has run."""
    planned_suite(folder / "suites", count)
    return cost(folder, checkout, "plan", PLANNED, "--scale", "wide")


def show(what: str, count: int, taken: Cost, before: tuple[int, Cost] | None) -> None:
    """Print one line: the cost, its exponent since the grid before, and the limit."""
    growth = ""
    if before is not None:
        times = taken.seconds / before[1].seconds
        growth = f"exponent {math.log(times) / math.log(count / before[0]):4.2f}"
    cells, seconds, mib = LIMITS.get(what, (-1, 0.0, None))
    limit = f"at most {seconds:g} s" + (f", {mib} MiB" if mib else "")
    grid = f"{count} cells" if count else ""
    line = f"{grid:12} {what:26} {taken.seconds:7.2f} s of CPU {taken.mib:6.0f} MiB  {growth:13}"
    print(f"{line}  {limit}" if cells == count else line.rstrip(), flush=True)


def main() -> None:
    """Print one line a verb and number of cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, nargs="*", default=[1_000, 10_000, 50_000])
    parser.add_argument("--planned", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--only", nargs="+", help="what of it, such as claims")
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="whose code is measured")
    given = parser.parse_args()
    checkout, before = given.checkout.resolve(), dict[str, tuple[int, Cost]]()
    yardstick = subprocess.run([sys.executable, "-c", PANDAS], check=True, capture_output=True)
    print(
        f"importing pandas takes {float(yardstick.stdout):.2f} s of CPU here: a loaded machine "
        "takes longer for all"
    )

    def wanted(what: str) -> bool:
        return not given.only or what in given.only

    for count in given.cells:
        with tempfile.TemporaryDirectory() as folder:
            for verb, taken in costs_of_verbs(Path(folder), count, checkout, wanted):
                show(verb, count, taken, before.get(verb))
                before[verb] = count, taken
    for count in given.planned if wanted("plan, nothing run") else ():
        with tempfile.TemporaryDirectory() as folder:
            taken = costs_of_plan(Path(folder), count, checkout)
        show("plan, nothing run", count, taken, before.get("plan, nothing run"))
        before["plan, nothing run"] = count, taken
    for what in filter(wanted, SHIPPED):
        with tempfile.TemporaryDirectory() as folder:
            words = [word.format(folder=folder) for word in SHIPPED[what]]
            reference = ("--results", "results/reference")
            show(what, 0, cost(checkout, checkout, *reference, *words), None)


if __name__ == "__main__":
    main()
