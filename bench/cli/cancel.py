"""`bench cancel`: stop what computes a suite's cells."""

import os
import signal
from typing import Any

import typer

from bench.cli.options import AsJson, Scale, Seeds, SuiteName, Where, answer, under
from bench.cli.selection import Selection, select
from bench.errors import LaunchError
from bench.launch.slurm.jobs import ask, jobs_of
from bench.results.owner import Owner
from bench.text import counted, plain_text

Record = dict[str, Any]


def cancel(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Stop the jobs and launchers that compute a suite's cells; checkpoints are kept."""
    selection = select(context.obj, suite, scale=scale, where=where, seeds=seeds)
    answer(stop(selection), under(selection.title, print_cancelled), as_json)


def stop(selection: Selection) -> Record:
    """Stop the Slurm jobs that may compute cells of the selection, and the launchers here.

    Checkpoints stay. A job or launcher that may compute other cells too stops as a whole.

    Raises:
        LaunchError: Slurm does not answer.
    """
    wanted = {cell.id for cell in selection.cells}
    jobs = [job.id for job in jobs_of(selection.results, wanted)]
    more = " ..." if len(jobs) > 3 else ""
    if jobs and ask("scancel", *jobs) is None:
        raise LaunchError(f"scancel failed for jobs {', '.join(jobs[:3])}{more}")
    stopped: list[str] = []
    elsewhere: list[str] = []
    for owner in selection.store.launchers_of(wanted):
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


def print_cancelled(record: Record) -> None:
    """Print what was stopped."""
    jobs, launchers = len(record["jobs"]), len(record["launchers"])
    verb = "was" if jobs + launchers == 1 else "were"
    print(f"{counted(jobs, 'job')} and {counted(launchers, 'launcher')} {verb} asked to stop")
    for name in record["elsewhere"]:
        print(f"  launcher {plain_text(name)}: runs on another machine; stop it there")
