"""`bench status` and `bench cancel`: cells by state, jobs and remaining time; stop a run."""

import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated

import typer

from bench.cells.baseline import baselines_among
from bench.cells.groups import labels
from bench.cli.options import (
    AsJson,
    AtScale,
    Changes,
    Have,
    Matching,
    SeedList,
    Shard,
    SuiteName,
    answer,
    failures_of,
    print_failures,
    under,
)
from bench.cli.selection import Selection, select, sharded
from bench.cli.terminal import print_line
from bench.cli.workspace import USUAL_RESULTS
from bench.environment import slots
from bench.errors import BenchError, LaunchError
from bench.estimate.predict import predict
from bench.launch.progress import Followed, Progress, duration, expected_of, standing_text
from bench.launch.slurm.jobs import SlurmJob, ask, jobs_of, submitted_elsewhere
from bench.record import Json
from bench.results.owner import Owner
from bench.results.provenance import code, code_text
from bench.results.reader import Results
from bench.results.standing import Standing, standing_of
from bench.results.store import OVER, CellState, State, Store
from bench.suites import shipped
from bench.text import counted, plain_text

WATCH_EVERY_S = 2.0
ASK_EVERY_S = 10.0  # Slurm, about jobs that compute nothing yet
WHOLE_FROM = 100  # epochs or steps, which are written as whole ones
MOST_JOBS = 10  # jobs, each with a line
MOST_BEGUN = 10  # cells that run or were stopped, each with a line
USUAL = ("None", "Resources", "Priority", "Dependency", "JobArrayTaskLimit", "BeginTime")
"""Reasons of waiting jobs that need no action."""


