"""What the verbs that run cells do: run, resume, status, cancel."""

import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bench.config.environment import data_root, seconds_between_checkpoints
from bench.config.profile import Profile, load_profile
from bench.config.record import Cell
from bench.errors import LaunchError, choices
from bench.launch.packing import automatic_pack
from bench.launch.predict import predict
from bench.launch.progress import Progress
from bench.launch.run import EXECUTORS, run_cells
from bench.launch.slots import slots, visible_gpus
from bench.planning import within
from bench.select import Selection
from bench.show_run import print_limited
from bench.store.owner import Owner
from bench.store.slurm import ask
from bench.store.store import CellState, State

WATCH_EVERY_S = 2.0

Record = dict[str, Any]


@dataclass(frozen=True)
class How:
    """How cells are run; what moves no number."""

    executor: str = "local"
    jobs: int | None = None
    retry_failed: bool = False
    limit_hours: float | None = None
    profile: str | None = None
    pack: str | None = None  # a number or auto
    time_per_job_min: float | None = None
    ranks: int | None = None

    def check(self) -> None:
        """Raise a LaunchError if two of the settings have no meaning together."""
        if self.executor not in EXECUTORS:
            told = choices(self.executor, list(EXECUTORS))
            raise LaunchError(f"--executor {self.executor}: unknown. {told}")
        if self.executor != "slurm":
            for name, value in (
                ("profile", self.profile),
                ("time-per-job", self.time_per_job_min),
                ("ranks", self.ranks),
            ):
                if value is not None:
                    raise LaunchError(f"--{name} belongs to --executor slurm")
        if self.pack is not None:
            if self.pack != "auto" and not (self.pack.isdecimal() and int(self.pack) > 0):
                raise LaunchError(f"--pack {self.pack}: expected a number of workers, or auto")
            if self.executor == "inline":
                raise LaunchError("--pack has no meaning with --executor inline: it is one process")
            if self.executor == "local" and not visible_gpus():
                raise LaunchError("--pack: workers a GPU, and there is none here; use --jobs")


def check_begun(selection: Selection) -> None:
    """Raise a LaunchError if no cell of the selection was ever begun."""
    states = selection.store.states(selection.cells)
    begun = (State.DONE, State.FAILED, State.QUEUED)
    if any(s.attempts or s.state in begun for s in states):
        return
    if not selection.store.submissions.gave({cell.id for cell in selection.cells}):
        raise LaunchError(
            f"{selection.suite.name} at scale {selection.scale}: nothing to resume in "
            f"{selection.results}; `bench run {selection.suite.name} --scale {selection.scale}` "
            "begins it"
        )


def run_selections(chosen: Sequence[Selection], how: How) -> Record:
    """Run the cells of all selections in one queue, or submit them; return the counts at the end.

    With `limit_hours` only the cells that are chosen to fit in are run, and told.
    """
    how.check()
    cells = list({cell.id: cell for s in chosen for cell in s.cells}.values())
    check_data(cells)
    store, wanted, jobs = chosen[0].store, cells, _jobs(how, cells, chosen[0])
    if how.limit_hours is not None:
        places = _places(how, jobs)
        limited = within(chosen, cells, places, how.limit_hours, retry_failed=how.retry_failed)
        print_limited(limited)
        wanted = [cell for cell in cells if cell.id in limited["chosen"]]
    submitted: Record = {}
    if how.executor == "slurm":
        submitted = {"submitted": _submit(wanted, chosen[0], how)}
        store.submissions.forget()
    else:
        title = ", ".join(f"{s.suite.name} ({s.scale})" for s in chosen)
        inline = how.executor == "inline"
        run_cells(
            wanted, store, title=title, inline=inline, jobs=jobs, retry_failed=how.retry_failed
        )
    states = store.states(cells)
    counts = Counter(state.state for state in states)
    waiting = counts[State.QUEUED] + counts[State.RUNNING] if submitted else 0
    if submitted:
        first = chosen[0]
        submitted["submitted"] |= {
            "waiting": waiting,
            "suite": f"{first.suite.name} --scale {first.scale}",
        }
    return {
        "done": counts[State.DONE],
        "failed": counts[State.FAILED],
        "missing": len(states) - counts[State.DONE] - counts[State.FAILED] - waiting,
        "failures": _failures([c.id for c in cells], states),
        **submitted,
    }


def _places(how: How, jobs: int | None) -> list[str | None]:
    """Return the workers that times are predicted for: on Slurm of what kind, at least."""
    if how.executor == "slurm":
        return ["0" if load_profile(how.profile).gpus_per_node else None]
    return [None] if how.executor == "inline" else slots(jobs)


def _jobs(how: How, cells: Sequence[Cell], selection: Selection) -> int | None:
    """Return how many workers the local queue has, where GPUs are packed."""
    if how.executor != "local" or how.pack is None:
        return how.jobs
    auto = how.pack == "auto"
    pack = automatic_pack(cells, selection.store) if auto else int(how.pack)
    return min(how.jobs or 10**9, pack * len(visible_gpus()))


