"""Slurm: missing cells -> tasks -> job arrays, given to submitit; then the launcher may go.

A last small job, begun when the arrays have ended, submits again what was killed without a word.
"""

import os
import re
import time
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from shutil import which
from typing import Any

import submitit
from submitit.core.utils import FailedJobError
from submitit.helpers import DelayedSubmission

from bench.config.profile import Profile
from bench.config.record import Cell
from bench.errors import LaunchError
from bench.launch.local import give_up_if_deadly, was_killed
from bench.launch.packing import Task, cut_arrays, pack_units
from bench.launch.predict import predict
from bench.launch.slurm_job import Job
from bench.launch.together import check_cells
from bench.launch.units import make_units
from bench.store.attempts import Attempt
from bench.store.owner import LEASE_S
from bench.store.slurm import ask
from bench.store.store import State, Store
from bench.store.submissions import Submission

FOR_EVER = 1_000_000  # requeues after a time limit
SWEEP_MIN = 30  # of the last job, which may have to wait for a lease
POLL_S = 5.0


@dataclass(frozen=True)
class Request:
    """What a user asked Slurm to do."""

    cells: Sequence[Cell]
    profile: Profile
    jobs: int | None  # at most so many at once
    since: float  # when
    retry_failed: bool = False
    alone: bool = False  # each cell in a job of its own: its neighbours were killed with it


def submit(request: Request, store: Store) -> Submission | None:
    """Submit what is neither done nor held by anybody; None if that is nothing.

    Raises:
        LaunchError: there is no Slurm here, or it refuses the jobs.
    """
    if which("sbatch") is None:
        raise LaunchError(
            "--executor slurm: there is no sbatch here; run this on a login node of the cluster"
        )
    if request.profile.ranks > 1:
        check_cells(request.cells, request.profile.ranks)
    limit = _max_array_size(request.profile)
    store.submissions.tidy()
    arrays: list[list[Task]] = []

    def choose() -> tuple[list[list[list[str]]], float] | None:
        nonlocal arrays
        store.submissions.forget()
        tasks = _tasks(request, store)
        arrays = cut_arrays(tasks, limit)
        ids = [[[cell.id for unit in task for cell in unit] for task in array] for array in arrays]
        return (ids, request.since if request.retry_failed else 0.0) if tasks else None

    submission = store.submissions.begin(choose)
    if submission is not None:
        try:
            _give_to_slurm(submission, arrays, request, store)
        finally:
            submission.note_submitted()
    return submission


def _tasks(request: Request, store: Store) -> list[Task]:
    held = [State.DONE, State.RUNNING, State.QUEUED]
    if not request.retry_failed:
        held.append(State.FAILED)
    states = store.states(request.cells)
    todo = [c for c, s in zip(request.cells, states, strict=True) if s.state not in held]
    if request.alone:
        return [[[cell]] for cell in todo]
    profile = request.profile
    fill_s = 60 * (profile.time_per_job_min or 0)
    seconds = _seconds(todo, store, profile) if fill_s else {}
    return pack_units(make_units(todo, 1), profile.workers, fill_s=fill_s, seconds=seconds)


def _seconds(cells: Sequence[Cell], store: Store, profile: Profile) -> dict[str, float]:
    """Return what is predicted of each cell.

    Raises:
        LaunchError: nothing is known of one of them.
    """
    places = ["0" if profile.gpus_per_node else None]
    prediction = predict(cells, store.states(cells), store, places, leave=())
    found = {e.cell.id: prediction.seconds(e) for e in prediction.estimates}
    unknown = [e.kind for e in prediction.estimates if found[e.cell.id] is None]
    if unknown:
        raise LaunchError(
            f"--time-per-job: nothing says how long {unknown[0]} takes; `bench plan --probe` times "
            "a few steps"
        )
    return {name: seconds or 0.0 for name, seconds in found.items()}


def _max_array_size(profile: Profile) -> int:
    """Return how many tasks an array may have; its highest index is one below MaxArraySize."""
    told = ask("scontrol", "show", "config")
    if told is None:
        raise LaunchError("--executor slurm: the controller does not answer (scontrol show config)")
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", told, re.MULTILINE)
    site = int(found[1]) if found else 1001
    return max(1, min(site, profile.max_array_size or site))


