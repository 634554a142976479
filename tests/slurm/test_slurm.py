"""Grids on a real Slurm: shared by jobs, warned, requeued, killed, cancelled; the same bytes."""

import json
import os
import re
import signal
from collections import Counter
from collections.abc import Callable

import pytest

from tests.fakes.cluster import ARRAY, NODES, Cluster
from tests.fakes.paths import SUITES
from tests.fakes.processes import end
from tests.fakes.suites import RANKED, SUITE, changed
from tests.fakes.workspace import Workspace

CELLS = 4
STACKED = changed(SUITE, {"grid.mi_true": [2], "seeds": [0]})
"""Two stacks, each a unit of work."""
SHORT = changed(STACKED, {"fixed.hidden_units": 33})
"""33 units fill no cache line: cells are not stacked, each is a unit of work."""
LONG = changed(SHORT, {"fixed.steps": 3000})
Wait = Callable[..., None]


def status(workspace: Workspace, *words: str) -> dict[str, int]:
    return dict(workspace.call("status", "small", *words, "--json").json)


def over(workspace: Workspace, *words: str) -> bool:
    found = status(workspace, *words)
    return found["done"] + found["failed"] == found["cells"]


def ends_like_inline(workspace: Workspace) -> None:
    """Check that the cells of one seed have the bytes of a run in one process."""
    assert status(workspace)["failed"] == 0
    words = ("run", "small", "--executor", "inline", "--seeds", "0")
    assert workspace.call("--results", "other", *words).status == 0
    alone, found = workspace.summaries("other"), workspace.summaries()
    assert alone
    assert {name: found[name] for name in alone} == alone


def restarts(cluster: Cluster, job: str) -> int:
    found = re.search(r"Restarts=(\d+)", cluster.ask("scontrol", "show", "job", job))
    assert found
    return int(found[1])


