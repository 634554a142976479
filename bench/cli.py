"""The command line: parse, build, call, print. Work is imported by the verb that needs it."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bench import __version__, cli_exchange, cli_run
from bench.cli_options import AsJson, Scale, Seeds, Where
from bench.cli_options import answer as _answer
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
    if results.exists() and not results.is_dir():
        raise BenchError(f"--results {results}: is no folder")
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


app.add_typer(cli_run.app)  # plan, run, resume, status, cancel


@app.command()
def compare(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="SUITE | A B", help="Or two results.")],
    other: Annotated[
        Path | None, typer.Option("--with", help="Results to compare with, not the paper.")
    ] = None,
    scale: Scale = None, where: Where = None, seeds: Seeds = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print measured beside published, or beside other results, with verdicts.

    Of two results (folders, or folders of exported tables) it tells which cells moved, by how much,
    and whether that is more than their seeds do. Exit status 1 if a value differs or moved so.
    """
    from bench.show import print_comparison, print_moved
    from bench.verbs import describe_comparison, describe_moved

    name, *more = what
    if more and (len(more) > 1 or other or scale or where or seeds):
        raise BenchError("compare takes a suite with its options, or two results and no option")
    selection = None if more else _select(context, name, scale, where, seeds)
    if selection is None or other is not None:
        kept, cells = (selection.results, selection.cells) if selection else (Path(name), None)
        moved = describe_moved(kept, other or Path(more[0]), cells)
        _answer(moved, print_moved, as_json)
        raise typer.Exit(bool(moved["beyond_noise"]))
    evidence = selection.evidence()
    records = describe_comparison(evidence)
    _answer(records, lambda _: print_comparison(evidence), as_json)
    raise typer.Exit(any(record["verdict"] == "differs" for record in records))


@app.command()
def claims(
    context: typer.Context,
    suite: Annotated[str | None, typer.Argument(help="A suite; default: all claims.")] = None,
    paper: Annotated[str | None, typer.Option(help="Only the claims of this paper.")] = None,
    scale: Scale = None, where: Where = None, seeds: Seeds = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print the checks of a suite's claims, or every claim of the papers; status 1 if one fails."""
    from bench.show import print_all_claims, print_claims
    from bench.verbs import describe_claims

    if suite is None:
        if where or seeds:
            raise BenchError("--where and --seeds choose cells of a suite: name one")
        records = describe_claims(*context.obj, paper=paper, scale=scale)
        _answer(records, print_all_claims, as_json)
    else:
        if paper is not None:
            raise BenchError("--paper filters the claims of all suites: leave the suite out")
        evidence = _select(context, suite, scale, where, seeds).evidence()
        records = [judged.record() for judged in evidence.judged]
        _answer(records, lambda _: print_claims(evidence), as_json)
    raise typer.Exit(any(record["verdict"] == "fails" for record in records))


@app.command()
def report(
    context: typer.Context,
    suite: Annotated[list[str] | None, typer.Argument(help="Suites; default: all.")] = None,
    scale: Scale = None,
    every: Annotated[
        bool, typer.Option("--all", help="All suites and scales that have results; the default.")
    ] = False,
    to: Annotated[Path, typer.Option(help="Folder to write into.")] = Path("reports"),
    formats: Annotated[
        str, typer.Option(help="Beside the pages and SVG: any of png, pdf, tex, csv.")
    ] = "png,tex,csv",
    as_json: AsJson = False,
) -> None:
    """Write the site: an index, a page an artifact, a page a suite; draws what has changed."""
    from bench.show import print_pages
    from bench.verbs import report_formats, write_reports

    if every and suite:
        raise BenchError("--all writes every suite: leave the names out")
    folder, results = context.obj
    wanted = report_formats(formats)
    record = write_reports(folder, results, suite or [], scale=scale, to=to, formats=wanted)
    _answer(record, print_pages, as_json)


app.add_typer(cli_exchange.app)  # export, import, merge


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
