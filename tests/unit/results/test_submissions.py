"""What was given to Slurm: numbers, what is held by whom, what is stopped, what is over."""

import os
import time
from pathlib import Path

import pytest

from bench.files.atomic import read_json, to_json, write_whole
from bench.results.owner import LEASE_S, Owner
from bench.results.slurm.submissions import Submission, Submissions
from bench.results.store import Store
from tests.fakes.processes import dead_owner
from tests.fakes.slurm import MadeUpSlurm, submitted

Ids = list[list[list[str]]]


@pytest.fixture
def submissions(tmp_path: Path) -> Submissions:
    return Store(tmp_path).submissions


def numbers(found: Submissions) -> list[str]:
    return [submission.path.stem for submission in found.open()]


def write_record(submission: Submission, **changes: object) -> None:
    write_whole(submission.path, to_json(submission.record | changes))


def test_the_next_free_number_counts_what_has_ended(submissions: Submissions) -> None:
    for _ in range(2):
        assert submissions.begin(lambda: ([[["a"]]], 0.0)) is not None
    submissions.open()[-1].end()
    assert submissions.begin(lambda: ([[["b"]]], 0.0)) is not None
    assert numbers(submissions) == ["0001", "0003"]
    assert [s.cells for s in submissions.open()] == [{"a"}, {"b"}]


def test_of_two_authors_of_one_number_the_second_chooses_again(submissions: Submissions) -> None:
    seen: list[list[str]] = []

    def choose() -> tuple[Ids, float]:
        seen.append(numbers(submissions))
        if len(seen) == 1:  # between this look and the writing another one writes
            submissions.begin(lambda: ([[["a"]]], 0.0))
        return [[["b"]]], 0.0

    found = submissions.begin(choose)
    assert found is not None
    assert seen == [[], ["0001"]]
    assert (found.path.stem, found.cells) == ("0002", {"b"})
    assert read_json(submissions.folder / "0001.json")["arrays"] == [[["a"]]]


def test_nothing_to_submit_leaves_no_file(submissions: Submissions) -> None:
    assert submissions.begin(lambda: None) is None
    assert not submissions.folder.exists()


def test_each_task_is_found_by_array_and_place(tmp_path: Path, slurm: MadeUpSlurm) -> None:
    one = submitted(tmp_path, [["a"], ["b", "c"]], [["d"]])
    first, second = one.arrays
    assert first == f"{one.name}-0"
    assert list(one.given()) == [
        (first, 0, ["a"]), (first, 1, ["b", "c"]), (second, 0, ["d"]),
    ]  # fmt: skip
    slurm.begin(first, 1)
    slurm.begin(first, 2)  # nobody gave such a task
    assert slurm.alive is not None
    assert [one.cells_of(task) for task in slurm.alive] == [["b", "c"], []]
    assert one.log("7_1") == one.logs / "7_1_0_log.out"


def test_cells_are_held_as_long_as_their_task_is_there(tmp_path: Path, slurm: MadeUpSlurm) -> None:
    one = submitted(tmp_path, [["a"], ["b"]], retry_before=5.0)
    two = submitted(tmp_path, [["b"], ["c"]], retry_before=3.0)
    slurm.begin(f"{one.name}-0", 1)
    slurm.begin(f"{two.name}-0", 0)
    slurm.begin(one.sweep)
    found = Store(tmp_path).submissions
    assert found.queued() == {"b": 5.0}
    assert [(s.name, t.place) for s, t in found.holding({"b"})] == [(one.name, 1), (two.name, 0)]
    assert found.holding({"a", "c"}) == []


def test_workers_are_the_running_jobs_with_their_gpus(tmp_path: Path, slurm: MadeUpSlurm) -> None:
    one = submitted(tmp_path, [["a"], ["b"], ["c"]], gpus=True)
    two = submitted(tmp_path, [["d"]])
    found = Store(tmp_path).submissions
    assert found.workers({"a"}) == []
    slurm.begin(f"{one.name}-0", 0, state="PENDING")
    found.forget()
    assert found.workers({"a", "b", "c"}) == ["0"]  # they will be, of which one is known of
    slurm.begin(f"{one.name}-0", 1)
    slurm.begin(f"{one.name}-0", 2)
    slurm.begin(f"{two.name}-0", 0)
    found.forget()
    assert found.workers({"a", "b", "c"}) == ["0", "0"]
    assert found.workers({"d"}) == [None]


