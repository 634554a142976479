"""Kill launchers, workers, jobs and slurmds at random moments, and count what was lost.

A grid runs on a one-host Slurm (`tests/slurm/cluster.sh`), submitted again whenever nothing of it
is left in the queue, until it is done. Then its bytes are compared with those of an inline run.

    python -m benchmarks.kills [--kills 100] [--seed 0] [--steps 4000]
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.fakes.cluster import NODES, Cluster
from tests.fakes.suites import SUITE, changed, to_yaml

HARM = {
    "worker": 4, "job": 4, "warning": 3, "launcher": 2, "slurmd": 2, "requeue": 1, "node": 1,
}  # fmt: skip
"""Kinds of harm, and how often each is done: after the last two a job waits for minutes."""
SEEDS = ",".join(map(str, range(30)))
BYTES = ("summary.json", "history.jsonl", "cell.json")


class Campaign:
    """One grid, one cluster, one folder; what was done to them."""

    def __init__(self, root: Path, cluster: Cluster, seed: int, steps: int) -> None:
        """Write the suite."""
        self.root, self.cluster, self.rng = root, cluster, random.Random(seed)
        self.hit: Counter[str] = Counter()
        self.seen: dict[str, bytes] = {}  # summaries that were there once, by path
        self.lost = 0
        # 33 hidden units fill no cache line: cells are not stacked, each is a unit of work.
        suite = changed(SUITE, {"fixed.hidden_units": 33, "fixed.steps": steps})
        (root / "suites").mkdir()
        (root / "suites/small.yaml").write_text(to_yaml(suite))

    def bench(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start `bench` on the cluster."""
        settings = self.cluster.environment | {"BENCH_CHECKPOINT_S": "0.2"}
        return subprocess.Popen(
            [sys.executable, "-m", "bench", *words],
            cwd=self.root, env=os.environ | settings, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def status(self) -> dict[str, int]:
        """Return the counts of `bench status`."""
        out, _ = self.bench("status", "small", "--seeds", SEEDS, "--json").communicate()
        return dict(json.loads(out))

    def submit(self, *, killed: bool = False) -> None:
        """Give what is missing to Slurm, or be killed on the way."""
        words = ("run", "small", "--seeds", SEEDS, "--executor", "slurm", "--jobs", "4",
                 "--pack", "1", "--retry-failed")  # fmt: skip
        launcher = self.bench(*words)
        if killed:
            time.sleep(self.rng.uniform(0.5, 3.0))
            os.killpg(launcher.pid, signal.SIGKILL)  # its own group, which lives until it is asked
        launcher.communicate()

    def hurt(self) -> None:
        """Do harm to something that runs."""
        running = self.cluster.jobs(running=True)
        (kind,) = self.rng.choices(list(HARM), list(HARM.values()))
        if not running:
            return
        job = self.rng.choice(running)
        if kind == "worker":
            self.cluster.kill(job, only=b"submitit.core._submit")
        elif kind == "job":
            self.cluster.kill(job)
        elif kind == "requeue":
            self.cluster.try_to("scontrol", "requeue", job)
        elif kind == "warning":
            self.cluster.try_to("scancel", "--signal=USR2", job)
        elif kind == "launcher":
            self.submit(killed=True)
        elif kind == "slurmd":
            node = self.rng.choice(NODES)
            self.cluster.script("kill-slurmd", node)
            time.sleep(1)
            self.cluster.script("start-slurmd", node)
        else:
            node = self.rng.choice(NODES)
            self.cluster.script("kill-node", node)
            self.cluster.script("start-slurmd", node)
        self.hit[kind] += 1
        print(f"{self.hit.total()}: {kind}", file=sys.stderr)

    def look(self) -> None:
        """Count finished cells that changed or are gone."""
        now = content(self.root / "results", BYTES[:1])
        self.lost += sum(now.get(name) != before for name, before in self.seen.items())
        self.seen |= now

    def run(self, kills: int) -> None:
        """Hurt the grid so many times, let it end, and print what came of it."""
        self.submit()
        while self.status()["missing"] or self.cluster.jobs():
            if not self.cluster.jobs(sweeps=True):
                self.submit()
            time.sleep(self.rng.uniform(0.5, 3.0))
            if self.hit.total() < kills:
                self.hurt()
            self.look()
        self.look()
        found = self.status()
        self.bench(
            "--results", "inline", "run", "small", "--seeds", SEEDS, "--executor", "inline"
        ).wait()
        same = content(self.root / "results", BYTES) == content(self.root / "inline", BYTES)
        print(f"{self.hit.total()} kills: {dict(self.hit)}")
        attempts = attempts_of(self.root / "results")
        twice = sum(states.count("done") > 1 for states in attempts)
        print(
            f"{found['done']} of {found['cells']} cells done in {sum(map(len, attempts))} attempts"
        )
        print(f"finished and lost or changed: {self.lost}; finished twice: {twice}")
        print(f"bytes of an inline run: {'yes' if same else 'NO'}")


def content(results: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the files of these names."""
    return {
        str(path.relative_to(results)): path.read_bytes()
        for name in names
        for path in sorted(results.glob(f"*/*/{name}"))  # folders of launches come and go
    }


def attempts_of(results: Path) -> list[list[str]]:
    """Return how the attempts at each cell ended."""
    found: dict[Path, list[str]] = {}
    for path in results.glob("*/*/attempts/*.json"):
        found.setdefault(path.parent, []).append(json.loads(path.read_text())["state"])
    return list(found.values())


def main() -> None:
    """Run the campaign and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=4000)
    given = parser.parse_args()
    cluster = Cluster()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), cluster, given.seed, given.steps)
        try:
            campaign.run(given.kills)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
