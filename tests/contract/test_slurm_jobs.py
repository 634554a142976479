"""`bench status` and `bench cancel` with a made-up Slurm: which jobs are shown and ended."""

import json
import time
from pathlib import Path

import pytest

from bench.cli import status as module
from bench.cli.run import check_begun
from bench.cli.selection import Selection
from bench.cli.status import stop
from bench.cli.workspace import workspace_of
from bench.errors import LaunchError
from bench.files.atomic import to_json, write_whole
from bench.launch.slurm.jobs import RECORD
from bench.results.owner import Owner
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.slurm import MadeUpSlurm, submitted
from tests.fakes.workspace import Workspace


@pytest.fixture
def selection(workspace: Workspace) -> Selection:
    path = workspace.root / "suites" / "small.yaml"
    suite, at = load_suite(path), workspace_of(results=workspace.root)
    return Selection(suite, path, "tiny", expand(suite, "tiny", path), None, at)  # type: ignore[arg-type]


@pytest.fixture
def given(selection: Selection, slurm: MadeUpSlurm) -> Path:
    """Two jobs for the selection and more, and one for other cells."""
    one = submitted(selection.results, [selection.cells[0].id, "other"])
    slurm.begin(one, "7_0")
    slurm.begin(one, "7_1", "PENDING")
    slurm.begin(submitted(selection.results, ["other"], "bench-2"), "8")
    return one


def test_jobs_that_may_compute_its_cells_are_cancelled(
    selection: Selection, given: Path, slurm: MadeUpSlurm
) -> None:
    stopped = {"jobs": ["7_0", "7_1"], "launchers": [], "elsewhere": [], "unknown_jobs": {}}
    assert stop(selection) == stopped
    assert slurm.asked[-1] == ("scancel", "7_0", "7_1")


def test_what_never_began_cannot_be_resumed(selection: Selection, given: Path) -> None:
    with pytest.raises(LaunchError, match="nothing to resume"):
        check_begun(selection)


def test_nothing_is_told_to_end_where_there_is_nothing(
    selection: Selection, slurm: MadeUpSlurm
) -> None:
    assert not any(stop(selection).values())
    assert slurm.asked == []


def test_a_slurm_that_does_not_answer_is_told(
    selection: Selection, given: Path, slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ask", lambda *_: None)
    with pytest.raises(LaunchError, match=r"^the command `scancel` failed for jobs 7_0, 7_1$"):
        stop(selection)
    slurm.alive = None
    with pytest.raises(LaunchError) as unknown:
        stop(selection)
    assert str(unknown.value) == ("Slurm does not answer: jobs submitted earlier may still run")


def test_status_lists_jobs_with_the_cells_that_they_compute(
    selection: Selection, given: Path, slurm: MadeUpSlurm,
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    slurm.begin(given, "7_2", "PENDING", "QOSMaxJobsPerUserLimit")
    monkeypatch.setenv("SLURM_JOB_ID", "7_0")
    store = Store(selection.results)
    assert store.folder(selection.cells[0]).claim(selection.cells[0], Owner.me(), "") is not None
    monkeypatch.delenv("SLURM_JOB_ID")
    out = workspace.call("--results", str(selection.results), "status", "small").out
    (line,) = (line for line in out.splitlines() if "job 7_0" in line)
    log = given / "7_0_0_log.out"
    assert line.startswith(f"  job 7_0 is running on n1 for 1:05 (log: {log}): ")
    assert line.endswith("): infonce, mi_true 2, K 8, seed 0")
    assert "  2 jobs pending\n    1 pending: QOSMaxJobsPerUserLimit\n" in out
    words = ("--results", str(selection.results), "status", "small", "--json")
    assert [len(job["cells"]) for job in workspace.call(*words).json["jobs"]] == [1, 0, 0]
    slurm.alive = None
    out = workspace.call("--results", str(selection.results), "status", "small").out
    assert "  Slurm does not answer: submitted jobs may still run\n" in out


def test_watch_waits_for_jobs_that_compute_nothing_yet(
    selection: Selection, given: Path, slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        slurm.alive = [] if len(slept) == 2 else slurm.alive

    monkeypatch.setattr(time, "sleep", sleep)
    module.watch_status(selection)
    assert slept == [module.ASK_EVERY_S] * 2


def test_status_says_which_jobs_were_submitted_with_other_code(
    selection: Selection, given: Path, workspace: Workspace
) -> None:
    words = ("--results", str(selection.results), "status", "small")
    assert "submitted with" not in workspace.call(*words).out
    record = json.loads((given / RECORD).read_text())
    write_whole(given / RECORD, to_json(record | {"code": "commit 0123"}))
    line = "  2 jobs submitted with commit 0123, which differs from the code of this checkout\n"
    assert line in workspace.call(*words).out
    jobs = workspace.call(*words, "--json").json["jobs"]
    assert [job["submitted_code"] for job in jobs] == ["commit 0123"] * 2
