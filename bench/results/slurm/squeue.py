"""What Slurm says of jobs, by the names of their arrays."""

import os
import subprocess
from collections.abc import Iterable
from typing import NamedTuple

TIMEOUT_S = 60.0


class Task(NamedTuple):
    """One job, or one task of a job array, that has not ended."""

    array: str  # the job's name
    place: int  # within the array; 0 where there is none
    job: str  # as scancel takes it: 17 or 17_3
    state: str  # PENDING, RUNNING, COMPLETING, ...
    reason: str  # why it waits, in Slurm's word; "None" while it runs


def tasks(names: Iterable[str]) -> list[Task] | None:
    """Return the jobs of these names that wait or run; None where Slurm does not answer."""
    asked = ",".join(names)
    if not asked:
        return []
    answer = ask("squeue", "--noheader", "--array", f"--name={asked}", "--format=%j|%F|%K|%T|%r")
    if answer is None:
        return None
    queued = []
    for line in answer.splitlines():
        name, job, index, state, reason = line.strip().split("|", 4)
        one = index.isdecimal()
        number = f"{job}_{index}" if one else job
        queued.append(Task(name, int(index) if one else 0, number, state, reason))
    return queued


def ask(*command: str) -> str | None:
    """Return what a command of Slurm prints; None if it is not there or fails."""
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout


def this_job() -> str:
    """Return the Slurm job that this process is a part of, as `Task.job`; "" outside of any."""
    array, index = (os.environ.get(f"SLURM_ARRAY_{part}_ID") for part in ("JOB", "TASK"))
    return f"{array}_{index}" if array and index else os.environ.get("SLURM_JOB_ID", "")
