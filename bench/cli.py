"""The command line: parse, build, call, print. Work is imported by the verb that needs it."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench import __version__
from bench.config.environment import place
from bench.errors import BenchError, Interrupted

if TYPE_CHECKING:
    from bench.select import Selection

app = typer.Typer(
    help="Reproduce the tables, figures and claims of five papers on contrastive learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SuiteName = Annotated[str, typer.Argument(help="A suite's name, or the path of its file.")]
SuiteNames = Annotated[list[str], typer.Argument(help="Suites, by name or path.")]
Scale = Annotated[str | None, typer.Option(help="paper, quick, smoke, ...; default: the suite's.")]
Where = Annotated[list[str] | None, typer.Option(help="Only these cells: K=64,128. May repeat.")]
Seeds = Annotated[str | None, typer.Option(help="These seeds instead of the suite's: 0,1,2.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Workers; default: one a GPU, or a core.")]

Executor = Annotated[str, typer.Option(help="local (workers) or inline (this process).")]
RetryFailed = Annotated[bool, typer.Option(help="Try failed cells again.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"bench {__version__}")
        raise typer.Exit


@app.callback()
def _settings(
    context: typer.Context,
    suites: Annotated[
        Path, typer.Option(envvar="BENCH_SUITES", help="Folder of suite files.")
    ] = Path("suites"),
    results: Annotated[
        Path, typer.Option(envvar="BENCH_RESULTS", help="Folder of results.")
    ] = Path("results"),
    data: Annotated[
        Path | None, typer.Option(envvar="BENCH_DATA", help="Folder of data sets: ./datasets.")
    ] = None,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    context.obj = (suites, results)
    os.environ["BENCH_SUITES"] = str(suites)  # where own methods are looked for, by workers too
    if data is not None:
        os.environ["BENCH_DATA"] = str(data)  # for workers too


def _select(
    context: typer.Context,
    name: str,
    scale: str | None = None,
    where: list[str] | None = None,
    seeds: str | None = None,
) -> "Selection":
    from bench.select import select

    return select(name, *context.obj, scale=scale, where=where, seeds=seeds)


@app.command()
def suites(context: typer.Context, as_json: AsJson = False) -> None:
    """List every suite: its artifacts, scales, cells and how many are done."""
    from bench.show import print_suites
    from bench.verbs import describe_suites

    _answer(describe_suites(*context.obj), print_suites, as_json)


@app.command()
def plan(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, jobs: Jobs = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show the grid, what is missing and how long it will take; run nothing."""
    from bench.show import print_plan
    from bench.verbs import describe_plan

    selection = _select(context, suite, scale, where, seeds)
    _answer(describe_plan(selection, jobs), print_plan, as_json)


