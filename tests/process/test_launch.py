"""Grids run, killed, resumed, shared and failing: the store ends the same."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from bench.experiments import EXPERIMENTS
from bench.results.owner import Owner
from tests.fakes.processes import end
from tests.fakes.suites import DIGITS, SUITE, changed
from tests.fakes.workspace import Workspace

pytestmark = pytest.mark.usefixtures("forked_workers")
LONG = changed(SUITE, {"fixed.steps": 1500})
PART = ("--where", "mi_true=2", "--where", "loss=eqco")
INLINE = ("--executor", "inline")  # one process: a worker would load torch once more
CELLS = 16


def workers_of(root: Path) -> list[int]:
    """Return the processes that work in this folder: submitit's tasks."""
    found = []
    for path in Path("/proc").iterdir():
        if not path.name.isdecimal():
            continue
        try:
            name = (path / "comm").read_text()
            here = os.readlink(path / "cwd") == str(root)
        except OSError:
            continue
        if here and "_submit" in name:
            found.append(int(path.name))
    return found


def wait_for(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def run_whole(workspace: Workspace, suite: str) -> dict[str, bytes]:
    """Return the bytes of a run in one process, whose copies then have its modules loaded."""
    words = ("--results", "whole", "run", suite, "--executor", "inline")
    assert workspace.call(*words).status == 0
    return workspace.summaries("whole")


def test_local_and_inline_end_with_the_same_bytes(workspace: Workspace) -> None:
    local = workspace.call("run", "small", "--jobs", "2", "--json")
    assert (local.status, local.json) == (
        0,
        {"done": CELLS, "failed": 0, "missing": 0, "failures": []},
    )
    inline = workspace.call("--results", "other", "run", "small", "--executor", "inline", "--json")
    assert inline.json["done"] == CELLS
    assert len(workspace.summaries()) == 3 * CELLS
    assert workspace.summaries() == workspace.summaries("other")
    assert {attempt["state"] for attempt in workspace.attempts()} == {"done"}


def test_running_again_does_nothing_but_clear_up(workspace: Workspace) -> None:
    workspace.call("run", "small", "--executor", "inline")
    before = {p: p.stat().st_mtime_ns for p in (workspace.root / "results").rglob("*.json")}
    left = next((workspace.root / "results").rglob("summary.json")).with_name("checkpoint.pt")
    left.write_bytes(b"of a process that was killed right after its last word")
    logs = workspace.root / "results" / "launches" / "0123456789ab"
    logs.mkdir()
    os.utime(logs, (0, 0))
    assert workspace.call("run", "small", "--executor", "inline", "--json").json["done"] == CELLS
    assert not left.exists()
    assert not logs.exists()
    assert before == {p: p.stat().st_mtime_ns for p in (workspace.root / "results").rglob("*.json")}


def test_more_seeds_run_only_what_is_missing(workspace: Workspace) -> None:
    workspace.call("run", "small", "--executor", "inline", "--seeds", "0")
    assert len(workspace.attempts()) == CELLS // 2
    workspace.call("run", "small", "--executor", "inline")
    assert len(workspace.attempts()) == CELLS


def test_killed_at_random_moments_it_ends_as_if_it_was_not(workspace: Workspace) -> None:
    """kill -9 of the launcher as its workers start; of a worker, then of the launcher, at work.

    Many more moments: benchmarks/attacks/kills.py.
    """
    workspace.suite(changed(SUITE, {"fixed.steps": 3000}))
    begun = time.monotonic()
    whole = run_whole(workspace, "small")
    longest = (time.monotonic() - begun) / 10  # well before two workers are through, on any machine
    draw = random.Random(0)
    for at_work in (False, True):
        process = workspace.start("run", "small", "--jobs", "2", BENCH_CHECKPOINT_S="0.2")
        wait_for(lambda: workers_of(workspace.root))
        if at_work:
            wait_for(lambda: any((workspace.root / "results").rglob("checkpoint.pt")))
            os.kill(workers_of(workspace.root)[0], signal.SIGKILL)
        time.sleep(draw.uniform(0, longest))
        process.kill()
        end(process)
        wait_for(lambda: not workers_of(workspace.root))  # they follow their launcher
    told = workspace.call("run", "small", *INLINE)
    counts = told.out.splitlines()[0]
    assert (told.status, counts) == (0, f"cells: {CELLS} done, 0 failed, 0 missing"), told.err
    assert any(attempt["attempt"] > 1 for attempt in workspace.attempts())  # it was hurt
    assert workspace.summaries() == whole
    assert not list((workspace.root / "results").rglob("checkpoint.pt"))


def test_pretraining_killed_at_a_random_moment_ends_as_if_it_was_not(workspace: Workspace) -> None:
    """Four cells, two encoders: each is trained once, and resumed from its checkpoint."""
    workspace.suite(changed(DIGITS, {"fixed.epochs": 8, "grid.loss": ["infonce", "dcl"]}))
    trained = workspace.root / "results" / "trained"
    whole = run_whole(workspace, "digits")
    process = workspace.start("run", "digits", *INLINE, BENCH_CHECKPOINT_S="0.1")
    wait_for(lambda: any(trained.glob("*/checkpoint.pt")))
    time.sleep(random.Random(3).uniform(0, 1))
    process.kill()
    end(process)
    assert any(trained.glob("*/history.jsonl"))
    told = workspace.call("run", "digits", *INLINE)
    assert (told.status, told.out.splitlines()[0]) == (0, "cells: 4 done, 0 failed, 0 missing"), (
        told.err
    )
    assert any(trained.glob("*/attempts/0002.json"))  # it was hurt
    assert workspace.summaries() == whole
    assert len(list(trained.glob("*/encoder.pt"))) == 2
    assert not list(trained.glob("*/checkpoint.pt"))


def test_a_tuning_killed_at_a_random_moment_ends_as_if_it_was_not(workspace: Workspace) -> None:
    """Two shares of the labels on one encoder, and from scratch: killed while one is tuned."""
    tuning = {"fixed.tune_views": "affine", "fixed.tune_epochs": 10, "fixed.tune_batch_size": 16,
              "fixed.tune_optimizer": "sgd", "fixed.tune_lr": 0.05,
              "fixed.tune_lr_schedule": "cosine"}  # fmt: skip
    axes = {"label_fraction": [0.3, 1.0], "start": ["pretrained", "scratch"]}
    workspace.suite(changed(DIGITS, tuning | {"experiment": "finetune", "grid": axes}))
    tuned = workspace.root / "results" / "finetune"
    whole = run_whole(workspace, "digits")
    process = workspace.start("run", "digits", *INLINE, BENCH_CHECKPOINT_S="0")
    wait_for(lambda: any(tuned.glob("*/checkpoint.pt")), seconds=300)
    time.sleep(random.Random(4).uniform(0, 0.5))
    process.kill()
    end(process)
    told = workspace.call("run", "digits", *INLINE)
    assert (told.status, told.out.splitlines()[0]) == (0, "cells: 4 done, 0 failed, 0 missing"), (
        told.err
    )
    assert any(tuned.glob("*/attempts/0002.json"))  # it was hurt
    assert workspace.summaries() == whole
    assert not list(tuned.glob("*/checkpoint.pt"))


def test_a_detector_killed_at_a_random_moment_ends_as_if_it_was_not(workspace: Workspace) -> None:
    """One on an encoder, and one from scratch: killed while one is trained."""
    sizes = {"anchor_size": 8, "region_channels": 8, "head_units": 16, "proposals": 10,
             "sampled_regions": 8, "shorter_side": 64, "longer_side": 64, "detect_steps": 10,
             "detect_batch_size": 2, "detect_lr": 0.02, "detect_weight_decay": 1e-4,
             "detect_dataset": "shapes", "neck": "fpn", "box_head": "two-linear",
             "frozen_backbone": False}  # fmt: skip
    axes = {"detector": ["mask-rcnn"], "start": ["pretrained", "scratch"]}
    fixed = {f"fixed.{name}": value for name, value in sizes.items()}
    workspace.suite(changed(DIGITS, fixed | {"experiment": "detection", "grid": axes}))
    detectors = workspace.root / "results" / "detection"
    whole = run_whole(workspace, "digits")
    process = workspace.start("run", "digits", *INLINE, BENCH_CHECKPOINT_S="0")
    wait_for(lambda: any(detectors.glob("*/checkpoint.pt")), seconds=300)
    time.sleep(random.Random(5).uniform(0, 0.5))
    process.kill()
    end(process)
    told = workspace.call("run", "digits", *INLINE)
    assert (told.status, told.out.splitlines()[0]) == (0, "cells: 2 done, 0 failed, 0 missing"), (
        told.err
    )
    assert any(detectors.glob("*/attempts/0002.json"))  # it was hurt
    assert workspace.summaries() == whole
    assert not list(detectors.glob("*/checkpoint.pt"))


def test_a_data_set_that_is_missing_is_told_before_anything_runs(workspace: Workspace) -> None:
    workspace.suite(changed(DIGITS, {"fixed.dataset": "cifar10"}))
    answer = workspace.call("--data", "sets", "run", "digits")
    assert answer.status == 2
    assert answer.err == (
        "bench: cifar10: not found in sets. 'bench datasets --get cifar10' downloads it there "
        "(170 MB).\n"
    )
    assert not (workspace.root / "results").exists()


def test_what_a_data_set_has_not_is_told_before_anything_runs(workspace: Workspace) -> None:
    workspace.suite(changed(DIGITS, {"grid.knn_k": [3, 129, 130]}))
    answer = workspace.call("run", "digits", "--executor", "inline")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "bench: knn_k is 129, but train_images limits the training to 128 images. "
        "Nothing was run, because 1 cell cannot be computed; exclude such cells with --where\n"
    )
    assert not (workspace.root / "results").exists()


