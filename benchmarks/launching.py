"""Time what launching costs: thousands of small cells in packed jobs, and slots kept busy.

Bare processes, one a core, compute equal parts of a grid in their own process; then the local queue
does it, then a Slurm job with a worker a core. A ratio
compares wall times with that of the bare processes, which share the cores as the workers do.

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

from bench.environment import cores
from tests.fakes.cluster import Cluster
from tests.fakes.suites import SUITE, changed, to_yaml

A_SEED = 8  # cells


def bench(root: Path, environment: dict[str, str], *words: str) -> Any:
    """Run `bench` and return what it prints."""
    answer = subprocess.run(
        [sys.executable, "-m", "bench", *words, "--json"],
        cwd=root, env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(answer.stdout)


def bare(root: Path, seeds: list[int], workers: int) -> float:
    """Return the seconds that so many processes take, each with its part of the seeds."""
    began = time.perf_counter()
    processes = []
    for i in range(workers):
        own = ",".join(map(str, seeds[i::workers]))
        words = ("--results", "bare", "run", "small", "--seeds", own, "--executor", "inline")
        command = [sys.executable, "-m", "bench", *words]
        processes.append(subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL))
    if any(process.wait() for process in processes):
        raise RuntimeError("a bare process failed")
    return time.perf_counter() - began


def done(results: Path) -> int:
    """Return how many cells are done, at little cost."""
    return sum(1 for _ in results.glob("gaussian-mi/*/summary.json"))


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
    seeds = list(range(given.cells // A_SEED))
    words = ("small", "--seeds", ",".join(map(str, seeds)))
    cluster = Cluster()
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            root = Path(folder)
            (root / "suites").mkdir()
            suite = changed(SUITE, {"fixed.steps": given.steps, "fixed.hidden_units": 33})
            (root / "suites/small.yaml").write_text(to_yaml(suite))
            alone = bare(root, seeds, given.workers)
            share = busy_s(root / "bare") / (alone * given.workers)
            print(f"{given.workers} bare processes: {alone:.0f} s for {given.cells} cells")
            print(f"  they compute {share:.0%} of the time")

            began = time.perf_counter()
            bench(root, {}, "--results", "local", "run", *words, "--jobs", str(given.workers))
            local = time.perf_counter() - began
            share = busy_s(root / "local") / (local * given.workers)
            print(f"local queue: {local:.0f} s, {local / alone:.2f} of the bare processes")
            print(f"  its slots compute {share:.0%} of the time")

            began = time.perf_counter()
            pack = ("--pack", str(given.workers), "--jobs", "1")
            run = bench(root, cluster.environment, "run", *words, "--executor", "slurm", *pack)
            while done(root / "results") < given.cells:
                time.sleep(0.2)
            packed = time.perf_counter() - began
            jobs = run["submitted"]["jobs"]
            print(
                f"Slurm, {jobs} jobs of {given.workers} workers: {packed:.0f} s, "
                f"{packed / alone:.2f} of the bare processes"
            )
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
