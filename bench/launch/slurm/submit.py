"""Slurm: missing cells -> tasks -> job arrays, given to submitit; then the launcher may go.

A last small job, begun when the arrays have ended, submits again what was killed without a word.
"""

import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from shutil import which
from typing import Any

import submitit
from submitit.core.utils import FailedJobError

from bench.cells.cell import Cell
from bench.cells.stacks import make_stacks
from bench.errors import LaunchError
from bench.estimate.predict import predict
from bench.launch.options import check_ranks
from bench.launch.slurm.job import Job
from bench.launch.slurm.packing import Task, cut_arrays, pack_stacks
from bench.launch.slurm.profile import Profile
from bench.launch.slurm.request import Request
from bench.launch.slurm.resubmit import Resubmit
from bench.results.lease import heartbeat
from bench.results.slurm.squeue import ask
from bench.results.slurm.submissions import Submission
from bench.results.store import OVER, State, Store

FOR_EVER = 1_000_000  # requeues after a time limit
SWEEP_MIN = 30  # of the last job, which may have to wait for a lease


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
        check_ranks(request.cells, request.profile.ranks)
    limit = _max_array_size(request.profile)
    store.discard_damaged(request.cells)
    store.submissions.tidy()
    _adopt(request, store)
    arrays: list[list[Task]] = []

    def choose() -> tuple[list[list[list[str]]], float] | None:
        nonlocal arrays
        store.submissions.forget()
        tasks = _tasks(request, store)
        arrays = cut_arrays(tasks, limit)
        ids = [
            [[cell.id for stack in task for cell in stack] for task in array] for array in arrays
        ]
        return (ids, request.retry_before) if tasks else None

    submission = store.submissions.begin(choose, gpus=request.profile.gpus_per_node > 0)
    if submission is not None:
        try:
            with heartbeat(submission.path):
                _give_to_slurm(submission, arrays, request, store)
        except BaseException:
            submission.end()
            raise
        submission.note_submitted()
    return submission


def _tasks(request: Request, store: Store) -> list[Task]:
    leave = (State.DONE,) if request.retry_before else OVER
    leave = (*leave, State.RUNNING, State.QUEUED)
    states = store.states(request.cells)
    todo = [c for c, s in zip(request.cells, states, strict=True) if s.state not in leave]
    if request.alone:
        return [[[cell]] for cell in todo]
    profile = request.profile
    fill_s = 60 * (profile.time_per_job_min or 0)
    seconds = _seconds(todo, store, profile) if fill_s else {}
    return pack_stacks(make_stacks(todo, 1), profile.workers, fill_s=fill_s, seconds=seconds)


def _seconds(cells: Sequence[Cell], store: Store, profile: Profile) -> dict[str, float]:
    """Return what is predicted of each cell.

    Raises:
        LaunchError: nothing is known of one of them.
    """
    places = ["0" if profile.gpus_per_node else None]
    prediction = predict(cells, store.states(cells), store, places, leave=())
    by_cell = {e.cell.id: prediction.seconds(e) for e in prediction.estimates}
    unknown = [e.kind for e in prediction.estimates if by_cell[e.cell.id] is None]
    if unknown:
        raise LaunchError(
            f"--time-per-job: the run time of {unknown[0]} is unknown; `bench plan --probe` times "
            "a few steps"
        )
    return {name: seconds or 0.0 for name, seconds in by_cell.items()}


def _max_array_size(profile: Profile) -> int:
    """Return how many tasks an array may have; its highest index is one below MaxArraySize."""
    answer = ask("scontrol", "show", "config")
    if answer is None:
        raise LaunchError("--executor slurm: the controller does not answer (scontrol show config)")
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", answer, re.MULTILINE)
    site = int(match[1]) if match else 1001
    return max(1, min(site, profile.max_array_size or site))


def _give_to_slurm(
    submission: Submission, arrays: Sequence[list[Task]], request: Request, store: Store
) -> None:
    """Submit all arrays, or none; then the job that looks after them."""
    submission.logs.mkdir(parents=True, exist_ok=True)
    given: list[str] = []
    try:
        for tasks in arrays:
            given.append(_submit_array(tasks, submission, request, store, given))
    except BaseException:
        if given:
            ask("scancel", *given)
        raise
    _look_after(submission, dict(zip(submission.arrays, given, strict=True)), request, store)