def test_where_slurm_does_not_answer_everything_is_held_and_nothing_ended(
    tmp_path: Path, slurm: MadeUpSlurm
) -> None:
    submitted(tmp_path, [["a"], ["b"]])
    slurm.alive = None
    found = Store(tmp_path).submissions
    assert set(found.queued()) == {"a", "b"}
    assert not found.answers()
    assert found.holding({"a"}) == []
    assert found.jobs_of({"a"}) == []
    found.tidy()
    assert numbers(found) == ["0001"]


def test_what_is_being_submitted_is_held_by_its_author(
    tmp_path: Path, submissions: Submissions, slurm: MadeUpSlurm
) -> None:
    one = submissions.begin(lambda: ([[["a"]]], 0.0))
    assert one is not None
    submissions.tidy()
    assert set(submissions.queued()) == {"a"}
    far = Owner.me().record() | {"machine": "elsewhere"}
    write_record(one, owner=far)
    assert set(submissions.queued()) == {"a"}
    old = time.time() - LEASE_S - 1
    os.utime(one.path, (old, old))
    assert submissions.queued() == {}


@pytest.mark.parametrize("array", ["0", "sweep"])
def test_an_author_that_died_in_the_making_leaves_what_slurm_has(
    submissions: Submissions, slurm: MadeUpSlurm, array: str
) -> None:
    one = submissions.begin(lambda: ([[["a"], ["b"]], [["c"]]], 0.0))
    assert one is not None
    write_record(one, owner=dead_owner().record())
    slurm.begin(f"{one.name}-{array}", 1)
    submissions.tidy()
    assert set(submissions.queued()) == ({"b"} if array == "0" else set())
    assert numbers(submissions) == ["0001"]  # it has a job
    slurm.alive = []
    submissions.tidy()
    assert numbers(submissions) == []
    assert read_json(submissions.folder / "0001.ended.json")["name"] == one.name


def test_an_answer_is_used_again_for_a_while(tmp_path: Path, slurm: MadeUpSlurm) -> None:
    one = submitted(tmp_path, [["a"]])
    found = Submissions(tmp_path / "launches/slurm", remember_s=60.0)
    slurm.begin(f"{one.name}-0")
    for _ in range(3):
        assert set(found.queued()) == {"a"}
    assert slurm.questions == 1
    found.forget()
    found.queued()
    assert slurm.questions == 2
    submitted(tmp_path, [["b"]])  # others are asked for
    found.queued()
    assert slurm.questions == 3
    eager = Submissions(tmp_path / "launches/slurm", remember_s=0.0)
    eager.queued()
    eager.queued()
    assert slurm.questions == 5


def test_a_job_is_cancelled_with_the_last_one_that_would_look_after_it(
    tmp_path: Path, slurm: MadeUpSlurm
) -> None:
    one = submitted(tmp_path, [["a"], ["b"]])
    other = submitted(tmp_path, [["c"]])
    slurm.begin(f"{one.name}-0", 0, "7")
    slurm.begin(f"{one.name}-0", 1, "7")
    slurm.begin(one.sweep, 0, "8", "PENDING")
    slurm.begin(f"{other.name}-0", 0, "9")
    slurm.begin(other.sweep, 0, "10", "PENDING")
    found = Store(tmp_path).submissions
    assert found.jobs_of({"a"}) == ["7_0"]  # b's job still needs the last one
    assert found.jobs_of({"a", "b"}) == ["7_0", "7_1", "8_0"]
    assert found.jobs_of({"x"}) == []


def test_cells_are_awaited_while_a_job_or_the_last_one_is_left(
    tmp_path: Path, slurm: MadeUpSlurm
) -> None:
    one = submitted(tmp_path, [["a"], ["b"]])
    slurm.begin(f"{one.name}-0", 1)
    found = Store(tmp_path).submissions
    assert (found.awaited({"a"}), found.awaited({"b"})) == (False, True)
    slurm.begin(one.sweep)
    found.forget()
    assert (found.awaited({"a"}), found.awaited({"x"})) == (True, False)


def test_what_is_stopped_is_noted_task_by_task(tmp_path: Path, slurm: MadeUpSlurm) -> None:
    one = submitted(tmp_path, [["a"], ["b", "c"]], [["d"]])
    Store(tmp_path).submissions.stop({"c", "d"})
    assert sorted(path.name for path in one.logs.iterdir()) == [
        f"{one.name}-0.1.stopped", f"{one.name}-1.0.stopped",
    ]  # fmt: skip


def test_what_has_no_folder_of_logs_yet_can_be_stopped(submissions: Submissions) -> None:
    one = submissions.begin(lambda: ([[["a"]]], 0.0))
    assert one is not None
    submissions.stop({"a"})
    assert one.stopped_file(f"{one.name}-0", 0).exists()
