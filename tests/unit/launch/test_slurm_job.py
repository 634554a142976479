"""A Slurm job: who stops it, what it announces, and what it asks of Slurm."""

import os
import pickle
import signal
from pathlib import Path
from typing import Any

import pytest
from submitit.helpers import DelayedSubmission

from bench.cells.cell import Cell
from bench.errors import Interrupted, Preempted, RankLost
from bench.launch.slurm import job as slurm_job
from bench.launch.slurm.job import PullCells
from bench.launch.slurm.profile import Profile
from bench.launch.worker import Assignment
from bench.loss_files import trusted_folders
from tests.fakes.results import states
from tests.fakes.toys import make_cells

CELLS: list[Cell] = [*make_cells(2)]


class Queue:
    """Stands for the local queue: notes its slots, and does what the test says."""

    made: list["Queue"] = []
    then: Any = staticmethod(lambda: None)

    def __init__(self, assignment: Assignment, slots: Any) -> None:
        self.assignment, self.slots = assignment, list(slots)
        self.stopped = 0
        Queue.made.append(self)

    def run(self, _: Any, *, patient: bool) -> None:
        assert not patient
        assert states(self.assignment.store, CELLS) == ["missing"] * 2  # any job may compute them
        assert self.assignment.launch.is_alive()
        Queue.then()

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture(autouse=True)
def _queue(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(slurm_job, "LocalQueue", Queue)
    monkeypatch.setattr(Queue, "made", [])
    monkeypatch.setattr(Queue, "then", staticmethod(lambda: None))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def job_of(folder: Path, **changes: Any) -> PullCells:
    folder.mkdir(exist_ok=True)
    (folder / "stacks").write_bytes(pickle.dumps([CELLS]))
    return PullCells(
        folder / "stacks",
        folder / "results",
        folder / "sets",
        Profile.model_validate(changes),
        trusted=[folder],
        since=5.0,
        retry_before=7.0,
    )


def test_it_trusts_the_folders_that_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_TRUST", "")  # as on a node that is handed no environment
    job_of(tmp_path)()
    assert trusted_folders() == [tmp_path]


def test_scancel_interrupts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queue, "then", staticmethod(lambda: os.kill(os.getpid(), signal.SIGTERM)))
    job = job_of(tmp_path)
    with pytest.raises(Interrupted):
        job()
    assert not list(job.store.launches.glob("*.json"))


def test_a_warning_stops_the_workers_and_the_job_goes_on_later(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    job()
    again = job.checkpoint()
    assert isinstance(again, DelayedSubmission)
    assert again.function is job
    assert [queue.stopped for queue in Queue.made] == [1]
    assert job.queue is None  # it is pickled
    job.checkpoint()  # before anything ran


def test_failures_and_kills_count_from_the_submission_on(tmp_path: Path) -> None:
    job_of(tmp_path)()
    (queue,) = Queue.made
    launch = queue.assignment.launch
    assert (launch.since, launch.retry_before) == (5.0, 7.0)
    assert queue.assignment.store.retry_before == 7.0


@pytest.mark.parametrize(
    ("visible", "changes", "slots"),
    [
        ("", {"pack": 3}, [None] * 3),
        ("0,1", {"pack": 2, "gpus_per_node": 2}, ["0", "1", "0", "1"]),
        ("0,1", {"pack": 2}, [None] * 2),
        ("", {"pack": 2, "gpus_per_node": 2}, [None] * 2),  # Slurm gave none
    ],
)
def test_workers_are_spread_over_the_gpus_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str, changes: Any, slots: Any
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    job_of(tmp_path, **changes)()
    assert Queue.made[0].slots == slots
    assert Queue.made[0].assignment.data == tmp_path / "sets"


@pytest.mark.parametrize(
    ("told", "rank", "requeued"),
    [
        (Preempted("signal 12"), 0, True),
        (Preempted("signal 12"), 1, False),
        (RankLost("rank 1"), 0, False),
        (Interrupted("signal 15"), 0, False),
    ],
)
def test_ranks_that_are_warned_are_requeued_by_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    told: Interrupted, rank: int, requeued: bool,
) -> None:  # fmt: skip
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(slurm_job, "ask", lambda *command: asked.append(command))
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_PROCID", str(rank))
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    monkeypatch.setenv("SLURM_LOCALID", str(rank))

    def leading(*_: Any) -> None:
        raise told

    monkeypatch.setattr("bench.launch.distributed.leading", leading)
    job = job_of(tmp_path, ranks=2)
    with pytest.raises(type(told)):
        job()
    assert asked == ([("scontrol", "requeue", "17")] if requeued else [])
    assert Queue.made == []


def test_a_job_says_that_the_code_is_not_what_was_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_of(tmp_path)
    job()
    assert Queue.made[-1].assignment.submitted is None
    assert "submitted with" not in capsys.readouterr().err
    monkeypatch.setattr(slurm_job, "code", lambda: {"bench": "2", "commit": "f" * 40})
    job()
    assert Queue.made[-1].assignment.submitted == job.submitted
    assert (
        f"submitted with {job.submitted}, but now runs the code of commit ffffffffffff"
        in capsys.readouterr().err
    )
