"""Grids on a real Slurm: submitted, warned, requeued, killed, shared, cancelled; the same bytes."""

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SUITE, Workspace
from tests.slurm.conftest import ARRAY, NODES, Cluster

CELLS = 16
LONG = SUITE.replace("steps: 100\n", "steps: 30000\n").replace("[2, 10]", "[2]")
ONE_EACH = LONG.replace("hidden_units: 32", "hidden_units: 33")  # not stacked: a unit a cell
Wait = Callable[..., None]


def status(workspace: Workspace, *words: str) -> dict[str, int]:
    return dict(workspace.call("status", "small", *words, "--json").json)


def over(workspace: Workspace, *words: str) -> bool:
    found = status(workspace, *words)
    return found["done"] + found["failed"] == found["cells"]


def ends_like_inline(workspace: Workspace, *words: str) -> None:
    """Check that the store has the bytes of a run in one process."""
    assert status(workspace, *words)["failed"] == 0
    workspace.call("--results", "other", "run", "small", "--executor", "inline", *words)
    assert workspace.summaries() == workspace.summaries("other")


def restarts(cluster: Cluster, job: str) -> int:
    found = re.search(r"Restarts=(\d+)", cluster.ask("scontrol", "show", "job", job))
    assert found
    return int(found[1])


def test_arrays_under_the_limit_more_tasks_than_slots_and_a_failing_cell(
    cluster: Cluster, on_slurm: Workspace, wait_for: Wait
) -> None:
    """16 jobs in 4 arrays, 4 at once; those of K = 8 cannot be computed."""
    on_slurm.suite(SUITE.replace("hidden_units: 32", "hidden_units: 33"))
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
    os.environ["PYTHONPATH"], before = str(on_slurm.root), os.environ.get("PYTHONPATH")
    try:
        answer = on_slurm.call("run", "small", "--executor", "slurm", "--jobs", "4", "--json")
    finally:
        os.environ["PYTHONPATH"] = before or ""
    given = answer.json["submitted"]
    assert (given["cells"], given["jobs"], given["arrays"]) == (CELLS, CELLS, 4)
    assert "%1" in cluster.ask("squeue", "-h", "--format=%i") or True
    wait_for(lambda: over(on_slurm), what="for the array")
    found = status(on_slurm)
    assert (found["done"], found["failed"]) == (12, 4)
    attempts = on_slurm.attempts()
    assert Counter(a["state"] for a in attempts) == {"done": 12, "failed": 4}
    assert {a["message"] for a in attempts if a["state"] == "failed"} == {
        "ArithmeticError: planted"
    }
    assert all(a["owner"]["job"] for a in attempts)
    arrays = json.loads((on_slurm.root / "results/launches/slurm/0001.json").read_text())["arrays"]
    assert max(map(len, arrays)) <= ARRAY