def _adopt(request: Request, store: Store) -> None:
    """Look after arrays whose launcher died before it could."""
    submissions = store.submissions
    alive = submissions.tasks(submissions.open()) or []
    for submission in submissions.open():
        jobs = {t.array: t.job.split("_")[0] for t in alive if t.array in submission.arrays}
        looked_after = submission.record["submitted"] or submission.in_the_making()
        cells = [cell for cell in request.cells if cell.id in submission.cells]
        if jobs and cells and not looked_after:
            if not any(task.array == submission.sweep for task in alive):
                _look_after(submission, jobs, replace(request, cells=cells), store)
            submission.note_submitted()


def _look_after(
    submission: Submission, jobs: dict[str, str], request: Request, store: Store
) -> None:
    """Submit the job that comes after these arrays, by name and number."""
    last = Resubmit(request, store.root.resolve(), submission, jobs, submit)
    options = _options(_small(request.profile), list(jobs.values()))
    try:
        _sbatch([last], submission.logs, submission.sweep, options)
    except LaunchError as refused:
        print(
            f"bench: the clean-up job could not be submitted ({refused}); run `bench resume` to "
            "resubmit killed cells",
            file=sys.stderr,
        )


def _submit_array(
    tasks: Sequence[Task],
    submission: Submission,
    request: Request,
    store: Store,
    given: Sequence[str],
) -> str:
    """Submit the next array; return its number.

    With fewer jobs allowed at once than there are arrays, arrays wait for each other.
    """
    profile, count, k = request.profile, len(submission.arrays), len(given)
    name = list(submission.arrays)[k]
    jobs = [
        Job(
            task,
            store.root.resolve(),
            request.data,
            profile,
            retry_before=submission.retry_before,
            stopped=submission.stopped_file(name, index).resolve(),
        )
        for index, task in enumerate(tasks)
    ]
    lanes = min(request.jobs or count, count)
    options = _options(profile, given[k - lanes : k - lanes + 1] if k >= lanes else ())
    options["slurm_array_parallelism"] = (request.jobs or len(tasks) * lanes) // lanes
    return _sbatch(jobs, submission.logs, name, options)


def _small(profile: Profile) -> Profile:
    """Return what the last job asks for: a core for a while."""
    large = ("mem", "gres", "exclusive")
    left = {k: v for k, v in profile.slurm.items() if not k.startswith(large)}
    return Profile(timeout_min=SWEEP_MIN, slurm=left)


def _options(profile: Profile, after: Sequence[str]) -> dict[str, Any]:
    """Return what submitit is asked for, by its own names.

    Args:
        profile: the cluster's.
        after: jobs that must have ended before.
    """
    additional = profile.slurm.get("additional_parameters", {})
    assert isinstance(additional, dict)
    if after:
        additional = additional | {"dependency": f"afterany:{':'.join(after)}"}
    options: dict[str, Any] = {
        "timeout_min": profile.timeout_min,
        "gpus_per_node": profile.gpus_per_node,
        "cpus_per_task": profile.cpus_per_task or profile.workers,
        "nodes": profile.nodes,
        "tasks_per_node": profile.ranks // profile.nodes,
    }
    if profile.mem_gb:
        options["mem_gb"] = profile.mem_gb
    slurm = profile.slurm | ({"additional_parameters": additional} if additional else {})
    return options | {f"slurm_{name}": value for name, value in slurm.items()}


def _sbatch(jobs: Sequence[Any], folder: Path, name: str, options: dict[str, Any]) -> str:
    """Submit one array; return its id."""
    executor = submitit.AutoExecutor(folder, cluster="slurm", slurm_max_num_timeout=FOR_EVER)
    executor.update_parameters(name=name, **options)
    try:
        with redirect_stderr(StringIO()), executor.batch():  # sbatch's own words, reported below
            given = [executor.submit(job) for job in jobs]
    except FailedJobError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if "error" in line), lines[-1] if lines else "")
        raise LaunchError(f"Slurm refuses the jobs: {reason.strip()}") from None
    return str(given[0].job_id.split("_")[0])
