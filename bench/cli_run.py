"""The verbs that plan, run and follow cells."""

from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench.cli_options import AsJson, Jobs, Scale, Seeds, SuiteName, SuiteNames, Where, answer

if TYPE_CHECKING:
    from bench.select import Selection

app = typer.Typer()

Executor = Annotated[str, typer.Option(help="local (workers), inline (this process) or slurm.")]
Limit = Annotated[float | None, typer.Option(help="Whole claims that fit in (CPU: core-hours).")]
RetryFailed = Annotated[bool, typer.Option(help="Try failed cells again.")]
ProfileName = Annotated[
    str | None,
    typer.Option("--profile", help="slurm: a name in ~/.config/bench/profiles.yaml, or a file."),
]
Pack = Annotated[
    str | None, typer.Option(help="Workers that share a GPU, or a job without one; or auto.")
]
TimePerJob = Annotated[
    float | None, typer.Option(min=0.01, help="slurm: fill jobs with cells up to these minutes.")
]

Ranks = Annotated[
    int | None, typer.Option(min=1, help="slurm: processes that compute each cell together.")
]


def _select(
    context: typer.Context, name: str, scale: str | None, where: list[str] | None, seeds: str | None
) -> "Selection":
    from bench.select import select

    return select(name, *context.obj, scale=scale, where=where, seeds=seeds)


@app.command()
def plan(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, jobs: Jobs = None, limit_gpu_hours: Limit = None,
    probe: Annotated[bool, typer.Option("--probe", help="Time steps of what is unknown.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show the grid, what is missing and how long it will take; run nothing."""
    from bench.planning import describe_plan
    from bench.show_run import print_plan

    selection = _select(context, suite, scale, where, seeds)
    record = describe_plan(selection, jobs, probe=probe, limit_hours=limit_gpu_hours)
    answer(record, print_plan, as_json)


@app.command()
def run(
    context: typer.Context, suite: SuiteNames, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, jobs: Jobs = None, executor: Executor = "local",
    retry_failed: RetryFailed = False, limit_gpu_hours: Limit = None, profile: ProfileName = None,
    pack: Pack = None, time_per_job: TimePerJob = None, ranks: Ranks = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Run what is missing of one or more suites; on Slurm submit it and return."""
    from bench.running import How, run_selections
    from bench.show_run import print_counts

    chosen = [_select(context, name, scale, where, seeds) for name in suite]
    how = How(executor, jobs, retry_failed, limit_gpu_hours, profile, pack, time_per_job, ranks)
    counts = run_selections(chosen, how)
    answer(counts, print_counts, as_json)
    raise typer.Exit(1 if counts["failed"] else 0)


@app.command()
@wraps(run, assigned=())  # its arguments and options
def resume(
    context: typer.Context, suite: SuiteNames, scale: Scale, where: Where, seeds: Seeds,
    **options: Any,
) -> None:  # fmt: skip
    """Run what is missing of suites begun before; an error if nothing was begun."""
    from bench.running import check_begun

    for name in suite:
        check_begun(_select(context, name, scale, where, seeds))
    run(context, suite, scale, where, seeds, **options)


@app.command()
def status(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None,
    watch: Annotated[bool, typer.Option(help="Follow until nothing runs or waits.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Count cells by state, with the reasons of failures, the jobs and the time left."""
    from bench.running import describe_status, watch_status
    from bench.show_run import print_status

    selection = _select(context, suite, scale, where, seeds)
    if watch and not as_json:
        watch_status(selection)
    answer(describe_status(selection), print_status, as_json)


@app.command()
def cancel(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Stop the jobs and launchers that compute or hold a suite's cells; checkpoints stay."""
    from bench.running import cancel as stop
    from bench.show_run import print_cancelled

    answer(stop(_select(context, suite, scale, where, seeds)), print_cancelled, as_json)


@app.command()
def verify(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None,
    sample: Annotated[int | None, typer.Option(min=1, help="So many cells; default: all.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Workers; default: this process.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Compute done cells again elsewhere; exit status 1 unless all are the same to the bit."""
    from bench.show_run import print_verified
    from bench.verifying import verify as compute

    records = compute(_select(context, suite, scale, where, seeds), sample, jobs)
    answer(records, print_verified, as_json)
    raise typer.Exit(not all(record["same"] for record in records))
