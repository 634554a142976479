"""The Slurm jobs of a results folder: which are asked for, and which are forgotten."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench.errors import LaunchError
from bench.files.messages import forget_warnings
from bench.launch.slurm import jobs as module
from bench.launch.slurm.jobs import RECORD, STACKS, ask, forget_ended, jobs_of
from bench.results.inspect import inspect
from tests.fakes.slurm import MadeUpSlurm, grow_old, submitted


def test_jobs_of_a_folder_with_what_slurm_says_of_them(tmp_path: Path, slurm: MadeUpSlurm) -> None:
    one, other = submitted(tmp_path, ["a", "b"]), submitted(tmp_path, ["c"], "bench-2", pack=3)
    slurm.begin(one, "17_0")
    slurm.begin(one, "17_12", "PENDING", "Resources")
    slurm.begin(other, "18")
    found = jobs_of(tmp_path)
    assert [(j.id, j.state, j.reason, j.node, j.elapsed) for j in found] == [
        ("17_0", "RUNNING", "None", "n1", "1:05"),
        ("17_12", "PENDING", "Resources", "", "0:00"),
        ("18", "RUNNING", "None", "n1", "1:05"),
    ]
    assert found[0].submission.cells == {"a", "b"}
    assert found[2].submission.profile.workers == 3
    assert found[1].log == one / "17_12_0_log.out"
    assert "--name=bench-1,bench-2" in slurm.asked[0]
    assert "--array" in slurm.asked[0]  # a line for each task, also of those that wait


def test_only_jobs_that_may_compute_these_cells(tmp_path: Path, slurm: MadeUpSlurm) -> None:
    slurm.begin(submitted(tmp_path, ["a", "b"]), "17")
    slurm.begin(submitted(tmp_path, ["c"], "bench-2"), "18")
    assert [job.id for job in jobs_of(tmp_path, {"b", "x"})] == ["17"]
    slurm.asked.clear()
    assert jobs_of(tmp_path, {"x"}) == []
    assert slurm.asked == []  # without a name squeue would list everybody's jobs


def test_no_answer_is_not_no_jobs(tmp_path: Path, slurm: MadeUpSlurm) -> None:
    submitted(tmp_path, ["a"])
    assert jobs_of(tmp_path) == []
    slurm.alive = None
    with pytest.raises(LaunchError, match="Slurm does not answer: jobs submitted"):
        jobs_of(tmp_path)


def test_submissions_without_a_job_are_forgotten_and_their_logs_stay(
    tmp_path: Path, slurm: MadeUpSlurm
) -> None:
    running, ended, new = (submitted(tmp_path, ["a"], f"bench-{i}") for i in range(3))
    for folder in (running, ended):
        grow_old(folder)
    (ended / "17_0_log.out").touch()
    slurm.begin(running)
    forget_ended(tmp_path, jobs_of(tmp_path))
    assert [path.name for path in ended.iterdir()] == ["17_0_log.out"]
    for folder in (running, new):  # jobs of a new one may not be Slurm's yet
        assert sorted(path.name for path in folder.iterdir()) == [STACKS, RECORD]


@pytest.mark.parametrize(
    "content", ["[1]", "", '{"cells": ["a"]}', '{"cells": [1], "profile": {}}']
)
def test_a_damaged_record_is_told_and_harms_no_other(
    tmp_path: Path, slurm: MadeUpSlurm, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    damaged, sound = submitted(tmp_path, ["a"]), submitted(tmp_path, ["a"], "bench-2")
    (damaged / RECORD).write_text(content)
    slurm.begin(damaged)
    slurm.begin(sound, "8")
    forget_warnings()
    assert [job.id for job in jobs_of(tmp_path)] == ["8"]
    err = capsys.readouterr().err
    assert f"{damaged / RECORD}: the file is not a record of a submission" in err
    assert err.count("\n") == 1
    assert [f for f in inspect(tmp_path).faults if str(damaged) in f]


def test_a_command_that_is_not_there_fails_or_hangs_answers_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ask("no-such-command-of-slurm") is None
    assert ask("false") is None
    assert ask("echo", "yes") == "yes\n"
    limits: list[Any] = []

    def hang(command: Any, *, timeout: float, **_: Any) -> None:
        limits.append(timeout)
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    assert ask("squeue") is None
    assert limits == [module.TIMEOUT_S]
