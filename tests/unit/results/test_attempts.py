"""Claims: one winner, the dead are replaced, failures stay failures."""

import json
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bench.results.attempts import all_attempts, begin_attempt, last_attempt
from bench.results.owner import LEASE_S, Owner
from tests.fakes.processes import dead_owner


def test_a_living_owner_keeps_its_claim(tmp_path: Path) -> None:
    assert begin_attempt(tmp_path, Owner.me(), "a") is not None
    assert begin_attempt(tmp_path, Owner.me(), "b") is None


def test_a_dead_owner_is_replaced(tmp_path: Path) -> None:
    first = begin_attempt(tmp_path, dead_owner(), "a")
    assert first is not None
    assert first.state == "killed"
    second = begin_attempt(tmp_path, Owner.me(), "b")
    assert second is not None
    assert (second.number, second.state) == (2, "running")
    assert not first.is_mine()
    assert second.is_mine()


def test_attempts_are_counted_beyond_four_digits(tmp_path: Path) -> None:
    (tmp_path / "9999.json").write_text("of nobody")
    for number in (10_000, 10_001):
        attempt = begin_attempt(tmp_path, dead_owner(), "a")
        assert attempt is not None
        assert (attempt.number, attempt.is_mine()) == (number, True)


def test_a_number_used_again_by_another_process_is_not_the_owner(tmp_path: Path) -> None:
    recycled = replace(Owner.me(), started="1")
    attempt = begin_attempt(tmp_path, recycled, "a")
    assert attempt is not None
    assert attempt.state == "killed"


def test_an_owner_on_another_machine_lives_as_long_as_its_signs(tmp_path: Path) -> None:
    far = replace(Owner.me(), machine="elsewhere", pid=1)
    attempt = begin_attempt(tmp_path, far, "a")
    assert attempt is not None
    assert attempt.state == "running"
    old = time.time() - LEASE_S - 1
    os.utime(attempt.path, (old, old))
    assert attempt.state == "killed"
    os.utime(attempt.path)
    assert attempt.state == "running"


def test_a_sign_of_life_from_the_future_counts_from_when_it_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose clock is ahead lives while it touches the file, not a year longer."""
    attempt = begin_attempt(tmp_path, replace(Owner.me(), machine="elsewhere", pid=1), "a")
    assert attempt is not None
    year = time.time() + 365 * 86400
    os.utime(attempt.path, (year, year))
    assert attempt.state == "running"
    began, clock = time.monotonic(), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + LEASE_S + 1)
    assert attempt.state == "killed"
    os.utime(attempt.path, (year + 30, year + 30))
    assert attempt.state == "running"
    assert clock() - began < LEASE_S


def test_a_failure_is_tried_again_only_if_it_is_older_than_asked(tmp_path: Path) -> None:
    attempt = begin_attempt(tmp_path, Owner.me(), "a")
    assert attempt is not None
    attempt.end("failed", "code", "ValueError: no")
    assert begin_attempt(tmp_path, Owner.me(), "b") is None
    assert begin_attempt(tmp_path, Owner.me(), "b", retry_before=time.time() - 60) is None
    again = begin_attempt(tmp_path, Owner.me(), "b", retry_before=time.time() + 1)
    assert again is not None
    assert again.number == 2


def test_an_interrupted_attempt_may_be_followed(tmp_path: Path) -> None:
    attempt = begin_attempt(tmp_path, Owner.me(), "a")
    assert attempt is not None
    attempt.end("interrupted")
    following = begin_attempt(tmp_path, Owner.me(), "a")
    assert following is not None
    assert [a.state for a in all_attempts(tmp_path)] == ["interrupted", "running"]


def contend(folder: Path, rounds: int, wins: Path) -> None:
    for number in range(rounds):
        attempt = begin_attempt(folder / str(number), Owner.me(), "race")
        if attempt is not None:
            (wins / f"{number}-{os.getpid()}").touch()
    signal.pause()  # alive until told to stop: the dead may be replaced


@pytest.mark.slow
def test_of_many_contenders_one_wins(tmp_path: Path) -> None:
    """Six processes claim 200 cells, each first held by a dead one: each cell is won once."""
    rounds, cells, wins = 200, tmp_path / "cells", tmp_path / "wins"
    wins.mkdir()
    dead = dead_owner()
    for number in range(rounds):
        assert begin_attempt(cells / str(number), dead, "killed") is not None
    context = multiprocessing.get_context("fork")
    crowd = [context.Process(target=contend, args=(cells, rounds, wins)) for _ in range(6)]
    for process in crowd:
        process.start()
    deadline = time.monotonic() + 60
    while len(list(wins.iterdir())) < rounds and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    found = sorted(int(path.name.split("-")[0]) for path in wins.iterdir())
    last = [last_attempt(cells / str(number)) for number in range(rounds)]  # while all winners live
    for process in crowd:
        process.terminate()
        process.join()
    assert found == list(range(rounds))
    assert {attempt.number for attempt in last if attempt} == {2}


def test_the_record_is_whole_when_its_name_appears(tmp_path: Path) -> None:
    attempt = begin_attempt(tmp_path, Owner.me(), "a")
    assert attempt is not None
    record = json.loads(attempt.path.read_text())
    assert record["owner"]["pid"] == os.getpid()
    assert [path.name for path in tmp_path.iterdir()] == ["0001.json"]  # nothing half-written left
