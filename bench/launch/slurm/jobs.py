"""The Slurm jobs that compute cells of a results folder.

Each `bench run` that submits jobs makes a folder `<results>/launches/slurm/<name>/`, and its jobs
have that name. `submission.json` lists the cells, `stacks.pickle` holds them for the jobs, and the
logs lie next to them. Each job may compute any of the cells; claims in the store prevent duplicate
work.
"""

import subprocess
import time
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from bench.errors import LaunchError
from bench.launch.slurm.profile import Profile
from bench.results.owner import LEASE_S
from bench.results.records import SubmissionRecord, read_records
from bench.results.store import ELSEWHERE, SLURM

TIMEOUT_S = 60.0
RECORD = "submission.json"
STACKS = "stacks.pickle"
FORMAT = "%j|%i|%T|%r|%N|%M"


@dataclass(frozen=True)
class Submission:
    """Jobs that were submitted together for the same cells."""

    folder: Path
    cells: frozenset[str]  # their ids
    profile: Profile
    code: str | None  # that ran when they were submitted, in words; None: not recorded
    executor: str  # by its name in submitit


@dataclass(frozen=True)
class SlurmJob:
    """A pending or running job, or task of a job array."""

    id: str  # as scancel takes it: 17 or 17_3
    state: str  # PENDING, RUNNING, COMPLETING, ...
    reason: str  # why it waits, in Slurm's word; "None" while it runs
    node: str  # "" while it waits
    elapsed: str  # [days-]hours:minutes:seconds
    submission: Submission

    @property
    def log(self) -> Path:
        """File of the job's standard output; standard error ends in .err."""
        return self.submission.folder / f"{self.id}_0_log.out"


def slurm_folder(results: Path) -> Path:
    """Return the folder of all submissions for a results folder."""
    return results / "launches" / SLURM


def jobs_of(results: Path, cells: Set[str] | None = None) -> list[SlurmJob]:
    """Return the pending and running jobs for a results folder.

    Args:
        cells: ids of cells; only jobs that may compute one of them are returned. None means all
            jobs.

    Raises:
        LaunchError: Slurm does not respond.
    """
    submissions = {
        s.folder.name: s
        for s in _submissions(slurm_folder(results))
        if cells is None or not s.cells.isdisjoint(cells)
    }
    if not submissions:  # without a name squeue would list everybody's jobs
        return []
    names = f"--name={','.join(submissions)}"
    answer = ask("squeue", "--noheader", "--array", names, f"--format={FORMAT}")
    if answer is None:
        raise LaunchError("Slurm does not answer: jobs submitted earlier may still run")
    found = []
    for line in answer.splitlines():
        name, job, state, reason, node, elapsed = line.strip().split("|", 5)
        found.append(SlurmJob(job, state, reason, node, elapsed, submissions[name]))
    return found


def submitted_elsewhere(results: Path, cells: Set[str]) -> dict[str, str]:
    """Return the other executors to which jobs for these cells were submitted.

    Whether these jobs are still pending or running is unknown.

    Returns:
        The log folder of the last submission, by executor name.
    """
    folder = slurm_folder(results).with_name(ELSEWHERE)
    return {s.executor: str(s.folder) for s in _submissions(folder) if s.cells & cells}


def forget_ended(results: Path, jobs: list[SlurmJob]) -> None:
    """Forget submissions without pending or running jobs; keep their logs.

    Args:
        jobs: all pending and running jobs.
    """
    alive = {job.submission.folder for job in jobs}
    for path in slurm_folder(results).glob(f"*/{RECORD}"):
        is_new = time.time() - path.stat().st_mtime < LEASE_S  # sbatch may not have been called yet
        if path.parent not in alive and not is_new:
            path.unlink(missing_ok=True)
            path.with_name(STACKS).unlink(missing_ok=True)


def _submissions(folder: Path) -> Iterator[Submission]:
    """Yield the submissions that may have jobs, the oldest first.

    Damaged records are reported and left out.
    """
    paths = sorted(folder.glob(f"*/{RECORD}"), key=lambda path: path.stat().st_mtime)
    records = read_records(
        paths, SubmissionRecord, "a submission", "the jobs of this submission are not known"
    )
    for path, record in records:
        profile = Profile.model_validate(record["profile"])
        executor = record.get("executor", SLURM)
        cells = frozenset(record["cells"])
        yield Submission(path.parent, cells, profile, record.get("code"), executor)


def ask(*command: str) -> str | None:
    """Return the output of a Slurm command; None if it does not exist or fails."""
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout
