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
from benchmarks.attacks.workbench import (
    IMAGES,
    NAMES,
    WHOLE_S,
    cell_bytes,
    difference,
    run,
    undisturbed,
)
from tests.fakes.suites import SUITE, changed, to_yaml

KILLS = 10  # on the way to one finished grid
LAUNCHERS = 3  # at once
STOP_S = 300.0  # for one that was told to stop
SIGNALS = (signal.SIGKILL,) * 6 + (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
SETTINGS = {"BENCH_CHECKPOINT_S": "0.05"}
# 33 hidden units fill no cache line: cells are not stacked, each is a unit of work.
TOYS = changed(SUITE, {"fixed.hidden_units": 33, "fixed.steps": 400, "seeds": [0, 1, 2]})


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield kills; when a grid is done at last, one that lost or changed something is a finding."""
    _write_suites(root / "whole")
    whole = undisturbed(root / "whole")
    while True:
        home = root / "home"
        shutil.rmtree(home, ignore_errors=True)
        _write_suites(home)
        yield from _Round(rng, home, whole, workers=rng.random() < 0.25).hits()


def _write_suites(home: Path) -> None:
    (home / "suites").mkdir(parents=True)
    for suite in (TOYS, changed(IMAGES, {"fixed.epochs": 3})):
        (home / "suites" / f"{suite['name']}.yaml").write_text(to_yaml(suite))


class Round:
    """One grid that is hurt on its way, and what is found wrong with it."""

    def __init__(self, rng: Random, home: Path) -> None:
        """Begin with nothing hurt."""
        self.rng, self.home = rng, home
        self.told: list[str] = []  # what was done to it
        self.faults: list[tuple[Outcome, str]] = []
        self.seen: dict[str, bytes] = {}  # summaries that were there once

    def look(self) -> None:
        """Note finished cells that changed or are gone."""
        now = {n: c for n, c in cell_bytes(self.home).items() if n.endswith("summary.json")}
        lost = [name for name, content in self.seen.items() if now.get(name) != content]
        self.faults += [(Outcome.CHANGED, f"{name} was lost or changed") for name in lost]
        self.seen |= now

    def compare(self, whole: dict[str, bytes]) -> None:
        """Compare the finished grid with one that nobody disturbed; no cell was done twice."""
        self.look()
        if (wrong := difference(self.home, whole)) is not None:
            self.faults.append((Outcome.CHANGED, wrong))
        counts = Counter[str]()
        for path in self.home.glob("results/*/*/attempts/*.json"):
            counts[path.parts[-3]] += json.loads(path.read_text())["state"] == "done"
        twice = [cell for cell, times in counts.items() if times > 1]
        self.faults += [(Outcome.CHANGED, f"{cell} was done twice") for cell in twice]

    def attempts(self) -> list[Attempt]:
        """Return what was done; the first of them carry the faults."""
        faults = [(outcome, detail[-SHOWN:]) for outcome, detail in self.faults]
        faults += [(Outcome.ANSWERED, "")] * len(self.told)
        followed = [True] * (len(self.told) - 1) + [False]
        pairs = zip(self.told, faults, followed, strict=False)
        return [Attempt(what, *fault, is_followed) for what, fault, is_followed in pairs]


class _Round(Round):
    """Launchers and workers are killed until the grid has had enough."""

    def __init__(self, rng: Random, home: Path, whole: dict[str, bytes], *, workers: bool) -> None:
        super().__init__(rng, home)
        self.whole, self.workers = whole, workers
        self.launchers: list[int] = []
        self.started = 0

    def hits(self) -> list[Attempt]:
        """Kill so many times, let the grid end, and return the kills with what came of them."""
        for _ in range(KILLS):
            self.told.append(self._hit())
            self.look()
        for pid in self.launchers:
            kill_group(pid)
            os.waitpid(pid, 0)
        self._wait_for_workers()
        self._end()
        return self.attempts()

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

    def _end(self) -> None:
        """Let the grid end; look for what is other than it should be."""
        answer = run(self.home, seconds=WHOLE_S)
        if answer.hangs:
            self.faults.append((Outcome.HANG, "the grid does not end"))
            return
        if answer.status != 0:
            self.faults.append((Outcome.CHANGED, f"it does not end: {answer.last_line}"))
        self.compare(self.whole)
        for path in self.home.glob("*.err"):
            text = path.read_text(errors="replace")
            if "Traceback (most recent call last)" in text:
                self.faults.append((Outcome.TRACEBACK, text))
        left = [p for p in self.home.glob("results/*/*/**/.*") if p.parent.name != "attempts"]
        self.faults += [(Outcome.CHANGED, f"{p.name} was left behind") for p in left]


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
