"""Ranks that compute cells together: from the command line, stopped, gone on, refused."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench.environment import ProcessPlace, place
from bench.errors import BenchError, LaunchError
from bench.launch.distributed import gpu_of
from bench.launch.options import check_ranks
from bench.launch.run import run_cells
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.cells import small_cell
from tests.fakes.forked import Forked
from tests.fakes.paths import ROOT
from tests.fakes.suites import RANKED
from tests.fakes.workspace import Workspace


def bench_on_two_ranks(folder: Path) -> "subprocess.Popen[str]":
    """Start `bench run` by torchrun, in a session of its own.

    Neither torchrun nor its ranks are new interpreters, which would load PyTorch for seconds.
    """
    run = ["-m", "bench", "--results", "two", "run", "mine", "--executor", "inline"]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    settings = {"BENCH_CHECKPOINT_S": "0", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return Forked(
        [sys.executable, *torchrun, *run],
        cwd=folder,
        env=os.environ | settings | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def only(folder: Path, pattern: str) -> Any:
    (path,) = folder.glob(pattern)
    return json.loads(path.read_text())


def test_torchrun_gives_what_one_process_gives_though_killed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = "torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler"
    monkeypatch.setattr(f"{handler}.Popen", Forked)
    tmp_path = workspace.root
    workspace.suite(RANKED)
    # First, so that the copies have its modules loaded.
    assert "1 done" in workspace.call("--results", "one", "run", "mine", "--executor", "inline").out
    killed = bench_on_two_ranks(tmp_path)
    while not list(tmp_path.glob("two/trained/*/checkpoint.pt")) and killed.poll() is None:
        time.sleep(0.02)
    os.kill(only(tmp_path, "two/pretrain/*/attempts/*.json")["owner"]["pid"], signal.SIGKILL)
    assert "bench:" not in killed.communicate(timeout=120)[0]  # the other ends without a word
    assert killed.returncode != 0
    told = bench_on_two_ranks(tmp_path).communicate(timeout=180)[0]
    assert "cells: 1 done, 0 failed, 0 missing" in told, told
    assert told.count("0 missing") == 1  # one rank speaks
    attempts = sorted(tmp_path.glob("two/pretrain/*/attempts/*.json"))
    owners = [json.loads(path.read_text())["owner"]["pid"] for path in attempts]
    assert len(set(owners)) == len(owners) == 2
    assert only(tmp_path, "two/pretrain/*/provenance.json")["ranks"] == 2
    one, two = (
        only(tmp_path, f"{run}/pretrain/*/summary.json")["metrics"] for run in ("one", "two")
    )
    assert one.keys() == two.keys()
    accuracies = {name for name in one if name.startswith("knn")}  # an image is 0.2 percent
    for name in one:
        close = 1.0 if name in accuracies else 0.02 * max(1.0, abs(one[name]))
        assert two[name] == pytest.approx(one[name], abs=close), name
    lines = [path.read_text().count("\n") for path in tmp_path.glob("*/pretrain/*/history.jsonl")]
    assert lines == [2, 2]


def test_cells_that_do_not_divide_among_ranks_are_refused() -> None:
    cell = small_cell(batch_size=18)
    with pytest.raises(LaunchError) as error:
        check_ranks([small_cell(), cell], 4)
    assert str(error.value) == "batch_size 18 cannot be divided evenly among 4 ranks"
    check_ranks([small_cell()], 4)


def test_toys_run_on_one_rank() -> None:
    path = Path("suites/eqco-table-9.yaml")
    toys = expand(load_suite(path), "smoke", path)
    with pytest.raises(LaunchError) as error:
        check_ranks(toys, 2)
    assert str(error.value) == (
        "gaussian-mi can run only on one rank, but 2 ranks were started: leave out "
        "torchrun or --ranks"
    )


def test_each_rank_has_a_gpu_of_its_own() -> None:
    assert gpu_of(ProcessPlace(5, 8, 1), ["4", "7"]) == "7"
    assert gpu_of(ProcessPlace(5, 8, 1), ["4"]) == "4"  # Slurm has bound it
    assert gpu_of(ProcessPlace(1, 2, 1, meets=True), []) is None
    with pytest.raises(LaunchError) as error:
        gpu_of(ProcessPlace(1, 2, 1, meets=True), ["0"])
    assert str(error.value) == (
        "rank 1 has local rank 1, but its machine has only 1 visible GPUs: start one rank per GPU"
    )


TORCHRUN = {"MASTER_ADDR": "here", "MASTER_PORT": "1"} | {
    "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1",
}  # fmt: skip
STEP = {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "0"}
LOCAL = {"SUBMITIT_EXECUTOR": "local"} | {
    f"SUBMITIT_LOCAL_{k}": v for k, v in {"GLOBALID": "0", "NTASKS": "1", "LOCALID": "0"}.items()
}
PLACES = [
    ({}, ProcessPlace()),
    (TORCHRUN, ProcessPlace(3, 4, 1, meets=True)),
    (STEP, ProcessPlace(2, 8, 0)),
    (
        {"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"},
        ProcessPlace(),
    ),  # a batch script
    (STEP | LOCAL, ProcessPlace(0, 1, 0)),  # a local worker below a step
]


@pytest.mark.parametrize(("variables", "expected"), PLACES)
def test_a_process_knows_its_place(
    variables: dict[str, str], expected: ProcessPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*TORCHRUN, *STEP, *LOCAL):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert place() == expected


def test_mistakes_in_how_ranks_are_started_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(LaunchError) as error:
        run_cells([small_cell()], Store(tmp_path), tmp_path, title="mine")
    assert (
        str(error.value) == "under torchrun, all ranks compute each cell together, which needs "
        "--executor inline"
    )
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(BenchError) as mistake:
        place()
    assert str(mistake.value) == "RANK=x: expected a whole number"