def _give_to_slurm(
    submission: Submission, arrays: Sequence[list[Task]], request: Request, store: Store
) -> None:
    profile, parallel = request.profile, request.jobs and max(1, request.jobs // len(arrays))
    submission.logs.mkdir(parents=True, exist_ok=True)
    given: list[str] = []
    for name, tasks in zip(submission.arrays, arrays, strict=True):
        jobs = [
            Job(
                task,
                store.root.resolve(),
                pack=profile.workers_a_gpu,
                ranks=profile.ranks,
                retry_before=submission.retry_before,
                since=request.since,
            )
            for task in tasks
        ]
        more = {"slurm_array_parallelism": parallel} if parallel else {}
        given.append(_sbatch(jobs, submission.logs, name, _options(profile) | more))
    options = _options(profile)
    additional = dict(options.get("slurm_additional_parameters", {}))
    additional["dependency"] = f"afterany:{':'.join(given)}"
    options |= {
        "slurm_additional_parameters": additional, "timeout_min": SWEEP_MIN, "cpus_per_task": 1,
        "gpus_per_node": 0, "nodes": 1, "tasks_per_node": 1,
    }  # fmt: skip
    sweep = Sweep(request, store.root.resolve(), submission)
    _sbatch([sweep], submission.logs, submission.sweep, options)


def _options(profile: Profile) -> dict[str, Any]:
    """Return what submitit is asked for, by its own names."""
    options: dict[str, Any] = {
        "timeout_min": profile.timeout_min,
        "gpus_per_node": profile.gpus_per_node,
        "cpus_per_task": profile.cpus_per_task or profile.workers,
        "nodes": profile.nodes,
        "tasks_per_node": profile.ranks // profile.nodes,
    }
    if profile.mem_gb:
        options["mem_gb"] = profile.mem_gb
    return options | {f"slurm_{name}": value for name, value in profile.slurm.items()}


def _sbatch(jobs: Sequence[Any], folder: Path, name: str, options: dict[str, Any]) -> str:
    """Submit one array; return its id."""
    executor = submitit.AutoExecutor(folder, cluster="slurm", slurm_max_num_timeout=FOR_EVER)
    executor.update_parameters(name=name, **options)
    try:
        with redirect_stderr(StringIO()), executor.batch():  # sbatch's own words, told below
            given = [executor.submit(job) for job in jobs]
    except FailedJobError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        told = next((line for line in lines if "error" in line), lines[-1] if lines else "")
        raise LaunchError(f"Slurm refuses the jobs: {told.strip()}") from None
    return str(given[0].job_id.split("_")[0])


class Sweep:
    """The last job of a submission: submits again what was killed without a word."""

    def __init__(self, request: Request, results: Path, submission: Submission) -> None:
        """Describe what was submitted, and where its results are."""
        self.request, self.results, self.submission = request, results, submission

    def __call__(self) -> None:
        """Look once; wait for cells that seem to live, since their machine is not this one."""
        for name in [n for n in os.environ if n.startswith("SLURM_") and n != "SLURM_CONF"]:
            del os.environ[name]  # else the next job takes itself for a part of this one
        store = Store(self.results, asks_slurm=False)
        mine = {c for array in self.submission.record["arrays"] for task in array for c in task}
        cells = [cell for cell in self.request.cells if cell.id in mine]
        deadline = time.monotonic() + 2 * LEASE_S
        while time.monotonic() < deadline:
            if not any(s.state == State.RUNNING and s.job for s in store.states(cells)):
                break
            time.sleep(POLL_S)
        lost = [cell for cell in cells if self._was_lost(cell, store)]
        print(f"{len(lost)} of {len(cells)} cells were lost", flush=True)
        if lost:
            again = replace(self.request, cells=lost, retry_failed=False, alone=True)
            submit(again, Store(self.results))

    def checkpoint(self) -> DelayedSubmission:
        """Look again from the beginning."""
        return DelayedSubmission(self)

    def _was_lost(self, cell: Cell, store: Store) -> bool:
        """Whether a cell that is not over should be tried again."""
        folder = store.folder(cell)
        last = folder.last_attempt()
        if folder.is_done or last is None or last.state == "failed":
            return False
        if was_killed(last):
            give_up_if_deadly(cell, store, since=self.request.since, told=self._last_words(last))
            last = folder.last_attempt() or last
        return last.state == "killed" or last.record["reason"] in ("preempted", "lost")

    def _last_words(self, attempt: Attempt) -> str:
        path = self.submission.logs / f"{attempt.owner.job}_0_log.err"
        if not path.exists():
            return ""
        lines = path.read_text(errors="replace").strip().splitlines()
        return f"{lines[-1]} (log: {path})" if lines else ""
