"""The commands of `bench`, their common options and the exit status."""

import os
import shlex
import sys
from collections.abc import Callable
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from bench import __version__
from bench.cli.workspace import Workspace, check_link
from bench.errors import INTERRUPTED, BenchError, DiskFailure, Interrupted, NothingMeasured
from bench.files.messages import forget_warnings
from bench.suites import shipped
from bench.text import foreign_text, plain_text

READER_GONE = 141  # the exit status that a shell gives a program which writes to a broken pipe
MAY_BE_EMPTY = ("--formats",)  # a list of none
REFERENCE = ("results", "reference")  # of a checkout; an installed package has it elsewhere


class Verb(NamedTuple):
    """Module of a command and its line in `bench --help`."""

    panel: str
    module: str
    what: str
    function: str = ""  # by default the verb's own name


VERBS: dict[str, Verb] = {
    "suites": Verb("Look up", "suites", "List the suites by paper, or describe one."),
    "methods": Verb("Look up", "methods", "List the methods by their settings, or describe one."),
    "papers": Verb("Look up", "papers", "List the papers, describe one, or check your own file."),
    "datasets": Verb("Look up", "datasets", "List the data sets, or download one."),
    "schema": Verb("Look up", "suites", "Print the JSON schema of suites or papers, for editors."),
    "doctor": Verb("Look up", "doctor", "Check this machine, the suites and the results."),
    "init": Verb("Run", "suites", "Copy the suites into a folder, to edit or to add to them."),
    "plan": Verb("Run", "plan", "Show a suite's grid, missing cells, predicted time and memory."),
    "run": Verb("Run", "run", "Compute the missing cells of one or more suites."),
    "resume": Verb("Run", "run", "Continue suites that were started before."),
    "status": Verb("Run", "status", "Count a suite's cells by state, with failures and jobs."),
    "logs": Verb("Run", "logs", "Print a cell's attempts, its last failure and training records."),
    "cancel": Verb("Run", "status", "Stop the jobs and processes that compute a suite's cells."),
    "verify": Verb("Run", "verify", "Compute finished cells again and compare the results."),
    "show": Verb("Judge", "show", "Print what was measured, as the suite's tables."),
    "compare": Verb("Judge", "compare", "Compare measured with published values, or two results."),
    "versus": Verb("Judge", "versus", "Compare two methods over all suites that have both."),
    "claims": Verb("Judge", "claims", "Judge the papers' claims by the results."),
    "others": Verb("Judge", "others", "Show what other projects measured."),
    "questions": Verb("Judge", "questions", "Answer disputed questions from all known results."),
    "report": Verb("Judge", "report", "Write a website of tables, figures and verdicts."),
    "export": Verb("Exchange", "exchange", "Write finished cells as tables or as one archive."),
    "import": Verb("Exchange", "exchange", "Add the cells of archives to the results.", "import_"),
    "merge": Verb("Exchange", "exchange", "Add the cells of other results folders."),
}

EXAMPLES = {
    "to": "export dcl-table-1 --to tables",
    "first": "versus dcl infonce",
    "second": "versus dcl infonce",
    "what": "compare dcl-table-1",
    "file": "import cells.tar.gz",
    "folder": "merge ../other/results",
}
"""Commands that have an argument, for the message that it is missing."""


class _ReaderGone(Exception):
    """The program that a pipe leads to has ended, as `head` does."""


class _Verbs(TyperGroup):
    """A group that loads a verb when it is called: some load pandas, some torch."""

    def invoke(self, ctx: Any) -> Any:
        """Call a verb; the library would exit with 1, a negative answer, where a pipe breaks."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGone from error

    def main(self, *args: Any, **words: Any) -> Any:
        """Run the command line; rich would exit with 1 where a help text's reader has gone."""
        try:
            return super().main(*args, **words)
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):
                raise _ReaderGone from end
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of the verb called, its command and the words behind it."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, command_of(str(name)), rest


def command_of(name: str) -> Any:
    """Import the module of a command and return the command."""
    verb = VERBS[name]
    function = getattr(import_module(f"bench.cli.{verb.module}"), verb.function or name)
    alone = typer.Typer(add_completion=False, context_settings=_CONTEXT)
    alone.command(name, help=_paragraphs(function.__doc__ or ""))(function)
    command: Any = typer.main.get_command(alone)
    for option in (param for param in command.params if param.param_type_name == "option"):
        option.metavar = ""  # a column of types would take half of a narrow terminal
    return command


