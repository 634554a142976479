"""What Slurm's commands print, read."""

import subprocess
from typing import Any

import pytest

from bench.results.slurm import squeue
from bench.results.slurm.squeue import Task, ask, tasks, this_job

PRINTED = """\
bench-1-0|17|0|RUNNING|None
bench-1-0|17|12|PENDING|Resources
bench-1-sweep|18|N/A|PENDING|Dependency
"""


def test_tasks_and_single_jobs_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def answer(*command: str) -> str:
        asked.append(command)
        return PRINTED

    monkeypatch.setattr(squeue, "ask", answer)
    assert tasks(["bench-1-0", "bench-1-sweep"]) == [
        Task("bench-1-0", 0, "17_0", "RUNNING", "None"),
        Task("bench-1-0", 12, "17_12", "PENDING", "Resources"),
        Task("bench-1-sweep", 0, "18", "PENDING", "Dependency"),
    ]
    assert "--name=bench-1-0,bench-1-sweep" in asked[0]
    assert "--array" in asked[0]  # a line for each task, those that wait too
    assert tasks([]) == []
    assert len(asked) == 1  # of no names squeue would tell everybody's


def test_no_answer_is_not_no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squeue, "ask", lambda *_: None)
    assert tasks(["bench-1-0"]) is None
    monkeypatch.setattr(squeue, "ask", lambda *_: "")
    assert tasks(["bench-1-0"]) == []


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
    assert limits == [squeue.TIMEOUT_S]


@pytest.mark.parametrize(
    ("variables", "job"),
    [
        ({}, ""),
        ({"JOB_ID": "17"}, "17"),
        ({"JOB_ID": "19", "ARRAY_JOB_ID": "17", "ARRAY_TASK_ID": "0"}, "17_0"),
    ],
)
def test_a_process_knows_its_job(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], job: str
) -> None:
    for name in ("JOB_ID", "ARRAY_JOB_ID", "ARRAY_TASK_ID"):
        monkeypatch.delenv(f"SLURM_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert this_job() == job