def status(
    context: typer.Context, suite: SuiteName, scale: AtScale = None, where: Matching = None,
    seeds: SeedList = None, changes: Changes = None,
    watch: Annotated[bool, typer.Option(help="Print repeatedly until no cell runs or job waits.")]
    = False, shard: Shard = None, have: Have = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Count cells by state, with reasons of failures, jobs and remaining time."""
    selection = select(
        context.obj, suite, scale=scale, where=where, seeds=seeds, have=have, changes=changes
    )
    (selection,) = sharded([selection], shard)
    if watch and as_json:
        raise BenchError("--watch prints for readers, so it cannot be combined with --json")
    if watch:
        watch_status(selection)
    again = selection.command("run")
    answer(describe_status(selection), lambda record: print_status(record, again), as_json)


def describe_status(selection: Selection) -> Json:
    """Return the cells by state, and the Slurm jobs that may compute them."""
    store = selection.store
    states = store.states(selection.cells)
    counts = Counter(state.state for state in states)
    begun = _begun(selection, states)
    jobs = _jobs(selection)
    record: Json = {
        "suite": selection.suite.name,
        "scale": selection.scale,
        "results": str(selection.results),
        "words": selection.words,
        "cells": len(states),
        "baselines": len(baselines_among(selection.cells)),
        **{str(state): counts[state] for state in State},
        "attempts": sum(state.attempts for state in states),
        "failures": failures_of(selection.cells, states),
        "added_later": _added_later(selection),
        "reference": _in_reference(selection, states),
        "begun": begun,
        "jobs": [
            {
                "job": job.id,
                "state": job.state,
                "reason": job.reason,
                "node": job.node,
                "elapsed": job.elapsed,
                "log": str(job.log),
                "submitted_code": _other_code(job),
                "cells": [cell["cell"] for cell in begun if cell["job"] == job.id],
            }
            for job in jobs or ()
        ],
        "slurm_answers": jobs is not None,
        "unknown_jobs": _unknown_jobs(selection, states),
        "left_core_s": None,
    }
    if counts[State.DONE] + counts[State.FAILED] < len(states):
        predicted = predict(selection.cells, states, store, _workers(jobs))
        record["left_core_s"] = predicted.core_s
    return record


def _added_later(selection: Selection) -> list[str]:
    """Return lines on metrics that finished cells lack because they were added later."""
    evaluated = [cell for cell in selection.cells if cell.evaluation_metrics]
    if not evaluated or not selection.results.exists():
        return []
    results = Results(selection.results)
    return results.added_later(results.finished(evaluated))


def _in_reference(selection: Selection, states: Sequence[CellState]) -> int:
    """Return how many cells the reference results have that reading verbs answer from."""
    if selection.results != USUAL_RESULTS or any(state.state in OVER for state in states):
        return 0
    return Store(shipped.reference_results()).kept(selection.cells)


def _jobs(selection: Selection) -> list[SlurmJob] | None:
    """Return the jobs that may compute cells of the selection; None if Slurm does not answer."""
    try:
        return jobs_of(selection.results, {cell.id for cell in selection.cells})
    except LaunchError:
        return None


def _unknown_jobs(selection: Selection, states: Sequence[CellState]) -> dict[str, str]:
    """Return the executors whose jobs may compute unfinished cells, each with its logs."""
    cells = zip(selection.cells, states, strict=True)
    unfinished = {cell.id for cell, state in cells if state.state != State.DONE}
    return submitted_elsewhere(selection.results, unfinished)


def _print_unknown(jobs: dict[str, str]) -> None:
    for name, logs in jobs.items():
        text = (
            f"  jobs of --executor {name} may wait or run; `bench` lists and stops only "
            "Slurm jobs, "
        )
        print(plain_text(f"{text}so use the tools of {name} for these jobs (logs: {logs})"))


def _other_code(job: SlurmJob) -> str | None:
    """Return the code that a job was submitted with, in words; None if it is that of today."""
    submitted = job.submission.code
    return None if submitted == code_text(code()) else submitted


def _begun(selection: Selection, states: Sequence[CellState]) -> list[Json]:
    """Return the progress of running cells, and of cells that stopped after training began.

    A worker claims all cells of a stack at once. If it dies before anything of a cell is recorded,
    that cell counts as missing, not as stopped.
    """
    if all(state.state in OVER or not state.attempts for state in states):
        return []
    named = zip(selection.cells, states, labels(selection.cells), strict=True)
    claimed = (
        (cell, state, label, standing_of(selection.store, cell))
        for cell, state, label in named
        if state.attempts and state.state not in OVER
    )
    return [
        {
            "id": cell.id,
            "cell": label,
            "state": "running" if state.state == State.RUNNING else "stopped",
            "job": state.job,
            "attempts": state.attempts,
            **asdict(standing),
            "resumes_at": standing.resumes_at,
        }
        for cell, state, label, standing in claimed
        if state.state == State.RUNNING or standing.has_begun
    ]


def _workers(jobs: Sequence[SlurmJob] | None) -> list[str | None]:
    """Return what computes the rest: the workers of the running jobs, else this machine's."""
    profiles = [job.submission.profile for job in jobs or () if job.state == "RUNNING"]
    places = [["0" if p.gpus_per_node else None] * p.workers for p in profiles]
    return [place for of_job in places for place in of_job] or slots(None)


def watch_status(selection: Selection) -> None:
    """Show the states until no cell is running and no job is waiting."""
    cells = selection.cells
    states = selection.store.states(cells)
    workers = _workers(_jobs(selection))
    prediction = predict(cells, states, selection.store, workers)
    expected = expected_of(prediction)
    title = f"{selection.suite.name} ({selection.scale})"
    followed = Followed(cells, selection.store, [expected[c.id] for c in cells], watches=True)
    with Progress(title, Counter(), len(workers), followed) as show:
        while not show(states):
            begun = any(s.state in (State.RUNNING, State.QUEUED) for s in states)
            if not begun and not _jobs(selection):
                return
            time.sleep(WATCH_EVERY_S if begun else ASK_EVERY_S)
            states = selection.store.states(selection.cells)


def print_status(record: Json, again: str) -> None:
    """Print the cells by state; `again` is the command that continues stopped cells."""
    counts = ", ".join(f"{record[state]} {state}" for state in State if record[state])
    left = record["left_core_s"]
    more = f"; about {duration(left)} of work left" if left else ""
    cells = counted(record["cells"], "cell")
    if n := record["baselines"]:
        cells += f" ({counted(n, 'baseline')})"
    print(f"{record['suite']} at scale {record['scale']}: {cells}: {counts}{more}")
    if not Path(record["results"]).exists():
        print(f"  {record['results']}: this results folder does not exist yet")
    if not record["slurm_answers"]:
        print("  Slurm does not answer: submitted jobs may still run")
    _print_jobs(record["jobs"])
    _print_unknown(record["unknown_jobs"])
    print_failures(record["failures"])
    if n := record["reference"]:
        are = "is" if n == 1 else "are"
        print(f"  {n} of the cells {are} in the reference results, which `show` and `compare` use")
    for line in record["added_later"]:
        print_line(line, indent="  ")
    _print_begun(record["begun"], again)


def _print_begun(begun: Sequence[Json], again: str) -> None:
    """Print the progress of running cells, and where stopped cells will resume."""
    for cell in begun[:MOST_BEGUN]:
        text = _stopped_text(cell) if cell["state"] == "stopped" else _running_text(cell)
        print(f"  {cell['id']} {plain_text(cell['cell'])}: {text}")
    if len(begun) > MOST_BEGUN:
        print(f"  ... and {counted(len(begun) - MOST_BEGUN, 'more cell')} (--json lists all)")
    if stopped := sum(cell["state"] == "stopped" for cell in begun):
        them = "it" if stopped == 1 else "them"
        print(f"  {counted(stopped, 'cell')} stopped: `{again}` continues {them}")


def _running_text(cell: Json) -> str:
    standing = Standing(**{field.name: cell[field.name] for field in fields(Standing)})
    return f"running: {standing_text(standing)}"


def _stopped_text(cell: Json) -> str:
    """Return where a stopped cell goes on."""
    attempts = counted(cell["attempts"], "attempt")
    if cell["is_trained"]:
        return f"stopped after {attempts}: the training is finished, but evaluations are missing"
    if cell["resumes_at"] is None:
        return f"stopped after {attempts}, without a checkpoint: the training will start again"
    unit, at = "epoch" if cell["epoch"] is not None else "step", cell["resumes_at"]
    at_text = f"{at:.3g}" if at < WHOLE_FROM else f"{at:.0f}"
    of = "" if cell["of"] is None else f" of {cell['of']}"
    age = "" if (s := cell["checkpoint_age_s"]) is None else f", {duration(s)} old"
    return f"stopped after {attempts}: checkpoint at {unit} {at_text}{of}{age}"


def _print_jobs(jobs: Sequence[Json]) -> None:
    """Print the running jobs, how many jobs wait, and why if it will not pass by itself."""
    running = [job for job in jobs if job["state"] != "PENDING"]
    for job in running[:MOST_JOBS]:
        cells = f": {'; '.join(job['cells'])}" if job["cells"] else ""
        state = f"{job['state'].lower()} on {job['node']} for {job['elapsed']}"
        print(f"  job {job['job']} is {state} (log: {job['log']}){cells}")
    if len(running) > MOST_JOBS:
        print(f"  ... and {len(running) - MOST_JOBS} more jobs (--json lists all)")
    other = Counter(job["submitted_code"] for job in jobs if job["submitted_code"])
    for submitted, n in other.items():
        print(
            f"  {counted(n, 'job')} submitted with {plain_text(submitted)}, which differs "
            "from the code of this checkout"
        )
    waiting = [job["reason"] for job in jobs if job["state"] == "PENDING"]
    if waiting:
        print(f"  {counted(len(waiting), 'job')} pending")
    for reason, n in Counter(r for r in waiting if r not in USUAL).items():
        print(f"    {n} pending: {plain_text(reason)}")


def cancel(
    context: typer.Context, suite: SuiteName, scale: AtScale = None, where: Matching = None,
    seeds: SeedList = None, changes: Changes = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Stop the Slurm jobs and local processes that compute a suite's cells; keep checkpoints."""
    selection = select(context.obj, suite, scale=scale, where=where, seeds=seeds, changes=changes)
    answer(stop(selection), under(selection.title, print_cancelled), as_json)


def stop(selection: Selection) -> Json:
    """Stop Slurm jobs and local launchers that may compute cells of the selection.

    Checkpoints are kept. A job or launcher stops completely, even if it also computes other cells.

    Raises:
        LaunchError: Slurm does not respond.
    """
    wanted = {cell.id for cell in selection.cells}
    jobs = [job.id for job in jobs_of(selection.results, wanted)]
    more = " ..." if len(jobs) > 3 else ""
    if jobs and ask("scancel", *jobs) is None:
        raise LaunchError(f"the command `scancel` failed for jobs {', '.join(jobs[:3])}{more}")
    stopped: list[str] = []
    elsewhere: list[str] = []
    for owner in selection.store.launchers_of(wanted):
        (stopped if _end(owner) else elsewhere).append(f"{owner.host}:{owner.pid}")
    unknown = _unknown_jobs(selection, selection.store.states(selection.cells))
    return {
        "jobs": jobs,
        "launchers": stopped,
        "elsewhere": elsewhere,
        "unknown_jobs": unknown,
    }


def _end(owner: Owner) -> bool:
    """Send SIGTERM to a launcher; return whether that was possible."""
    if owner.machine != Owner.me().machine:
        return False
    try:
        os.kill(owner.pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def print_cancelled(record: Json) -> None:
    """Print what was stopped."""
    jobs, launchers = len(record["jobs"]), len(record["launchers"])
    verb = "was" if jobs + launchers == 1 else "were"
    print(f"{counted(jobs, 'job')} and {counted(launchers, 'local run')} {verb} asked to stop")
    for name in record["elsewhere"]:
        print(
            f"  the process {plain_text(name)} runs on a different machine; stop it on that machine"
        )
    _print_unknown(record["unknown_jobs"])
