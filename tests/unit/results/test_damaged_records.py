"""What processes wrote for each other and was damaged: told in one line, and harms nothing else."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench.files.messages import forget_warnings
from bench.results.inspect import inspect
from bench.results.owner import Owner
from bench.results.store import Store
from tests.fakes.archives import fill
from tests.fakes.processes import age
from tests.fakes.results import states
from tests.fakes.toys import make_cells

KINDS = ("attempt", "launch")
WRONG: dict[str, Any] = {
    "a list": "[1]", "text": '"x"', "nothing": "", "half": '{"owner": {', "no keys": "{}",
    "deep": "[" * 100_000, "a long number": '{"attempt": ' + "1" * 5000 + "}",
    "another owner": {"owner": "me"},
    "an owner with more": {"owner": Owner.me().record() | {"more": 1}},
    "an owner with less": {"owner": {"pid": 1}},
    "over without a time": {"ended": None, "state": "failed"},
    "null": {"ended": None, "state": "failed", "cells": None, "arrays": None},
    "words": {"attempt": "x", "ended": "x", "began": "x", "cells": "x", "arrays": "x"},
    "numbers": {"attempt": 0, "began": -1.0, "cells": [1], "arrays": [[1]]},
    "an unknown key": {"more": 1},
}  # fmt: skip
NO_FILES = ("a folder", "a pipe", "a device")
WHY = {
    "attempt": "is not a record of an attempt",
    "launch": "is not a record of a launch",
}


def write(path: Path, wrong: str) -> None:
    """Put something else in the place of a record."""
    if wrong in NO_FILES:
        path.unlink()
        {"a folder": path.mkdir, "a pipe": lambda: os.mkfifo(path)}.get(
            wrong, lambda: path.symlink_to("/dev/zero")
        )()
        return
    value = WRONG[wrong]
    if isinstance(value, dict):
        record = json.loads(path.read_text())
        record.pop("sha256", None)
        value = json.dumps(record | value)
    path.write_text(value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [*WRONG, *NO_FILES])
def test_a_damaged_record_is_told_and_harms_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, wrong: str
) -> None:
    store, cells = Store(tmp_path), make_cells(4)
    fill(store, cells[0])
    attempt = store.folder(cells[1]).claim(cells[1], Owner.me(), "x")
    assert attempt is not None
    attempt.end("failed", "code", "no")
    with store.announce(cells[3:]) as launch:
        sound = ["done", "failed", "missing", "queued"]
        assert states(store, cells) == sound
        paths = {"attempt": attempt.path, "launch": launch.path}
        path = paths[kind]
        write(path, wrong)
        forget_warnings()
        capsys.readouterr()
        found = states(Store(tmp_path), cells)
        place = {"attempt": 1, "launch": 3}[kind]
        assert found == [*sound[:place], "missing", *sound[place + 1 :]]
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert err.startswith(f"bench: warning: {path}: ")
        why = "is not a regular file" if wrong in NO_FILES else WHY[kind]
        assert why in err
        assert [fault for fault in inspect(tmp_path).faults if str(path) in fault]
        assert len(inspect(tmp_path).faults) == 1


def test_what_is_left_of_a_damaged_launch_is_removed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.announce(make_cells(1)) as launch:
        launch.path.write_text("[1]")
        age(launch.path)
        store.sweep()
        assert not launch.path.exists()


def test_a_cell_whose_attempt_is_damaged_can_be_claimed(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    attempt = store.folder(cell).claim(cell, Owner.me(), "x")
    assert attempt is not None
    attempt.path.write_text("{}")
    again = store.folder(cell).claim(cell, Owner.me(), "x")
    assert again is not None
    assert again.number == 2