def _submit(cells: Sequence[Cell], selection: Selection, how: How) -> Record:
    """Give what is missing to Slurm; return what was given."""
    from bench.launch.slurm import submit
    from bench.launch.sweep import Request

    seconds_between_checkpoints()
    profile = _profile(how, cells, selection)
    retry_before = time.time() if how.retry_failed else 0.0
    request = Request(cells, profile, how.jobs, retry_before)
    submission = submit(request, selection.store)
    if submission is None:
        return {"cells": 0, "jobs": 0, "arrays": 0, "logs": None}
    arrays = submission.record["arrays"]
    return {
        "cells": sum(len(task) for array in arrays for task in array),
        "jobs": sum(map(len, arrays)),
        "arrays": len(arrays),
        "logs": str(submission.logs),
    }


def _profile(how: How, cells: Sequence[Cell], selection: Selection) -> Profile:
    """Return the profile with what the command line says, and `auto` looked up."""
    profile = load_profile(how.profile)
    given: Record = {"time_per_job_min": how.time_per_job_min, "ranks": how.ranks}
    pack = profile.pack if how.pack is None else how.pack if how.pack == "auto" else int(how.pack)
    if pack == "auto":
        on_gpu = profile.gpus_per_node > 0
        pack = automatic_pack(cells, selection.store) if on_gpu else profile.cpus_per_task or 1
    changed = {name: value for name, value in given.items() if value is not None}
    try:
        return Profile.model_validate(profile.model_dump() | changed | {"pack": pack})
    except ValidationError as error:
        told = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        option = "--ranks" if how.ranks is not None else "--pack" if how.pack else "--profile"
        raise LaunchError(f"{option}: {told}") from None


def check_data(cells: Sequence[Cell]) -> None:
    """Raise a BenchError if a data set that the cells need is not there."""
    names = {name for cell in cells if (name := cell.settings.get("dataset"))}
    if names:
        from bench.data.catalogue import check_present  # loads torch

        for name in sorted(names):
            check_present(name, data_root())


def _failures(ids: Sequence[str], states: Sequence[CellState]) -> list[Record]:
    return [
        {"id": name, "reason": s.reason, "message": s.message, "attempts": s.attempts, "log": s.log}
        for name, s in zip(ids, states, strict=True)
        if s.state == State.FAILED
    ]


def describe_status(selection: Selection) -> Record:
    """Return the cells by state, and the jobs of Slurm that hold any of them."""
    store = selection.store
    states = store.states(selection.cells)
    counts = Counter(state.state for state in states)
    record: Record = {
        "suite": selection.suite.name,
        "scale": selection.scale,
        "results": str(selection.results),
        "cells": len(states),
        **{str(state): counts[state] for state in State},
        "attempts": sum(state.attempts for state in states),
        "failures": _failures([cell.id for cell in selection.cells], states),
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


def _workers(selection: Selection) -> list[str | None]:
    """Return what computes the rest: the jobs that hold any of it, else what this machine has."""
    return selection.store.submissions.workers({c.id for c in selection.cells}) or slots(None)


def watch_status(selection: Selection) -> None:
    """Show the states until no cell runs or waits in a queue."""
    cells = selection.cells
    states = selection.store.states(cells)
    workers = _workers(selection)
    core_s = predict(cells, states, selection.store, workers).core_s
    title = f"{selection.suite.name} ({selection.scale})"
    with Progress(title, Counter(), core_s, len(workers)) as show:
        while not show(states):
            begun = any(s.state in (State.RUNNING, State.QUEUED) for s in states)
            if not begun and not selection.store.submissions.awaited({c.id for c in cells}):
                return
            time.sleep(WATCH_EVERY_S)
            states = selection.store.states(selection.cells)


def cancel(selection: Selection) -> Record:
    """Stop what computes or will compute cells of the selection: jobs, and launchers here.

    Checkpoints stay. A job or launcher that has cells of other suites too stops as a whole.

    Raises:
        LaunchError: Slurm does not answer.
    """
    store, wanted = selection.store, {cell.id for cell in selection.cells}
    submissions = store.submissions
    submissions.forget()
    if submissions.open() and submissions.tasks(submissions.open()) is None:
        raise LaunchError("Slurm does not answer: jobs that were submitted from here may still run")
    submissions.stop(wanted)
    jobs = submissions.jobs_of(wanted)
    if jobs and ask("scancel", *jobs) is None:
        raise LaunchError(f"scancel {' '.join(jobs[:3])} ...: Slurm does not do it")
    stopped: list[str] = []
    elsewhere: list[str] = []
    for owner in store.launchers_of(wanted):
        (stopped if _end(owner) else elsewhere).append(f"{owner.host}:{owner.pid}")
    return {"jobs": jobs, "launchers": stopped, "elsewhere": elsewhere}


def _end(owner: Owner) -> bool:
    """Tell a launcher to stop; return whether it could be told."""
    if owner.machine != Owner.me().machine:
        return False
    try:
        os.kill(owner.pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return False
    return True
