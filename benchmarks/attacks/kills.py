"""Launchers and workers that are killed or told to stop at random moments, several at a time."""

import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from random import Random

from bench import cli
from benchmarks.attacks.attempt import SHOWN, Attempt, Outcome
from benchmarks.attacks.child import kill_group, start
from benchmarks.attacks.workbench import IMAGES, NAMES, cell_bytes, difference, run
from tests.fakes.suites import SUITE, changed, to_yaml

KILLS = 10  # on the way to one finished grid
LAUNCHERS = 3  # at once
STOP_S = 120.0  # for one that was told to stop
SIGNALS = (signal.SIGKILL,) * 6 + (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
SETTINGS = {"BENCH_CHECKPOINT_S": "0.05"}
# 33 hidden units fill no cache line: cells are not stacked, each is a unit of work.
TOYS = changed(SUITE, {"fixed.hidden_units": 33, "fixed.steps": 400, "seeds": [0, 1, 2]})


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield kills; when a grid is done at last, one that lost or changed something is a finding."""
    _write_suites(root / "whole")
    run(root / "whole")
    whole = cell_bytes(root / "whole")
    while True:
        home = root / "home"
        shutil.rmtree(home, ignore_errors=True)
        _write_suites(home)
        yield from _Round(rng, home, whole, workers=rng.random() < 0.25).hits()


def _write_suites(home: Path) -> None:
    (home / "suites").mkdir(parents=True)
    for suite in (TOYS, changed(IMAGES, {"fixed.epochs": 3})):
        (home / "suites" / f"{suite['name']}.yaml").write_text(to_yaml(suite))


class _Round:
    """One grid, killed on its way until it has had enough."""

    def __init__(self, rng: Random, home: Path, whole: dict[str, bytes], *, workers: bool) -> None:
        self.rng, self.home, self.whole, self.workers = rng, home, whole, workers
        self.launchers: list[int] = []
        self.seen: dict[str, bytes] = {}  # summaries that were there once
        self.faults: list[tuple[Outcome, str]] = []
        self.started = 0

    def hits(self) -> list[Attempt]:
        """Kill so many times, let the grid end, and return the kills with what came of them."""
        told = []
        for _ in range(KILLS):
            told.append(self._hit())
            self._look()
        for pid in self.launchers:
            kill_group(pid)
            os.waitpid(pid, 0)
        self._wait_for_workers()
        self._end()
        found = [Attempt(what, Outcome.ANSWERED) for what in told]
        for i, (outcome, detail) in enumerate(self.faults[:KILLS]):
            found[i] = Attempt(told[i], outcome, detail)
        return found

    def _start(self) -> None:
        """Begin a launcher, which is a copy of this process."""
        how = ("--jobs", "2") if self.workers else ("--executor", "inline")

        def launch() -> None:
            sys.argv = ["bench", "run", *self.rng.sample(NAMES, 2), *how]
            cli.main()

        self.started += 1
        out, err = (self.home / f"{self.started}.{name}" for name in ("out", "err"))
        self.launchers.append(start(launch, self.home, out, err, SETTINGS))

    def _hit(self) -> str:
        """Kill a launcher or one of its workers at a random moment."""
        while len(self.launchers) < (1 if self.workers else LAUNCHERS):
            self._start()
        time.sleep(self.rng.uniform(0, 6.0 if self.workers else 1.0))
        own = workers_of(self.home)
        if own and self.rng.random() < 0.6:
            os.kill(self.rng.choice(own), signal.SIGKILL)
            return "kill of a worker"
        victim = self.rng.randrange(len(self.launchers))
        pid, number = self.launchers.pop(victim), self.rng.choice(SIGNALS)
        os.kill(pid, number)
        self._reap(pid)
        return f"{number.name} to a launcher"

    def _reap(self, pid: int) -> None:
        deadline = time.monotonic() + STOP_S
        while not os.waitpid(pid, os.WNOHANG)[0]:
            if time.monotonic() > deadline:
                self.faults.append((Outcome.HANG, "a launcher does not stop"))
                kill_group(pid)
                os.waitpid(pid, 0)
                return
            time.sleep(0.02)

    def _wait_for_workers(self) -> None:
        """Workers follow their launcher."""
        deadline = time.monotonic() + STOP_S
        while left := workers_of(self.home):
            if time.monotonic() > deadline:
                self.faults.append((Outcome.HANG, f"{len(left)} workers live on"))
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.1)

    def _look(self) -> None:
        """Note finished cells that changed or are gone."""
        now = {n: c for n, c in cell_bytes(self.home).items() if n.endswith("summary.json")}
        lost = [name for name, content in self.seen.items() if now.get(name) != content]
        self.faults += [(Outcome.CHANGED, f"{name} was lost or changed") for name in lost]
        self.seen |= now

    def _end(self) -> None:
        """Let the grid end; compare it with one that nobody disturbed."""
        answer = run(self.home)
        if answer.status != 0:
            self.faults.append((Outcome.CHANGED, f"it does not end: {answer.last_line}"))
        if (wrong := difference(self.home, self.whole)) is not None:
            self.faults.append((Outcome.CHANGED, wrong))
        self.faults += [
            (Outcome.CHANGED, f"{cell} was done {times} times")
            for cell, times in done_times(self.home / "results").items()
            if times > 1
        ]
        for path in self.home.glob("*.err"):
            text = path.read_text(errors="replace")
            if "Traceback (most recent call last)" in text:
                self.faults.append((Outcome.TRACEBACK, text[-2 * SHOWN :]))
        left = [p for p in self.home.glob("results/*/*/**/.*") if p.parent.name != "attempts"]
        self.faults += [(Outcome.CHANGED, f"{p.name} was left behind") for p in left]


def done_times(results: Path) -> Counter[str]:
    """Return how often an attempt at a cell ended well, by the cell's folder."""
    counts: Counter[str] = Counter()
    for path in results.glob("*/*/attempts/*.json"):
        name = path.parents[1].relative_to(results).as_posix()
        counts[name] += json.loads(path.read_text())["state"] == "done"
    return counts


def workers_of(home: Path) -> list[int]:
    """Return the processes that compute in a folder: submitit's tasks."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ")
            here = os.readlink(path / "cwd") == str(home)
        except OSError:
            continue
        if here and b"submitit.core._submit" in command:
            found.append(int(path.name))
    return found