def test_a_killed_worker_is_replaced_in_the_same_run(workspace: Workspace) -> None:
    workspace.suite(LONG)
    process = workspace.start("run", "small", *PART, "--jobs", "1", "--json")
    wait_for(lambda: any(a["state"] == "running" for a in workspace.attempts()))
    victim = next(a["owner"]["pid"] for a in workspace.attempts() if a["state"] == "running")
    os.kill(victim, signal.SIGKILL)
    status, out, err = end(process)
    assert status == 0, err
    assert '"done": 4' in out
    assert any(
        a["owner"]["pid"] == victim and a["state"] == "running" for a in workspace.attempts()
    )


def test_two_runs_at_once_run_every_cell_once(workspace: Workspace) -> None:
    both = [workspace.start("run", "small", "--jobs", "1", "--json") for _ in range(2)]
    answers = [end(process) for process in both]
    assert [status for status, _, _ in answers] == [0, 0], answers
    assert all(f'"done": {CELLS}' in out for _, out, _ in answers)
    attempts = workspace.attempts()
    assert len(attempts) == CELLS
    assert {attempt["state"] for attempt in attempts} == {"done"}


def test_ctrl_c_stops_cleanly_and_resume_goes_on(workspace: Workspace) -> None:
    workspace.suite(LONG)
    process = workspace.start("run", "small", *PART, "--jobs", "1")
    wait_for(lambda: any(a["state"] == "running" for a in workspace.attempts()))
    os.killpg(process.pid, signal.SIGINT)
    status, _, err = end(process)
    assert status == 130
    again = " ".join(["bench", "run", "small", *PART, "--jobs", "1"])
    assert err.endswith(
        f"bench: the command was interrupted; finished cells are kept; continue with `{again}`\n"
    )
    assert "Traceback" not in err
    wait_for(lambda: not workers_of(workspace.root), 10)
    told = workspace.call("status", "small", "--json").json
    assert (told["running"], told["queued"], told["failed"]) == (0, 0, 0)
    assert (
        workspace.call("resume", "small", *PART, "--executor", "inline", "--json").json["done"] == 4
    )