def test_two_jobs_share_a_grid_with_failing_cells(
    on_slurm: Workspace, wait_for: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cell is computed twice; two of K = 8 cannot be computed."""
    on_slurm.suite(SHORT)
    (on_slurm.root / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'submitit.core._submit' in ' '.join(sys.orig_argv):\n"
        "    from bench.experiments import EXPERIMENTS\n"
        "    run = EXPERIMENTS['gaussian-mi']\n"
        "    def broken(cells, folders, device):\n"
        "        if cells[0].K == 8 and cells[0].seed == 0:\n"
        "            raise ArithmeticError('planted')\n"
        "        return run(cells, folders, device)\n"
        "    EXPERIMENTS['gaussian-mi'] = broken\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(on_slurm.root), prepend=os.pathsep)
    answer = on_slurm.call("run", "small", "--executor", "slurm", "--jobs", "2", "--json")
    given = answer.json["submitted"]
    assert (given["cells"], given["jobs"], given["jobs_before"]) == (CELLS, 2, 0)
    wait_for(lambda: over(on_slurm), what="for the jobs")
    found = status(on_slurm)
    assert (found["done"], found["failed"]) == (2, 2)
    attempts = on_slurm.attempts()
    assert Counter(a["state"] for a in attempts) == {"done": 2, "failed": 2}
    assert {a["message"] for a in attempts if a["state"] == "failed"} == {
        "ArithmeticError: planted"
    }
    assert all(a["owner"]["job"] for a in attempts)


def test_an_array_has_at_most_the_jobs_that_the_site_allows(
    on_slurm: Workspace, cluster: Cluster, wait_for: Wait
) -> None:
    on_slurm.suite(SHORT)
    answer = on_slurm.call("run", "small", "--executor", "slurm", "--json")
    assert answer.json["submitted"]["jobs"] == ARRAY < CELLS
    wait_for(lambda: over(on_slurm), what="for the end")
    wait_for(lambda: not cluster.jobs(), what="for the jobs, which find nothing more to do")
    assert len(on_slurm.attempts()) == CELLS
    again = on_slurm.call("run", "small", "--executor", "slurm")
    assert "nothing to submit: every cell is finished or failed\n" in again.out


def test_a_killed_jobs_cell_is_taken_over_and_run_again_replaces_the_job(
    on_slurm: Workspace, cluster: Cluster, wait_for: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0.2")
    on_slurm.suite(changed(LONG, {"fixed.steps": 12000}))
    run = ("run", "small", "--executor", "slurm", "--jobs", "2", "--json")
    on_slurm.call(*run)
    wait_for(lambda: status(on_slurm)["running"] == 2, what="for running cells")
    listed = on_slurm.call("status", "small", "--json").json["jobs"]
    assert [(job["state"], len(job["cells"])) for job in listed] == [("RUNNING", 1)] * 2
    assert {job["node"] for job in listed} <= set(NODES)
    assert on_slurm.call(*run).json["submitted"] | {"logs": None} == {
        "cells": CELLS, "jobs": 0, "jobs_before": 2, "left_out": 0, "logs": None, "running": 2,
    }  # fmt: skip

    killed = listed[0]["job"]
    (cell,) = (a["owner"] for a in on_slurm.attempts() if a["owner"]["job"] == killed)
    cluster.kill(killed)  # as the kernel does when memory is short
    wait_for(lambda: killed not in cluster.jobs(), what="for its end")
    given = on_slurm.call(*run).json["submitted"]
    assert (given["jobs"], given["jobs_before"]) == (1, 1)
    wait_for(lambda: over(on_slurm), seconds=300, what="for the end")
    ends_like_inline(on_slurm)
    attempts = on_slurm.attempts()
    assert Counter(a["state"] for a in attempts) == {"done": CELLS, "running": 1}
    (lost,) = (a for a in attempts if a["state"] == "running")  # its owner is dead
    assert lost["owner"] == cell


@pytest.mark.skipif(not os.environ.get("BENCH_LONG"), reason="takes minutes: BENCH_LONG=1")
def test_warned_requeued_and_killed_it_ends_as_if_it_was_not(
    cluster: Cluster, on_slurm: Workspace, wait_for: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher dies, a job is warned, one requeued, one's node crashes, one is killed."""
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0.2")
    on_slurm.suite(changed(LONG, {"fixed.steps": 20000}))
    launcher = on_slurm.start("run", "small", "--executor", "slurm", "--jobs", "4")
    wait_for(lambda: cluster.jobs(), what="for a job")
    os.killpg(launcher.pid, signal.SIGKILL)
    launcher.communicate()
    on_slurm.call("run", "small", "--executor", "slurm")  # if it died before it had submitted
    wait_for(lambda: status(on_slurm)["running"] >= 2, what="for running cells")

    computing = [a["owner"]["job"] for a in on_slurm.attempts() if a["state"] == "running"]
    warned, requeued, *_ = computing  # a job that holds no cell yet loses nothing
    cluster.ask("scancel", "--signal=USR2", warned)
    cluster.ask("scontrol", "requeue", requeued)
    wait_for(lambda: restarts(cluster, warned) and restarts(cluster, requeued), what="to requeue")

    wait_for(lambda: cluster.jobs(running=True), what="for a running job")
    killed = cluster.jobs(running=True)[0]
    cluster.kill(killed)  # as the kernel does when memory is short: other jobs take over
    on_slurm.call("run", "small", "--executor", "slurm")
    wait_for(lambda: cluster.jobs(running=True), what="for another running job")
    node = cluster.node_of(cluster.jobs(running=True)[0])
    cluster.script("kill-node", node)
    cluster.script("start-slurmd", node)

    wait_for(lambda: over(on_slurm), seconds=300, what="for the end")
    ends_like_inline(on_slurm)
    ended = Counter(attempt["state"] for attempt in on_slurm.attempts())
    assert ended["done"] == status(on_slurm)["cells"]
    assert ended["interrupted"] >= 1


def test_two_launchers_at_once_compute_no_cell_twice(on_slurm: Workspace, wait_for: Wait) -> None:
    on_slurm.suite(STACKED)
    runs = [on_slurm.start("run", "small", "--executor", "slurm") for _ in range(2)]
    assert [end(run)[0] for run in runs] == [0, 0]
    wait_for(lambda: over(on_slurm), what="for the end")
    assert len(on_slurm.attempts()) == CELLS


def test_cancelled_jobs_stop_and_run_again_when_asked(
    on_slurm: Workspace, cluster: Cluster, wait_for: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_slurm.suite(changed(STACKED, {"fixed.steps": 3000}))
    with monkeypatch.context() as slow:
        slow.setenv("BENCH_CHECKPOINT_S", "0")  # one a step
        on_slurm.call("run", "small", "--executor", "slurm", "--pack", "2")
    wait_for(lambda: status(on_slurm)["running"], what="for running cells")
    record = on_slurm.call("cancel", "small", "--json").json
    assert len(record["jobs"]) == 1
    wait_for(lambda: not cluster.jobs(), what="for the jobs to end")
    # Where Slurm killed the job, its workers live until they notice.
    wait_for(lambda: not status(on_slurm)["running"], what="for the workers to end")
    found = status(on_slurm)
    assert (found["running"], found["queued"]) == (0, 0)
    assert found["missing"] > 0
    on_slurm.call("resume", "small", "--executor", "slurm", "--pack", "2")
    wait_for(lambda: over(on_slurm), what="for the end")
    ends_like_inline(on_slurm)


def test_mistakes_are_one_line(on_slurm: Workspace) -> None:
    profiles = on_slurm.root / ".config/bench/profiles.yaml"
    profiles.parent.mkdir(parents=True)
    on_slurm.suite(SHORT)
    profiles.write_text("gpu: {slurm_partition: none}\nodd: {slurm_partitoin: main}\n")
    for words, told in (
        (["--profile", "gpu"], "Slurm refuses the jobs: sbatch: error: invalid partition"),
        (["--profile", "cpu"], "--profile cpu: there is no profile of this name. "),
        (
            ["--profile", "odd"],
            "slurm_partitoin: this option cannot be set in a profile. "
            "Did you mean 'slurm_partition'",
        ),
        (["--pack", "0"], "--pack 0: expected a number of workers, or the word auto"),
    ):
        answer = on_slurm.call("run", "small", "--executor", "slurm", *words)
        assert answer.status == 2, answer
        assert told in answer.err
        assert answer.err.count("\n") == 1
    assert status(on_slurm)["missing"] == CELLS


def test_two_tasks_compute_a_cell_together_warned_on_the_way(
    cluster: Cluster, on_slurm: Workspace, wait_for: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_slurm.suite(changed(RANKED, {"fixed.epochs": 20}), "small")
    run = ("run", "small", "--executor", "slurm", "--ranks")
    answer = on_slurm.call(*run, "3")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "batch_size 16 cannot be divided evenly among 3 ranks" in answer.err
    on_slurm.call(*run, "2")
    histories = on_slurm.root / "results/trained"
    wait_for(lambda: list(histories.glob("*/history.jsonl")), what="for an epoch")
    (job,) = cluster.jobs()
    cluster.ask("scancel", "--signal=USR2", job)
    wait_for(lambda: over(on_slurm), what="for the end")
    assert status(on_slurm)["done"] == 1
    assert "preempted" in {attempt["reason"] for attempt in on_slurm.attempts()}
    (origin,) = on_slurm.root.glob("results/pretrain/*/provenance.json")
    assert json.loads(origin.read_text())["ranks"] == 2
    assert on_slurm.call("--results", "other", "run", "small", "--executor", "inline").status == 0
    (there,) = on_slurm.root.glob("results/pretrain/*/summary.json")
    (here,) = on_slurm.root.glob("other/pretrain/*/summary.json")
    found, alone = (json.loads(path.read_text())["metrics"] for path in (there, here))
    assert found["train_loss"] == pytest.approx(alone["train_loss"], rel=0.02)


def test_table_9_launcher_killed_job_requeued_slurmd_killed(
    cluster: Cluster, on_slurm: Workspace, wait_for: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EqCo's Table 9 at its own protocol: one cell; with BENCH_LONG=1 all of `quick`."""
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "2")
    suites = ("--suites", str(SUITES))
    part = (
        ()
        if os.environ.get("BENCH_LONG")
        else ("--where", "K=64", "--where", "mi_true=2", "--where", "loss=eqco", "--seeds", "0")
    )
    table = ("eqco-table-9", "--scale", "quick", *part)

    def counts() -> dict[str, int]:
        return dict(on_slurm.call(*suites, "status", *table, "--json").json)

    launcher = on_slurm.start(*suites, "run", *table, "--executor", "slurm")
    wait_for(cluster.jobs, what="for a job")
    os.killpg(launcher.pid, signal.SIGKILL)
    end(launcher)
    on_slurm.call(*suites, "run", *table, "--executor", "slurm")
    checkpoints = on_slurm.root / "results/gaussian-mi"
    wait_for(lambda: list(checkpoints.glob("*/checkpoint.pt")), what="for a checkpoint")
    (job, *_) = cluster.jobs(running=True)
    begun = len(on_slurm.attempts())
    cluster.ask("scontrol", "requeue", job)
    wait_for(lambda: restarts(cluster, job), what="for the requeue")
    # Killed while it launches a job, slurmd would have the job held for good.
    wait_for(lambda: len(on_slurm.attempts()) > begun, seconds=240, what="for a new start")
    node = cluster.node_of(job)
    cluster.script("kill-slurmd", node)  # its job runs on
    cluster.script("start-slurmd", node)
    wait_for(lambda: counts()["done"] == counts()["cells"], seconds=1200, what="for the end")
    inline = ("--results", "other", "run", *table, "--executor", "inline")
    assert end(on_slurm.start(*suites, *inline), 1200)[0] == 0
    assert on_slurm.summaries() == on_slurm.summaries("other")
    assert Counter(a["state"] for a in on_slurm.attempts())["done"] == counts()["cells"]
