"""The job that comes last: what was lost is told from what never began, was ended, or is over."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.launch.slurm import resubmit as launch_sweep
from bench.launch.slurm.profile import Profile
from bench.launch.slurm.request import LIVES, Request
from bench.launch.slurm.resubmit import Resubmit
from bench.results.owner import LEASE_S, Owner
from bench.results.slurm.submissions import Submission
from bench.results.store import Store
from tests.fakes.processes import dead_owner
from tests.fakes.results import states
from tests.fakes.slurm import submitted
from tests.fakes.toys import make_cells

A, B, C, D = make_cells(4)


class Case:
    """A submission whose jobs have ended, and the last job's view of it."""

    def __init__(self, root: Path, *arrays: Sequence[Sequence[Cell]], **asked: Any) -> None:
        ids = [[[cell.id for cell in task] for task in array] for array in arrays]
        self.submission: Submission = submitted(root, *ids)
        self.store = Store(root, asks_slurm=False)
        self.jobs = {name: str(70 + k) for k, name in enumerate(self.submission.arrays)}
        self.cells = [cell for array in arrays for task in array for cell in task]
        self.request = Request(
            self.cells, root / "datasets", Profile(), None, retry_before=9.0, **asked
        )

    @staticmethod
    def submit(_request: Request, _store: Store) -> None:
        raise AssertionError("nothing is submitted")

    def began(self, *jobs: str) -> None:
        """Let jobs have begun: submitit opens their logs."""
        for job in jobs:
            self.submission.log(job).touch()

    def ended(self, cell: Cell, state: Any, reason: str | None = None) -> None:
        attempt = self.store.folder(cell).claim(cell, Owner.me(), "")
        assert attempt is not None
        attempt.end(state, reason)

    def sweep(self) -> None:
        Resubmit(self.request, self.store.root, self.submission, self.jobs, self.submit)()


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What is submitted again."""
    given: list[Request] = []

    def submit(request: Request, store: Store) -> None:
        assert store.asks_slurm
        given.append(request)

    monkeypatch.setattr(Case, "submit", staticmethod(submit))
    monkeypatch.setattr(time, "sleep", never)
    return given


def never(_: float) -> None:
    raise AssertionError("it waits")


def test_what_began_and_is_not_over_was_lost(tmp_path: Path, again: list[Request]) -> None:
    case = Case(tmp_path, [[A], [B, C]], [[D]])
    case.began("70_0", "70_1", "71")
    case.store.folder(B).finish({"m": 1.0}, {}, {})
    case.ended(C, "failed", "code")
    case.ended(D, "interrupted", "preempted")
    case.sweep()
    (request,) = again
    assert request.cells == [A, D]


def test_what_never_began_or_was_ended_by_somebody_is_not_lost(
    tmp_path: Path, again: list[Request]
) -> None:
    case = Case(tmp_path, [[A], [B]], [[C]])
    case.began("70_1", "71")
    case.store.submissions.stop({B.id, C.id})
    case.sweep()
    assert again == []


def test_an_array_of_one_task_has_no_index_in_its_job(tmp_path: Path, again: list[Request]) -> None:
    case = Case(tmp_path, [[A]], [[B], [C]])
    case.began("70_0", "71")  # no job's logs
    case.sweep()
    assert again == []
    case.began("70", "71_1")
    case.sweep()
    assert [request.cells for request in again] == [[A, C]]


def test_what_was_lost_goes_on_alone_with_a_life_less(tmp_path: Path, again: list[Request]) -> None:
    case = Case(tmp_path, [[A, B]])
    case.request = replace(case.request, jobs=5)
    case.began("70")
    case.sweep()
    assert again == [replace(case.request, alone=True, lives=LIVES - 1, retry_before=0.0)]
    assert states(case.store, [A, B]) == ["missing", "missing"]


def test_cells_of_others_are_not_submitted(tmp_path: Path, again: list[Request]) -> None:
    """Of what the task was given, only what this user asked for."""
    case = Case(tmp_path, [[A, B]])
    case.request = replace(case.request, cells=[B])
    case.began("70")
    case.sweep()
    assert [request.cells for request in again] == [[B]]


def test_after_its_last_life_a_cell_is_given_up(tmp_path: Path, again: list[Request]) -> None:
    case = Case(tmp_path, [[A], [B], [C], [D]], lives=1)
    case.began("70_0", "70_1", "70_2")
    case.submission.log("70_0", "err").write_text("at work\nslurmstepd: error: oom\n\n")
    case.store.folder(C).finish({"m": 1.0}, {}, {})
    case.sweep()
    assert again == []
    assert states(case.store, [A, B, C, D]) == ["failed", "failed", "done", "missing"]
    told = case.store.states([A, B])
    assert [s.reason for s in told] == ["oom", "oom"]
    why = "its job was killed 3 times in a row (memory?)"
    log = case.submission.log("70_0", "err")
    assert [s.message for s in told] == [
        f"{why}; last output: slurmstepd: error: oom (log: {log})", why,
    ]  # fmt: skip


def test_a_cell_that_somebody_computes_is_not_given_up(
    tmp_path: Path, again: list[Request]
) -> None:
    case = Case(tmp_path, [[A], [B]], lives=1)
    case.began("70_0", "70_1")
    assert case.store.folder(A).claim(A, Owner.me(), "") is not None
    assert case.store.folder(B).claim(B, dead_owner(), "") is not None
    case.sweep()
    assert states(case.store, [A, B]) == ["running", "failed"]


@pytest.mark.parametrize(("job", "waits"), [("70_1", True), ("71", True), ("9_1", False)])
def test_a_dead_job_on_another_machine_is_waited_for_until_its_lease_ends(
    tmp_path: Path, again: list[Request], monkeypatch: pytest.MonkeyPatch, job: str, waits: bool
) -> None:
    case = Case(tmp_path, [[A], [B]], [[C]])
    case.began("70_0", "70_1", "71")
    case.store.folder(A).finish({"m": 1.0}, {}, {})
    case.store.folder(B).finish({"m": 1.0}, {}, {})
    far = replace(Owner.me(), machine="elsewhere", job=job)
    attempt = case.store.folder(C).claim(C, far, "")
    assert attempt is not None
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        old = time.time() - LEASE_S - 1
        os.utime(attempt.path, (old, old))

    monkeypatch.setattr(time, "sleep", sleep)
    case.sweep()
    assert slept == ([launch_sweep.POLL_S] if waits else [])
    assert [request.cells for request in again] == [[C]]


def test_it_waits_no_longer_than_two_leases(
    tmp_path: Path, again: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(tmp_path, [[A]])
    case.began("70")
    far = replace(Owner.me(), machine="elsewhere", job="70")
    assert case.store.folder(A).claim(A, far, "") is not None
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    case.sweep()
    assert clock == [2 * LEASE_S]


def test_the_next_job_is_no_part_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm's commands read SLURM_*; where the configuration is they must know."""
    monkeypatch.setenv("SLURM_JOB_ID", "72")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    found: list[dict[str, str]] = []
    note: Callable[..., None] = lambda *_: found.append(dict(os.environ))  # noqa: E731
    monkeypatch.setattr(Case, "submit", staticmethod(note))
    case = Case(tmp_path, [[A]])
    case.began("70")
    case.sweep()
    assert {k: v for k, v in found[0].items() if k.startswith("SLURM_")} == {
        "SLURM_CONF": "/etc/slurm.conf"
    }
