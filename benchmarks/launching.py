"""Time what launching costs: thousands of small cells in packed jobs, and slots kept busy.

One process computes a grid, then the local queue, then Slurm's jobs, each with a worker a core and
filled up by predicted time. A ratio compares wall time times workers with the one process.

    python -m benchmarks.launching [--cells 1000] [--steps 1000] [--workers 2]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.config.environment import cores
from tests.conftest import SUITE
from tests.slurm.conftest import Cluster

A_SEED = 8  # cells


def bench(root: Path, environment: dict[str, str], *words: str) -> Any:
    """Run `bench` and return what it prints."""
    answer = subprocess.run(
        [sys.executable, "-m", "bench", *words, "--json"],
        cwd=root, env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(answer.stdout)


def busy_s(results: Path) -> float:
    """Return the seconds that workers computed cells."""
    return sum(
        float(json.loads(path.read_text())["wall_s"]) for path in results.rglob("provenance.json")
    )


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=cores())
    given = parser.parse_args()
    seeds = ",".join(map(str, range(given.cells // A_SEED)))
    words = ("small", "--seeds", seeds)
    cluster = Cluster()
    try:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "suites").mkdir()
            text = SUITE.replace("steps: 100\n", f"steps: {given.steps}\n")
            (root / "suites/small.yaml").write_text(text.replace("units: 32", "units: 33"))
            began = time.perf_counter()
            bench(root, {}, "--results", "one", "run", *words, "--executor", "inline")
            one = time.perf_counter() - began
            print(f"one process: {one:.0f} s for {given.cells} cells")

            began = time.perf_counter()
            bench(root, {}, "--results", "local", "run", *words, "--jobs", str(given.workers))
            local = time.perf_counter() - began
            share = busy_s(root / "local") / (local * given.workers)
            print(f"local queue: {local:.0f} s; its slots compute {share:.0%} of the time")

            bench(root, {}, "plan", "small", "--probe")
            began = time.perf_counter()
            pack = ("--pack", str(given.workers), "--time-per-job", "1", "--jobs", "1")
            run = bench(root, cluster.environment, "run", *words, "--executor", "slurm", *pack)
            while bench(root, cluster.environment, "status", *words)["done"] < given.cells:
                time.sleep(1)
            packed = time.perf_counter() - began
            jobs = run["submitted"]["jobs"]
            print(
                f"Slurm, {jobs} jobs of {given.workers} workers: {packed:.0f} s, "
                f"{packed * given.workers / one:.2f} of one process a worker "
                f"(local queue: {local * given.workers / one:.2f})"
            )
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
