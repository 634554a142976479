"""A one-host Slurm whose jobs, daemons and nodes are killed, beside launchers and workers.

A grid is submitted again whenever nothing of it is left in the queue, until it is done. Needs the
packages that `tests/slurm/cluster.sh install` installs.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from random import Random

from benchmarks.attacks.attempt import Attempt, Outcome
from benchmarks.attacks.kills import Round
from benchmarks.attacks.workbench import cell_bytes
from tests.fakes.cluster import NODES, Cluster
from tests.fakes.suites import SUITE, changed, to_yaml

KILLS = 40  # on the way to one finished grid
HARM = {
    "worker": 4, "job": 4, "warning": 3, "launcher": 2, "slurmd": 2, "requeue": 1, "node": 1,
}  # fmt: skip
"""Kinds of harm, and how often each is done: after the last two a job waits for minutes."""
SEEDS = ",".join(map(str, range(4)))
STEPS = 2000
LONGEST_S = 1500.0  # of a grid


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield kills; when a grid is done at last, one that lost or changed something is a finding."""
    cluster = Cluster()
    try:
        while True:
            shutil.rmtree(root / "home", ignore_errors=True)
            yield from _Round(rng, root / "home", cluster).hits()
    finally:
        cluster.stop()


class _Round(Round):
    """One grid on a cluster."""

    def __init__(self, rng: Random, home: Path, cluster: Cluster) -> None:
        super().__init__(rng, home)
        self.cluster = cluster
        # 33 hidden units fill no cache line: cells are not stacked, each is a unit of work.
        suite = changed(SUITE, {"fixed.hidden_units": 33, "fixed.steps": STEPS})
        (home / "suites").mkdir(parents=True)
        (home / "suites/small.yaml").write_text(to_yaml(suite))

    def hits(self) -> list[Attempt]:
        """Hurt the grid so many times, let it end, and return the kills with what came of them."""
        began = time.monotonic()
        self._submit()
        while self._status()["missing"] or self.cluster.jobs():
            if time.monotonic() > began + LONGEST_S:
                self.faults.append((Outcome.HANG, f"not done: {self._status()}"))
                break
            if not self.cluster.jobs():
                self._submit()
            time.sleep(self.rng.uniform(0.5, 2.0))
            if len(self.told) < KILLS:
                self._hurt()
            self.look()
        self.compare(self._undisturbed())
        return self.attempts()

    def _bench(self, *words: str, at: Path | None = None) -> "subprocess.Popen[bytes]":
        """Start `bench` on the cluster; in the grid's folder if in no other."""
        settings = self.cluster.environment | {"BENCH_CHECKPOINT_S": "0.2"}
        return subprocess.Popen(
            [sys.executable, "-m", "bench", *words],
            cwd=at or self.home, env=os.environ | settings, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def _status(self) -> dict[str, int]:
        """Return the counts of `bench status`."""
        out, _ = self._bench("status", "small", "--seeds", SEEDS, "--json").communicate()
        return dict(json.loads(out))

    def _submit(self, *, killed: bool = False) -> None:
        """Give what is missing to Slurm, or be killed on the way."""
        words = ("run", "small", "--seeds", SEEDS, "--executor", "slurm", "--jobs", "4",
                 "--pack", "1", "--retry-failed")  # fmt: skip
        launcher = self._bench(*words)
        if killed:
            time.sleep(self.rng.uniform(0.5, 3.0))
            os.killpg(launcher.pid, signal.SIGKILL)  # its own group, which lives until it is asked
        launcher.communicate()

    def _hurt(self) -> None:
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
            self._submit(killed=True)
        else:
            node = self.rng.choice(NODES)
            self.cluster.script(f"kill-{kind}", node)
            time.sleep(1)
            self.cluster.script("start-slurmd", node)
        self.told.append(kind)

    def _undisturbed(self) -> dict[str, bytes]:
        """Compute the grid in one process, elsewhere; return its bytes."""
        alone = self.home / "alone"
        shutil.copytree(self.home / "suites", alone / "suites")
        self._bench(
            "run", "small", "--seeds", SEEDS, "--executor", "inline", at=alone
        ).communicate()
        return cell_bytes(alone)