@app.command()
def run(
    context: typer.Context, suite: SuiteNames, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, jobs: Jobs = None,
    executor: Executor = "local", retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Run what is missing of one or more suites."""
    from bench.show import print_counts
    from bench.verbs import run_selections

    chosen = [_select(context, name, scale, where, seeds) for name in suite]
    counts = run_selections(chosen, executor, jobs, retry_failed=retry_failed)
    _answer(counts, print_counts, as_json)
    raise typer.Exit(1 if counts["failed"] else 0)


@app.command()
def resume(
    context: typer.Context, suite: SuiteNames, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, jobs: Jobs = None,
    executor: Executor = "local", retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Run what is missing of suites begun before; an error if nothing was begun."""
    from bench.verbs import check_begun

    for name in suite:
        check_begun(_select(context, name, scale, where, seeds))
    run(context, suite, scale, where, seeds, jobs, executor, retry_failed, as_json)


@app.command()
def status(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None,
    watch: Annotated[bool, typer.Option(help="Follow until nothing runs or waits.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Count cells by state, with the reasons of failures and the time left."""
    from bench.show import print_status
    from bench.verbs import describe_status, watch_status

    selection = _select(context, suite, scale, where, seeds)
    if watch and not as_json:
        watch_status(selection)
    _answer(describe_status(selection), print_status, as_json)


@app.command()
def compare(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print measured beside published, with verdicts; exit status 1 if a value differs."""
    from bench.show import print_comparison
    from bench.verbs import describe_comparison

    evidence = _select(context, suite, scale, where, seeds).evidence()
    records = describe_comparison(evidence)
    _answer(records, lambda _: print_comparison(evidence), as_json)
    raise typer.Exit(any(record["verdict"] == "differs" for record in records))


@app.command()
def claims(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print the paper's claims that a suite tests, with verdicts; exit status 1 if one fails."""
    from bench.show import print_claims

    evidence = _select(context, suite, scale, where, seeds).evidence()
    records = [judged.record() for judged in evidence.judged]
    _answer(records, lambda _: print_claims(evidence), as_json)
    raise typer.Exit(any(record["verdict"] == "fails" for record in records))


@app.command()
def report(
    context: typer.Context,
    suite: Annotated[list[str] | None, typer.Argument(help="Suites; default: all.")] = None,
    scale: Scale = None,
    to: Annotated[Path, typer.Option(help="Folder to write into.")] = Path("reports"),
    as_json: AsJson = False,
) -> None:
    """Write a Markdown page with tables and figures for each suite that has results."""
    from bench.show import print_pages
    from bench.verbs import all_suites, write_reports

    names = suite or all_suites(context.obj[0], scale)
    chosen = [_select(context, name, scale) for name in names]
    _answer(write_reports(chosen, to, all_asked=not suite), print_pages, as_json)


@app.command()
def export(
    context: typer.Context,
    suite: SuiteNames,
    to: Annotated[Path, typer.Option(help="Folder to write into.")],
    scale: Scale = None,
    as_json: AsJson = False,
) -> None:
    """Add a suite's finished cells to CSV tables that reading verbs take as --results."""
    from bench.show import print_export
    from bench.verbs import export_selections

    chosen = [_select(context, name, scale) for name in suite]
    _answer(export_selections(chosen, to), print_export, as_json)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="One method, with sources.")] = None,
    to: Annotated[Path | None, typer.Option(help="Write methods.md into this folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods as coordinates, or one of them with the source of each coordinate."""
    from bench.show import print_methods, print_pages
    from bench.verbs import describe_methods, write_methods

    if to is not None and name is not None:
        raise BenchError("--to writes all methods on one page: leave the name out")
    if to is not None:
        _answer(write_methods(to), print_pages, as_json)
    else:
        _answer(describe_methods(name), print_methods, as_json)


@app.command()
def datasets(
    get: Annotated[str | None, typer.Option(help="Download this one.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets, whether they are there and how to get them."""
    from bench.show import print_datasets
    from bench.verbs import describe_datasets

    _answer(describe_datasets(get), print_datasets, as_json)


@app.command()
def schema() -> None:
    """Print the JSON schema of suite files, for editors."""
    from bench.config.schema import suite_schema

    print(json.dumps(suite_schema(), indent=1))


@app.command()
def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Say what this machine can do, and whether suites and results are sound."""
    from bench.doctor import examine, print_findings

    findings = examine(*context.obj)
    _answer(findings, print_findings, as_json)
    raise typer.Exit(any(finding["state"] == "bad" for finding in findings))


def _answer(record: Any, show: Any, as_json: bool) -> None:
    if place().rank > 0:  # of a run on several ranks the first one answers
        return
    if as_json:
        print(json.dumps(record, indent=1, allow_nan=False))
    else:
        show(record)


def main() -> None:
    """Run the command line; a user's mistake is one line and exit status 2."""
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
    except BenchError as error:
        status = _complain(str(error))
    except typer.TyperException as error:
        status = _complain(" ".join(error.format_message().split()))
    except (typer.Abort, KeyboardInterrupt, Interrupted):
        if os.environ.get("RANK", "0") == "0":
            told = "interrupted; what was finished is kept, `bench resume` goes on"
            print(f"bench: {told}", file=sys.stderr)
        status = 130
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)
        where = f"{error.filename}: " if error.filename else ""
        status = _complain(f"{where}{error.strerror or error}")
    sys.exit(status or 0)


def _complain(text: str) -> int:
    rank = os.environ.get("RANK", "0")
    who = "bench" if rank == "0" else f"bench, rank {rank}"
    print(f"{who}: {text}", file=sys.stderr)
    return 2