def test_resume_needs_something_begun(workspace: Workspace) -> None:
    answer = workspace.call("resume", "small")
    assert (answer.status, answer.err) == (
        2,
        "bench: small at scale tiny: none of the chosen cells was started in results, so there is "
        "nothing to resume; `bench run small --scale tiny` starts the cells\n",
    )


def break_gaussian_mi(patch: pytest.MonkeyPatch) -> None:
    """Make every stack that holds a cell with K = 8 and mi_true = 10 fail."""
    run = EXPERIMENTS["gaussian-mi"]

    def broken(cells: Any, folders: Any, device: str) -> Any:
        if any(cell.K == 8 and cell.mi_true == 10 for cell in cells):
            raise RuntimeError("no such thing\nand more")
        return run(cells, folders, device)

    patch.setitem(EXPERIMENTS, "gaussian-mi", broken)


def test_a_failing_cell_harms_no_other_and_says_why(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        break_gaussian_mi(patch)
        answer = workspace.call("run", "small", "--executor", "inline", "--json")
    assert answer.status == 1
    assert (answer.json["done"], answer.json["failed"], answer.json["missing"]) == (12, 4, 0)
    failure = answer.json["failures"][0]
    assert (failure["reason"], failure["message"]) == ("code", "RuntimeError: no such thing")
    assert "Traceback" in Path(failure["log"]).read_text()

    told = workspace.call("status", "small")
    assert "16 cells: 12 done, 4 failed" in told.out
    assert "failed: code: RuntimeError: no such thing (log: results/gaussian-mi/" in told.out

    planned = " ".join(workspace.call("plan", "small").out.split())
    assert (
        "16 cells, 0 to run, 4 failed (`bench run` with `--retry-failed` computes them" in planned
    )

    again = workspace.call("run", "small", "--executor", "inline", "--json")  # not by itself
    assert (again.status, again.json["failed"]) == (1, 4)
    assert len(workspace.attempts()) == CELLS
    retried = workspace.call("run", "small", "--executor", "inline", "--retry-failed", "--json")
    assert (retried.status, retried.json["done"]) == (0, CELLS)


def test_a_diverged_cell_is_told_as_such(workspace: Workspace) -> None:
    workspace.suite(changed(SUITE, {"fixed.lr": 1e30}))
    answer = workspace.call("run", "small", "--executor", "inline", "--json")
    assert answer.json["failed"] == CELLS
    assert {f["reason"] for f in answer.json["failures"]} == {"diverged"}


def test_a_cell_that_kills_its_worker_is_given_up(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that dies of one cell, as the kernel's memory killer does it; a neighbour lives."""
    run, here = EXPERIMENTS["gaussian-mi"], os.getpid()

    def deadly(cells: Any, folders: Any, device: str) -> Any:
        if any(cell.K == 8 for cell in cells):
            assert os.getpid() != here
            os.kill(os.getpid(), signal.SIGKILL)
        return run(cells, folders, device)

    monkeypatch.setitem(EXPERIMENTS, "gaussian-mi", deadly)
    told = workspace.call("run", "small", *PART, "--seeds", "0", "--jobs", "1", "--json")
    assert told.status == 1, told.err
    assert (told.json["done"], told.json["failed"]) == (1, 1)
    assert (
        "the worker of this cell was killed 3 times, possibly because memory was "
        "exhausted" in told.out
    )


def test_a_claim_of_another_machine_is_waited_for_not_taken(workspace: Workspace) -> None:
    """A cell held elsewhere stays running here; status says so."""
    plan = workspace.call("plan", "small", "--json").json
    folder = workspace.root / "results" / "gaussian-mi" / plan["cells"][0]["id"]
    from dataclasses import replace

    from bench.results.attempts import begin_attempt

    far = replace(Owner.me(), machine="elsewhere")
    assert begin_attempt(folder / "attempts", far, "x") is not None
    told = workspace.call("status", "small", "--json").json
    assert (told["running"], told["missing"]) == (1, CELLS - 1)
