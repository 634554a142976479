"""Hosts whose clocks are wrong, claims and launches of other hosts, times that cannot be."""

import json
import os
import shutil
import time
from collections.abc import Callable, Generator
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

from bench.files.atomic import to_json
from bench.launch.slurm import jobs
from bench.results import folder, owner, store
from bench.results.owner import Owner
from bench.results.records import sealed
from benchmarks.attacks.attempt import Attempt, judge
from benchmarks.attacks.child import Answer, bench
from benchmarks.attacks.workbench import TOYS, cell_bytes, difference
from tests.fakes.suites import to_yaml

LEASE_S = 0.5  # in place of minutes
DAYS = 86400.0
TIMES = (
    0.0, 1.0, -1.0, 3600.0, -3600.0, 400 * DAYS, -400 * DAYS, 40_000 * DAYS, -20_000 * DAYS, 1e-6,
    LEASE_S, -LEASE_S,
)  # fmt: skip
"""Seconds by which a clock is ahead."""
ABSOLUTE: tuple[Any, ...] = (0.0, -1.0, 1e18, 1e300, 2**31, None, "now", True)


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield attempts to go on where times are wrong: all cells must be there in the end."""
    base = root / "base"
    (base / "suites").mkdir(parents=True)
    (base / "suites" / "small.yaml").write_text(to_yaml(TOYS))
    if (answer := _run(base)).status != 0:
        raise RuntimeError(f"status {answer.status}: {answer.err}")
    whole = cell_bytes(base)
    while True:
        home = root / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(base, home)
        told = [rng.choice(_WRONGS)(rng, home / "results") for _ in range(rng.choice([1, 2, 3]))]
        verb = rng.choice([("status", "small", "--json"), ("plan", "small")])
        attempt = judge(f"{' '.join(verb)} after {', '.join(told)}", _bench(home, *verb))
        if not attempt.is_finding:
            answer = _run(home, "--retry-failed")
            attempt = judge(
                f"run after {', '.join(told)}",
                answer,
                lambda: _end(home, whole, answer),  # noqa: B023
            )
        yield attempt


def _hurry() -> None:
    """Shorten leases, and let Slurm answer that it has no jobs."""
    for module in (owner, folder, store):
        module.LEASE_S = LEASE_S  # type: ignore[attr-defined]
    jobs.ask = lambda *_: ""


def _bench(home: Path, *words: str) -> Answer:
    return bench(home, *words, before=_hurry)


def _run(home: Path, *options: str) -> Answer:
    return _bench(home, "run", "small", "--executor", "inline", *options)


def _end(home: Path, whole: dict[str, bytes], answer: Answer) -> str | None:
    if answer.status != 0:
        return f"status {answer.status}: {answer.last_line}"
    return difference(home, whole)


def _open_cell(rng: Random, results: Path) -> Path:
    """Make a finished cell one that is not; return its folder."""
    cell = rng.choice(sorted(p.parent for p in results.glob("*/*/cell.json")))
    for name in ("summary.json", "digests.json"):
        (cell / name).unlink(missing_ok=True)
    return cell


def _time(rng: Random) -> Any:
    return time.time() + rng.choice(TIMES) if rng.random() < 0.8 else rng.choice(ABSOLUTE)


def _touch(path: Path, rng: Random) -> None:
    at = time.time() + rng.choice(TIMES)
    os.utime(path, (at, at))


def _elsewhere(rng: Random) -> dict[str, Any]:
    """Return a process of another machine, of this one before it was started anew, or of none."""
    me = Owner.me()
    return asdict(
        rng.choice(
            [
                replace(me, machine="elsewhere", host="elsewhere"),
                replace(me, machine="elsewhere", pid=2**22 + 1),
                replace(me, started="1"),  # the number is another process's now
                replace(me, pid=2**30, started=""),
                replace(me, pid=-1),
                replace(me, pid=0, started=""),
                replace(me, machine="elsewhere", job="17"),
            ]
        )
    )


def _attempt(rng: Random, results: Path) -> str:
    """A cell that another process holds, gave up, or failed at, at a time of its own."""
    cell = _open_cell(rng, results)
    state = rng.choice(["running", "running", "failed", "interrupted", "done"])
    began, ended = _time(rng), None if state == "running" else _time(rng)
    number = rng.choice([2, 2, 7, 9999, 10**12])
    record = {
        "attempt": number, "owner": _elsewhere(rng), "launch": "", "state": state, "began": began,
        "ended": ended, "reason": "code" if state == "failed" else None, "message": None,
    }  # fmt: skip
    path = cell / "attempts" / f"{number:04d}.json"
    path.write_bytes(sealed(record))
    _touch(path, rng)
    return f"an attempt {state} from {began} to {ended}"


def _launch(rng: Random, results: Path) -> str:
    """A launcher elsewhere that announced cells which are not done."""
    cell, before = _open_cell(rng, results), _time(rng)
    path = results / "launches" / "0123456789ab.json"
    path.parent.mkdir(exist_ok=True)
    record = {"owner": _elsewhere(rng), "cells": [cell.name], "retry_before": before}
    path.write_bytes(to_json(record))
    _touch(path, rng)
    return f"a launch that retries before {before}"


def _submission(rng: Random, results: Path) -> str:
    """Something given to Slurm, which does not know it."""
    cell = _open_cell(rng, results)
    path = results / "launches" / "slurm" / "bench-01234567" / jobs.RECORD
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_json({"cells": [cell.name], "profile": {}}))
    _touch(path, rng)
    return "a submission"


def _times(rng: Random, results: Path) -> str:
    """Every file last changed at a time of its own."""
    for path in results.rglob("*"):
        _touch(path, rng)
    return "other times of files"


def _provenance(rng: Random, results: Path) -> str:
    """A finished cell that began at a time of its own and took no time, or for ever."""
    path = rng.choice(sorted(results.glob("*/*/provenance.json")))
    began, took = _time(rng), rng.choice([0.0, -5.0, 1e300, 1e18])
    path.write_bytes(to_json(json.loads(path.read_text()) | {"began": began, "wall_s": took}))
    (path.parent / "digests.json").unlink(missing_ok=True)
    return f"a cell that began at {began} and took {took} s"


_WRONGS: tuple[Callable[[Random, Path], str], ...] = (
    _attempt, _attempt, _attempt, _launch, _submission, _times, _provenance,
)  # fmt: skip
