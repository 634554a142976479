"""`bench run` and `bench resume`: compute missing cells, or submit them to Slurm."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cells.cell import Cell, impossible
from bench.cli.options import (
    AsJson,
    AtScale,
    Changes,
    Have,
    Jobs,
    Limit,
    Matching,
    SeedList,
    Shard,
    SuiteNames,
    answer,
    failures_of,
    print_failures,
)
from bench.cli.own_code import Trust, check_own_code, trust_folders
from bench.cli.plan import check_of_suite, print_limited, within
from bench.cli.selection import Selection, check_scales, missing_data, select, sharded
from bench.cli.show import MOST_LINES, measured_of, print_measured
from bench.cli.workspace import beside_tables
from bench.environment import seconds_between_checkpoints
from bench.errors import BenchError, LaunchError, NothingMeasured
from bench.files.messages import warn
from bench.launch.options import RunOptions
from bench.launch.run import run_cells, tell_of_evaluations
from bench.launch.slurm.submit import submit
from bench.record import Json
from bench.results.names import table_files
from bench.results.store import OVER, CellState, State
from bench.text import counted

FEW = 100  # cells, one of which was begun if any was, most of the time
Executor = Annotated[
    str,
    typer.Option(
        help="Where cells are computed: local (in worker processes), inline (in this "
        "process), slurm (as jobs), or an executor that an installed package has "
        "registered with submitit."
    ),
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Compute failed cells again.")]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="For slurm: the name of a profile in ~/.config/bench/profiles.yaml, or the path "
        "of a file.",
    ),
]
PackOption = Annotated[
    str | None, typer.Option(help="Number of workers per GPU (without GPUs: per job), or auto.")
]
RanksOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="For slurm: number of processes that compute each cell together. On "
        "several GPUs this is experimental: it has never been run with NCCL.",
    ),
]


def run(
    context: typer.Context, suite: SuiteNames, scale: AtScale = None, where: Matching = None,
    seeds: SeedList = None, changes: Changes = None, jobs: Jobs = None,
    executor: Executor = "local",
    retry_failed: RetryFailed = False, limit_gpu_hours: Limit = None, profile: ProfileName = None,
    pack: PackOption = None, ranks: RanksOption = None, trust: Trust = None, shard: Shard = None,
    have: Have = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Compute the missing cells of one or more suites, here or as Slurm jobs."""
    trust_folders(trust)
    chosen = _selections(context, suite, scale, where, seeds, have, changes)
    _compute(
        context,
        chosen,
        RunOptions(executor, jobs, retry_failed, limit_gpu_hours, profile, pack, ranks),
        shard,
        as_json=as_json,
    )


def _selections(
    context: typer.Context, suites: Sequence[str], scale: str | None, where: list[str] | None,
    seeds: str | None, have: list[Path] | None, changes: list[str] | None,
) -> list[Selection]:  # fmt: skip
    return [
        select(context.obj, name, scale=scale, where=where, seeds=seeds, have=have, changes=changes)
        for name in suites
    ]


def _compute(
    context: typer.Context,
    chosen: list[Selection],
    options: RunOptions,
    shard: str | None,
    *,
    as_json: bool,
) -> None:
    """Compute what is missing of the selections, and print the end."""
    chosen = sharded(chosen, shard)
    for selection in chosen:
        check_scales(selection)
    if options.limit_hours is not None:
        check_of_suite(chosen[0])
    counts = run_selections(chosen, options, context.obj.data)
    answer(counts, lambda record: print_end(record, chosen), as_json)
    raise typer.Exit(1 if counts["failed"] else 0)


@wraps(run, assigned=())  # its arguments and options
def resume(
    context: typer.Context, suite: SuiteNames, scale: AtScale, where: Matching, seeds: SeedList,
    have: Have, changes: Changes, trust: Trust, shard: Shard, limit_gpu_hours: Limit,
    as_json: AsJson, **options: Any,
) -> None:  # fmt: skip
    """Do what `bench run` does, but only if a cell of each suite was started before."""
    trust_folders(trust)
    chosen = _selections(context, suite, scale, where, seeds, have, changes)
    for selection in chosen:
        check_begun(selection)
    options["limit_hours"] = limit_gpu_hours
    _compute(context, chosen, RunOptions(**options), shard, as_json=as_json)


def check_begun(selection: Selection) -> None:
    """Raise a LaunchError if no cell of the selection was started before."""
    cells = selection.cells
    parts = map(selection.store.states, (cells[:FEW], cells[FEW:]))  # the rest only if need be
    begun = (s.attempts or s.state in (*OVER, State.QUEUED) for states in parts for s in states)
    if not any(begun):
        raise LaunchError(
            f"{selection.title}: none of the chosen cells was started in "
            f"{selection.results}, so there is nothing to resume; `{selection.command('run')}` "
            "starts the cells"
        )


