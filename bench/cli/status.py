"""`bench status`: cells by state, failures, jobs and the time left."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cells.groups import labels
from bench.cli.options import (
    AsJson,
    Changes,
    Have,
    Scale,
    Seeds,
    SuiteName,
    Where,
    answer,
    failures_of,
    print_failures,
)
from bench.cli.selection import Selection, select
from bench.cli.terminal import print_line
from bench.estimate.predict import predict
from bench.launch.devices import slots
from bench.launch.progress import Followed, Progress, duration, expected_of, standing_text
from bench.results.reader import Results
from bench.results.standing import Standing, standing_of
from bench.results.store import OVER, CellState, State
from bench.text import counted

WATCH_EVERY_S = 2.0
WHOLE_FROM = 100  # epochs or steps, which are written as whole ones
MOST_BEGUN = 10  # cells that run or were stopped, each with a line
USUAL = ("None", "Resources", "Priority", "Dependency", "JobArrayTaskLimit", "BeginTime")
"""Reasons for which jobs wait that will pass by themselves."""

Record = dict[str, Any]


def status(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, changes: Changes = None,
    watch: Annotated[bool, typer.Option(help="Follow until no cell is running or queued.")] = False,
    have: Have = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Count cells by state, with the reasons of failures, the jobs and the time left."""
    selection = select(
        context.obj, suite, scale=scale, where=where, seeds=seeds, have=have, changes=changes
    )
    if watch and not as_json:
        watch_status(selection)
    again = selection.command("run")
    answer(describe_status(selection), lambda record: print_status(record, again), as_json)


def describe_status(selection: Selection) -> Record:
    """Return the cells by state, and the jobs of Slurm that hold any of them."""
    store = selection.store
    states = store.states(selection.cells)
    counts = Counter(state.state for state in states)
    record: Record = {
        "suite": selection.suite.name,
        "scale": selection.scale,
        "results": str(selection.results),
        "words": selection.words,
        "cells": len(states),
        **{str(state): counts[state] for state in State},
        "attempts": sum(state.attempts for state in states),
        "failures": failures_of(selection.cells, states),
        "added_later": _added_later(selection),
        "begun": _begun(selection, states),
        "jobs": [
            {
                "job": task.job,
                "state": task.state,
                "reason": task.reason,
                "log": str(submission.log(task.job)),
            }
            for submission, task in store.submissions.holding({c.id for c in selection.cells})
        ],
        "slurm_answers": store.submissions.answers(),
        "left_core_s": None,
    }
    if counts[State.DONE] + counts[State.FAILED] < len(states):
        predicted = predict(selection.cells, states, store, _workers(selection))
        record["left_core_s"] = predicted.core_s
    return record


def _added_later(selection: Selection) -> list[str]:
    """Return lines on metrics that finished cells lack because they were added later."""
    evaluated = [cell for cell in selection.cells if cell.evaluation_metrics]
    if not evaluated or not selection.results.exists():
        return []
    results = Results(selection.results)
    return results.added_later(results.finished(evaluated))


def _begun(selection: Selection, states: Sequence[CellState]) -> list[Record]:
    """Return how far each cell has come that runs, or was stopped after its training began.

    A worker claims the cells of a stack together; those of which nothing is recorded when it dies
    are missing, no more.
    """
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
            "attempts": state.attempts,
            **asdict(standing),
            "resumes_at": standing.resumes_at,
        }
        for cell, state, label, standing in claimed
        if state.state == State.RUNNING or standing.has_begun
    ]


def _workers(selection: Selection) -> list[str | None]:
    """Return what computes the rest: the jobs that hold any of it, else what this machine has."""
    return selection.store.submissions.workers({c.id for c in selection.cells}) or slots(None)


def watch_status(selection: Selection) -> None:
    """Show the states until no cell runs or waits in a queue."""
    cells = selection.cells
    states = selection.store.states(cells)
    workers = _workers(selection)
    prediction = predict(cells, states, selection.store, workers)
    expected = expected_of(prediction)
    title = f"{selection.suite.name} ({selection.scale})"
    followed = Followed(cells, selection.store, [expected[c.id] for c in cells], watches=True)
    with Progress(title, Counter(), len(workers), followed) as show:
        while not show(states):
            begun = any(s.state in (State.RUNNING, State.QUEUED) for s in states)
            if not begun and not selection.store.submissions.awaited({c.id for c in cells}):
                return
            time.sleep(WATCH_EVERY_S)
            states = selection.store.states(selection.cells)


def print_status(record: Record, again: str) -> None:
    """Print the cells by state; `again` is the command that goes on with stopped ones."""
    counts = ", ".join(f"{record[state]} {state}" for state in State if record[state])
    left = record["left_core_s"]
    more = f"; about {duration(left)} of work left" if left else ""
    cells = counted(record["cells"], "cell")
    print(f"{record['suite']} at scale {record['scale']}: {cells}: {counts}{more}")
    if not Path(record["results"]).exists():
        print(f"  {record['results']}: this results folder does not exist yet")
    if not record["slurm_answers"]:
        print("  Slurm does not answer: cells submitted last are counted as queued")
    _print_jobs(record["jobs"])
    print_failures(record["failures"])
    for line in record["added_later"]:
        print_line(line, indent="  ")
    _print_begun(record["begun"], again)


def _print_begun(begun: Sequence[Record], again: str) -> None:
    """Print how far running cells have come, and where stopped ones stand."""
    for cell in begun[:MOST_BEGUN]:
        text = _stopped_text(cell) if cell["state"] == "stopped" else _running_text(cell)
        print(f"  {cell['id']} {cell['cell']}: {text}")
    if len(begun) > MOST_BEGUN:
        print(f"  ... and {len(begun) - MOST_BEGUN} more (--json lists all)")
    if stopped := sum(cell["state"] == "stopped" for cell in begun):
        print(f"  {counted(stopped, 'cell')} stopped: `{again}` continues them")


def _running_text(cell: Record) -> str:
    return f"running: {standing_text(_standing(cell))}"


def _stopped_text(cell: Record) -> str:
    """Return where a stopped cell goes on."""
    attempts = counted(cell["attempts"], "attempt")
    if cell["is_trained"]:
        return f"stopped after {attempts}: training is finished, evaluations are missing"
    if cell["resumes_at"] is None:
        return f"stopped after {attempts} before the first checkpoint: will start again"
    unit, at = "epoch" if cell["epoch"] is not None else "step", cell["resumes_at"]
    at_text = f"{at:.3g}" if at < WHOLE_FROM else f"{at:.0f}"
    of = "" if cell["of"] is None else f" of {cell['of']}"
    age = "" if (s := cell["checkpoint_age_s"]) is None else f", {duration(s)} old"
    return f"stopped after {attempts}: checkpoint at {unit} {at_text}{of}{age}"


def _standing(cell: Record) -> Standing:
    return Standing(**{field.name: cell[field.name] for field in fields(Standing)})


def _print_jobs(jobs: Sequence[Record]) -> None:
    """Print how many jobs are in each state, and the logs of those that run."""
    if not jobs:
        return
    counts = Counter(job["state"].lower() for job in jobs)
    print(f"  Slurm: {', '.join(f'{n} {state}' for state, n in counts.items())}")
    for job in [job for job in jobs if job["state"] == "RUNNING"][:10]:
        print(f"    job {job['job']} runs (log: {job['log']})")
    stuck = Counter(
        j["reason"] for j in jobs if j["state"] == "PENDING" and j["reason"] not in USUAL
    )
    for reason, n in stuck.items():
        print(f"    {n} pending: {reason}")
