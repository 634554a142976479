"""What comparing, judging and reporting cost: CPU seconds and memory with 1,000 and 10,000 cells.

The suite is Table 9 of EqCo with a longer axis of K; its cells get made-up numbers in a folder of
their own. The limits are promises of the project; each line prints what was taken and the limit.

    python -m benchmarks.judging [--cells 1000 10000]
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from bench.cells.cell import Cell
from bench.files.atomic import to_json
from bench.results.digests import write_digests
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite

CHECKOUT = Path(__file__).parents[1]
SUITE = "eqco-table-9"
CELLS_PER_K = 100  # five values of the MI, ten seeds, two losses
LIMITS = {"compare": 3.0, "claims": 3.0, "report": None, "report, one cell changed": 10.0}
"""CPU seconds with 10,000 cells; None: no promise."""
MOST_MIB = 300


def wide_suite(folder: Path, cells: int) -> Path:
    """Write the suite with as many cells at the scale `wide`; return its file."""
    document = yaml.safe_load((CHECKOUT / "suites" / f"{SUITE}.yaml").read_text())
    values = [64, 128, 256, 512, *range(600, 600 + cells // CELLS_PER_K - 4)]
    document["scales"]["wide"] = {
        "what": "made-up numbers",
        "protocol": "published",
        "grid": {"K": values},
        "seeds": list(range(10)),
    }
    folder.mkdir()
    path = folder / f"{SUITE}.yaml"
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
    summary = to_json({"metrics": {"mi_lower_bound": bound, "train_loss": draw.random()}})
    write_digests(folder.path, summary)
    folder.summary_file.write_bytes(summary)


def cost(folder: Path, *words: str) -> tuple[float, float]:
    """Return CPU seconds and the largest resident MiB of a `bench` command and its children."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=-3, check=False);"
    code += "u = resource.getrusage(resource.RUSAGE_CHILDREN);"
    code += "print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)"
    command = [sys.executable, "-m", "bench", "--suites", "suites", "--results", "results", *words]
    told = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return float(told[0]), float(told[1])


def measure(folder: Path, count: int) -> dict[str, tuple[float, float]]:
    """Return what each command costs with so many cells."""
    path = wide_suite(folder / "suites", count)
    cells = expand(load_suite(path), "wide", path)
    store, draw = Store(folder / "results"), random.Random(0)
    for cell in cells:
        finish(store, cell, draw)
    at = (SUITE, "--scale", "wide")
    costs = {"compare": cost(folder, "compare", *at), "claims": cost(folder, "claims", *at)}
    costs["report"] = cost(folder, "report", *at, "--to", "site")
    changed = store.folder(cells[0])
    for file in list(changed.path.iterdir()):
        file.unlink()
    changed.path.rmdir()
    finish(store, cells[0], random.Random(1))
    costs["report, one cell changed"] = cost(folder, "report", *at, "--to", "site")
    return costs


def main() -> None:
    """Print one line a command and number of cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, nargs="+", default=[1_000, 10_000])
    for count in parser.parse_args().cells:
        with tempfile.TemporaryDirectory() as folder:
            costs = measure(Path(folder), count)
        for what, (seconds, mib) in costs.items():
            limit = LIMITS[what] if count >= 10_000 else None
            told = f" (at most {limit:g} s, {MOST_MIB} MiB)" if limit else ""
            print(f"{count:6} cells: {what:26} {seconds:7.2f} s of CPU, {mib:5.0f} MiB{told}")


if __name__ == "__main__":
    main()