def _paragraphs(text: str) -> str:
    """Return a docstring with each paragraph on one line, which the terminal breaks."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


_CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    cls=_Verbs,
    help="Reproduce the tables, figures and claims of five papers on contrastive learning.",
    epilog="Exit status: 0 success; 1 the answer is negative (a cell failed, a claim fails); "
    "2 a mistake in the call; 3 no results to answer from; 130 interrupted; 141 output closed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_CONTEXT,
)


def _list_verbs() -> None:
    """Give `bench --help` a line for each verb."""

    def nothing() -> Callable[[], None]:
        return lambda: None

    for name, verb in VERBS.items():
        app.command(name, help=verb.what, rich_help_panel=verb.panel)(nothing())


_list_verbs()


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"bench {__version__}")
        raise typer.Exit


@app.callback()
def _settings(
    context: typer.Context,
    suites: Annotated[
        Path | None,
        typer.Option(
            envvar="BENCH_SUITES",
            help="Folder of suite files; default: ./suites if it exists, else bench's own.",
            show_default=False,
        ),
    ] = None,
    results: Annotated[
        Path, typer.Option(envvar="BENCH_RESULTS", help="Folder of results.")
    ] = Path("results"),
    data: Annotated[Path, typer.Option(envvar="BENCH_DATA", help="Folder of data sets.")] = Path(
        "datasets"
    ),
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    for name, path in (("suites", suites), ("results", results), ("data", data)):
        if path is not None and path.exists() and not path.is_dir():
            raise BenchError(f"--{name} {path}: this path is not a folder")
        if path is not None:
            check_link(path, f"--{name} {path}")
    if results.parts[-2:] == REFERENCE and not results.exists():
        results = shipped.reference_results()
    context.obj = Workspace(suites or shipped.default_suites(), results, data)


def main() -> None:
    """Run the command line; a user's mistake prints one line and gives exit status 2.

    Raises:
        SystemExit: always, with the exit status.
    """
    forget_warnings()
    _write_any_letter()
    os.environ["MPLBACKEND"] = "agg"  # figures go to files, and an unknown name ends in an error
    os.environ.pop("SOURCE_DATE_EPOCH", None)  # they have no date, and libraries fail on a word
    try:
        _refuse_empty(sys.argv[1:])
        status = app(standalone_mode=False)
        print(end="", flush=True)  # to nowhere, where standard output is closed
        if status == INTERRUPTED:  # Ctrl-C, which the library turns into a status
            raise Interrupted
    except NothingMeasured as error:
        status = _complain(str(error), status=3)
    except BenchError as error:
        status = _complain(str(error), *error.more)
    except typer.TyperException as error:
        status = _complain(_with_hint(error))
    except DiskFailure as failure:
        status = _complain(str(failure), status=1)
    except (typer.Abort, KeyboardInterrupt, Interrupted):
        if os.environ.get("RANK", "0") == "0":
            print(f"bench: {_advice(sys.argv[1:])}", file=sys.stderr)
        status = INTERRUPTED
    except (BrokenPipeError, _ReaderGone):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = READER_GONE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        status = _complain(f"{where}{error.strerror or error}")
    sys.exit(status or 0)


def _refuse_empty(words: list[str]) -> None:
    """Refuse an empty word: as a path it would be the current folder, not what was meant."""
    for before, word in zip(["`bench`", *words], words, strict=False):
        option, _, value = word.partition("=")
        is_given = word.startswith("--") and "=" in word
        name = option if is_given else before
        if name not in MAY_BE_EMPTY and (word == "" or (is_given and not value)):
            raise BenchError(
                f"{name} is followed by an empty argument; check whether a shell variable is unset"
            )


def _write_any_letter() -> None:
    """Let letters that the encoding of a terminal does not have become question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # None where it is closed
            stream.reconfigure(errors="replace")


def _with_hint(error: Any) -> str:
    """Return the library's message, with what is allowed or what could be named."""
    faults: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if faults:
        return _out_of_range(error.param, faults[0]["input"], faults[0]["type"])
    message = " ".join(error.format_message().split())
    if message.startswith("Missing"):
        name, what = error.param.name, error.param.help.rstrip(".")
        example = f"; for example `bench {EXAMPLES[name]}`" if name in EXAMPLES else ""
        return f"{message.rstrip('.')}: {what[0].lower()}{what[1:]}{example}"
    if message.startswith("No such command") and "Did you mean" not in message:
        return f"{message} `bench --help` lists all commands."
    for option in ("--suites", "--results", "--data"):
        if message.startswith(f"No such option: {option}"):
            return f"{option} must be given before the verb: `bench {option} FOLDER VERB ...`"
    return message


def _out_of_range(option: Any, value: Any, fault: str) -> str:
    """Return the message for a word that is not a number, or not one that an option allows."""
    noun = "a number, such as 1.5" if fault.startswith("float") else "a whole number"
    if option.max is not None:
        noun += f" from {option.min} to {option.max}"
    elif option.min is not None:
        noun += f" of at least {option.min}"
    return f"{option.opts[0]} {foreign_text(value)}: expected {noun}"


def _advice(words: list[str]) -> str:
    """Return what to do after an interruption; `run` is right whether a cell was started or not."""
    verb = next((word for word in words if word in VERBS), "")
    if verb not in ("run", "resume"):
        return "the command was interrupted"
    at = words.index(verb)
    again = shlex.join(["bench", *words[:at], "run", *words[at + 1 :]])
    return f"the command was interrupted; finished cells are kept; continue with `{again}`"


def _complain(*lines: str, status: int = 2) -> int:
    rank = os.environ.get("RANK", "0")
    who = "bench" if rank == "0" else f"bench, rank {rank}"
    for line in lines:
        print(f"{who}: {plain_text(line)}", file=sys.stderr)
    return status