def run_selections(chosen: Sequence[Selection], options: RunOptions, data: Path) -> Json:
    """Compute the cells of all selections in one queue, or submit jobs; return the counts.

    `limit_hours` restricts the run to cells that fit into the limit.

    Args:
        chosen: selections with the same results folder.

    Raises:
        BenchError: the folder contains exported tables.
    """
    options.check()
    if table_files(chosen[0].results):
        raise BenchError(
            f"{chosen[0].results}: this folder holds exported tables, and `run` never "
            f"writes into such a folder. Use `{chosen[0].command('run')}`, which counts the "
            "cells of the tables as done and computes the other cells in "
            f"{beside_tables(chosen[0].workspace).results}"
        )
    cells = list({cell.id: cell for s in chosen for cell in s.cells}.values())
    check_data(cells, data)
    store, wanted, states = chosen[0].store, cells, dict[str, CellState]()
    check_own_code(cells, store)
    jobs = options.local_jobs(cells, store)
    if options.limit_hours is not None:
        before = store.states(cells)
        limited = within(
            chosen,
            cells,
            before,
            options.workers(jobs),
            options.limit_hours,
            retry_failed=options.retry_failed,
        )
        print_limited(limited)
        wanted = [cell for cell in cells if cell.id in limited["chosen"]]
        states = {cell.id: state for cell, state in zip(cells, before, strict=True)}
    if options.submits:
        submitted = _submit(wanted, chosen[0], options, data)
        return _counts(cells, store.states(cells), submitted)
    title = ", ".join(f"{s.suite.name} ({s.scale})" for s in chosen)
    ends = run_cells(wanted, store, data, title=title, jobs=jobs, retry_failed=options.retry_failed)
    states |= {cell.id: state for cell, state in zip(wanted, ends, strict=True)}
    return _counts(cells, [states[cell.id] for cell in cells])


def _counts(
    cells: Sequence[Cell], states: Sequence[CellState], submitted: Json | None = None
) -> Json:
    """Return the final counts, and what was submitted to Slurm, if anything."""
    counts = Counter(state.state for state in states)
    running = counts[State.RUNNING] if submitted else 0
    return {
        "done": counts[State.DONE],
        "failed": counts[State.FAILED],
        "missing": len(states) - counts[State.DONE] - counts[State.FAILED] - running,
        "failures": failures_of(cells, states),
        **({"submitted": submitted | {"running": running}} if submitted else {}),
    }


def check_data(cells: Sequence[Cell], data: Path) -> None:
    """Raise a BenchError if data are missing or too small for a cell, or a package is missing."""
    for why, count in impossible(cells).items():
        raise LaunchError(
            f"{why}. Nothing was run, because {counted(count, 'cell')} cannot be computed; "
            "exclude such cells with --where"
        )
    for fault in missing_data(cells, data):
        raise fault
    extras = {
        name: cell.experiment.removesuffix("-baseline") for cell in cells for name in cell.packages
    }
    for package, extra in extras.items():
        if find_spec(package) is None:
            raise LaunchError(
                f"{extra} needs the package {package}: pip install 'contrastive-bench[{extra}]'"
            )


def _submit(cells: Sequence[Cell], selection: Selection, options: RunOptions, data: Path) -> Json:
    """Submit jobs that compute what is missing; return what was submitted."""
    seconds_between_checkpoints()  # a mistake in it is reported before anything is submitted
    profile = options.slurm_profile(cells, selection.store)
    tell_of_evaluations(selection.store.states(cells))
    retry_before = selection.store.retry_from_now(cells) if options.retry_failed else 0.0
    submitted = submit(
        cells, selection.store, data, profile,
        executor=options.executor, jobs=options.jobs, retry_before=retry_before,
    )  # fmt: skip
    for why, count in submitted.misfits.items():
        warn(f"{counted(count, 'cell')} left out: {why}")
    return {
        "cells": submitted.cells,
        "jobs": submitted.jobs,
        "jobs_before": submitted.before,
        "left_out": submitted.misfits.total(),
        "logs": None if submitted.logs is None else str(submitted.logs),
    }


def print_end(record: Json, chosen: Sequence[Selection]) -> None:
    """Print the final counts, the measured tables and the next command."""
    print_counts(record, f"{chosen[0].command('status')} --watch")
    for selection in chosen:
        with suppress(NothingMeasured):  # submitted, interrupted elsewhere, or all failed
            tables, done, failed = measured_of(selection)
            print()
            print_measured(selection, tables, done, failed, most_lines=MOST_LINES)


def print_counts(record: Json, follow: str) -> None:
    """Print the final counts; `follow` is the command that watches submitted jobs."""
    if (given := record.get("submitted")) is not None:
        print(_submitted_text(given, follow))
    running = f", {given['running']} running" if given else ""
    done, failed, missing = (record[key] for key in ("done", "failed", "missing"))
    print(f"cells: {done} done, {failed} failed, {missing} missing{running}")
    print_failures(record["failures"])


def _submitted_text(given: Json, follow: str) -> str:
    """Return what was submitted, and what was not necessary."""
    cells, before = counted(given["cells"], "cell"), counted(given["jobs_before"], "job")
    if given["jobs"]:
        more = f", in addition to {before} that wait or run," if given["jobs_before"] else ""
        jobs = counted(given["jobs"], "job")
        return (
            f"submitted {jobs}{more} for {cells} (logs: {given['logs']}); `{follow}` "
            "shows their progress"
        )
    if given["jobs_before"]:
        return (
            f"nothing to submit: {before} for {cells} wait or run already; `{follow}` "
            "shows their progress"
        )
    return "nothing to submit: every cell is finished or failed"
