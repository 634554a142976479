"""Real limits on what can be written: of a file's size, and of a small disk."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.forked import Forked
from tests.fakes.processes import end
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace

pytestmark = pytest.mark.usefixtures("forked_workers")
PART = ("--seeds", "0", "--where", "mi_true=2")


def start_limited(workspace: Workspace, most_bytes: int, *words: str) -> "subprocess.Popen[str]":
    """Start `bench` where no file may be larger; checkpoints are written after every step."""

    def limit() -> None:
        sys.dont_write_bytecode = True  # a module of bench would be left torn in the checkout
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    settings = {"BENCH_CHECKPOINT_S": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return Forked(
        [sys.executable, "-m", "bench", *words],
        cwd=workspace.root, env=os.environ | settings, text=True, preexec_fn=limit,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


INLINE, LOCAL = ("--executor", "inline"), ("--jobs", "1")


@pytest.mark.parametrize(("how", "most_bytes"), [(INLINE, 1000), (INLINE, 20_000), (LOCAL, 20_000)])
def test_a_limit_on_file_sizes_stops_the_run(
    workspace: Workspace, how: tuple[str, ...], most_bytes: int
) -> None:
    """Of 1000 bytes: before anything starts; of 20,000: at the first checkpoint."""
    workspace.suite(changed(SUITE, {"fixed.steps": 200}))
    status, _, err = end(start_limited(workspace, most_bytes, "run", "small", *PART, *how))
    line = err.splitlines()[-1]
    assert (status, "cannot be written (File too large); " in line) == (1, True), err
    assert line.startswith("bench: results"), err
    assert {a["state"] for a in workspace.attempts()} <= {"interrupted"}
    ran = workspace.call("run", "small", *PART, *INLINE, "--json")
    assert (ran.status, ran.json["missing"], ran.json["failed"]) == (0, 0, 0)
    workspace.call("--results", "whole", "run", "small", *PART, "--executor", "inline")
    assert workspace.summaries() == workspace.summaries("whole")


def test_init_on_a_full_disk_is_one_line(workspace: Workspace) -> None:
    status, _, err = end(start_limited(workspace, 1000, "init", "mine"))
    assert (status, err.count("\n")) == (1, 1), err
    assert "cannot be written (File too large); " in err
    assert not list((workspace.root / "mine").iterdir())


@pytest.fixture
def disk(workspace: Workspace) -> Iterator[Path]:
    """A disk of 64 KiB, mounted at `results`."""
    path = workspace.root / "results"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(path)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as fault:
        pytest.skip(f"nothing can be mounted here: {fault}")
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", str(path)], check=True)


@pytest.mark.parametrize(("how", "filled"), [(INLINE, 65_536), (INLINE, 16_000), (LOCAL, 16_000)])
def test_a_full_disk_stops_the_run_and_with_space_it_goes_on(
    workspace: Workspace, disk: Path, how: tuple[str, ...], filled: int
) -> None:
    with (disk / "others").open("wb", buffering=0) as file:
        while file.tell() < filled:
            try:
                file.write(bytes(4096))
            except OSError:
                break
    status, _, err = end(workspace.start("run", "small", *PART, *how, BENCH_CHECKPOINT_S="0"))
    assert status == 1, err
    assert "cannot be written (No space left on device); " in err.splitlines()[-1], err
    told = json.loads(workspace.call("status", "small", *PART, "--json").out)
    assert (told["failed"], told["running"]) == (0, 0)
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    ran = workspace.call("run", "small", *PART, *INLINE, "--json")
    assert (ran.status, ran.json["missing"], ran.json["failed"]) == (0, 0, 0)
    workspace.call("--results", "whole", "run", "small", *PART, "--executor", "inline")
    assert workspace.summaries() == workspace.summaries("whole")
