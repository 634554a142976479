"""Submit jobs that claim missing cells, through submitit, to Slurm or another executor."""

import pickle
import re
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import submitit
from submitit.core.utils import FailedJobError

from bench.cells.cell import Cell
from bench.cells.groups import Stack, make_stacks
from bench.errors import LaunchError
from bench.files.atomic import to_json, write_whole
from bench.launch.options import misfits
from bench.launch.slurm.job import PullCells
from bench.launch.slurm.jobs import (
    RECORD,
    STACKS,
    SlurmJob,
    ask,
    forget_ended,
    jobs_of,
    slurm_folder,
)
from bench.launch.slurm.profile import Profile
from bench.loss_files import trusted_folders
from bench.results.provenance import code, code_text
from bench.results.store import ELSEWHERE, OVER, SLURM, State, Store

FOR_EVER = 1_000_000  # requeues after a time limit
MOST_JOBS = 1000  # of a submission elsewhere than to Slurm, which has a limit of its own


@dataclass(frozen=True)
class Submitted:
    """Result of a submission."""

    cells: int  # that the jobs may compute
    jobs: int  # new ones
    before: int  # jobs that wait or run for these cells already
    logs: Path | None  # None: nothing was submitted
    misfits: Counter[str]  # why cells were left out, and how many


def submit(
    cells: Sequence[Cell],
    store: Store,
    data: Path,
    profile: Profile,
    *,
    executor: str = SLURM,
    jobs: int | None = None,
    retry_before: float = 0.0,
) -> Submitted:
    """Submit as many jobs as the unfinished cells need, in addition to existing jobs.

    Args:
        data: the folder of data sets.
        executor: submitit's name of the executor. Existing jobs are known only for Slurm.
        jobs: maximum number of jobs at once; None means enough to keep all workers busy at first.
        retry_before: failures that ended before this time (seconds since 1970) run again.

    Raises:
        LaunchError: Slurm is missing or refuses the jobs, or no cell fits the profile.
    """
    limit, alive = MOST_JOBS, list[SlurmJob]()
    if executor == SLURM:
        limit, alive = _max_array_size(profile), jobs_of(store.root)
        forget_ended(store.root, alive)
    store.discard_damaged(cells)
    over = (State.DONE,) if retry_before else OVER
    states = store.states(cells)
    todo = [c for c, s in zip(cells, states, strict=True) if s.state not in over]
    why = misfits(todo, store, profile)
    if todo and len(why) == len(todo):
        raise LaunchError(next(iter(why.values())))
    left_out, todo = Counter(why.values()), [cell for cell in todo if cell.id not in why]
    stacks = make_stacks(todo, profile.workers * (jobs or 1))
    needed = min(-(-len(stacks) // profile.workers), jobs or limit, limit)
    before = sum(_serves(job, todo, profile) for job in alive) if todo and not retry_before else 0
    if needed <= before:
        return Submitted(len(todo), 0, before, None, left_out)
    there = slurm_folder(store.root.resolve())
    there = there if executor == SLURM else there.with_name(ELSEWHERE)
    folder = there / f"bench-{uuid4().hex[:8]}"
    work = PullCells(
        folder / STACKS,
        store.root.resolve(),
        data.resolve(),
        profile,
        trusted=trusted_folders(),
        since=time.time(),
        retry_before=retry_before,
    )
    _write_submission(folder, stacks, profile, executor)
    try:
        _give(work, needed - before, folder, executor, _options(profile))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Submitted(len(todo), needed - before, before, folder, left_out)


def _serves(job: SlurmJob, cells: Sequence[Cell], profile: Profile) -> bool:
    """Whether a job may compute all of these cells, with this profile."""
    submission = job.submission
    return submission.profile == profile and submission.cells.issuperset(c.id for c in cells)


def _write_submission(
    folder: Path, stacks: Sequence[Stack], profile: Profile, executor: str
) -> None:
    folder.mkdir(parents=True)
    ids = [cell.id for stack in stacks for cell in stack]
    write_whole(folder / STACKS, pickle.dumps(stacks))
    record = {
        "cells": ids,
        "profile": profile.model_dump(),
        "code": code_text(code()),
        "executor": executor,
    }
    write_whole(folder / RECORD, to_json(record))


def _max_array_size(profile: Profile) -> int:
    """Return how many jobs an array may have; its highest index is one below MaxArraySize.

    Raises:
        LaunchError: there is no Slurm here, or it does not answer.
    """
    if shutil.which("sbatch") is None:
        raise LaunchError(
            "--executor slurm: this machine has no command sbatch; run this on a login "
            "node of the cluster"
        )
    answer = ask("scontrol", "show", "config")
    if answer is None:
        raise LaunchError(
            "--executor slurm: the controller of Slurm does not answer (scontrol show config)"
        )
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", answer, re.MULTILINE)
    site = int(match[1]) if match else 1001
    return max(1, min(site, profile.max_array_size or site))


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
    of_slurm = {f"slurm_{name}": value for name, value in profile.slurm.items()}
    return options | of_slurm | profile.elsewhere


def _give(work: PullCells, jobs: int, folder: Path, executor: str, options: dict[str, Any]) -> None:
    """Submit one array of equal jobs, named like the folder.

    Raises:
        LaunchError: they are refused.
    """
    refusals: tuple[type[Exception], ...] = (FailedJobError,)
    if executor != SLURM:  # code of another package
        refusals = (Exception,)
    try:
        given = submitit.AutoExecutor(folder, cluster=executor, slurm_max_num_timeout=FOR_EVER)
        given.update_parameters(name=folder.name, slurm_array_parallelism=jobs, **options)
        with redirect_stderr(StringIO()), given.batch():  # sbatch's own words, reported below
            for _ in range(jobs):
                given.submit(work)
    except refusals as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if "error" in line), lines[-1] if lines else "")
        fewer = f"; use `--jobs` to submit fewer than these {jobs} jobs" if jobs > 1 else ""
        who = "Slurm" if executor == SLURM else f"--executor {executor}"
        raise LaunchError(f"{who} refuses the jobs: {reason.strip()}{fewer}") from None
