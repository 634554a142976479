"""Shared command-line options, shell completion and output of all commands."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cells.cell import Cell
from bench.cli.workspace import check_link
from bench.environment import place
from bench.errors import BenchError
from bench.results.store import CellState, State
from bench.text import plain_text


def suite_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of suites that start with this text."""
    return [name for name in _paths(context) if name.startswith(incomplete)]


def scale_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the scales of the suites named before, or of all suites."""
    from bench.suites.load import load_suite

    paths, named = _paths(context), context.params.get("suite") or list(_paths(context))
    wanted = [named] if isinstance(named, str) else named
    names: dict[str, None] = {}
    for name in (name for name in wanted if name in paths):
        try:
            names |= dict.fromkeys(load_suite(paths[name]).scales)
        except BenchError:
            continue
    return [name for name in names if name.startswith(incomplete)]


def method_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of methods that start with this text."""
    from bench.suites.presets import load_presets

    try:
        return [name for name in load_presets(_folder(context)) if name.startswith(incomplete)]
    except BenchError:
        return []


def paper_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the papers that start with this text."""
    from bench.papers.reader import paper_files

    try:
        return [name for name in paper_files(_folder(context)) if name.startswith(incomplete)]
    except BenchError:
        return []


def verdict_names(incomplete: str) -> list[str]:
    """Return the verdicts on claims that start with this text."""
    from bench.analysis.verdicts import ClaimVerdict

    return [str(name) for name in ClaimVerdict if name.startswith(incomplete)]


def _folder(context: typer.Context) -> Path:
    from bench.suites.shipped import default_suites

    return Path(context.find_root().params.get("suites") or default_suites())


def _paths(context: typer.Context) -> dict[str, Path]:
    from bench.suites.load import known_suites

    try:
        return known_suites(_folder(context))
    except BenchError:
        return {}


MOST_FAILURES = 10  # lines of different ones

SuiteName = Annotated[
    str,
    typer.Argument(
        help="A suite's name (`bench suites` lists them), or the path of its file.",
        autocompletion=suite_names,
    ),
]
SuiteNames = Annotated[
    list[str],
    typer.Argument(
        help="Suites, by name (`bench suites` lists them) or path.", autocompletion=suite_names
    ),
]
AtScale = Annotated[
    str | None,
    typer.Option(
        help="Scale, the size of the run: paper, gpu, cifar, cpu, smoke or another scale of the "
        "suite; default: the suite's default scale.",
        autocompletion=scale_names,
    ),
]
Matching = Annotated[
    list[str] | None,
    typer.Option(
        help="Select only cells in which a setting has one of these values, such as "
        "K=64,128. May be repeated."
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Replace the value of a setting, such as epochs=2. May be repeated. The "
        "changed cells are not part of the suite: compare, claims and report leave "
        "them out.",
    ),
]
SeedList = Annotated[
    str | None, typer.Option(help="Seeds in place of the suite's seeds, such as 0,1,2 or 0-4.")
]
Shard = Annotated[
    str | None,
    typer.Option(
        metavar="PART/PARTS",
        help="Compute only one of several parts with about equal work; 3/16 is part 3 of "
        "16. Cells that share a training are in the same part. The parts are the same "
        "on every machine.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
MOST_JOBS = 100_000
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_JOBS,
        help="Number of workers; default: one per GPU, or one per core.",
    ),
]

Have = Annotated[
    list[Path] | None,
    typer.Option(help="A folder of exported tables, whose cells count as done. May be repeated."),
]
Limit = Annotated[
    float | None,
    typer.Option(
        help="Select only cells that together fit in this many GPU-hours (without a GPU: "
        "core-hours). Cells that complete a claim are chosen first."
    ),
]


REASONS = {
    "code": "the code raised an error; the log has the traceback; `--retry-failed` "
    "computes the cells again",
    "data": "a data set is missing, damaged or too small for the settings; correct "
    "this, then `--retry-failed` computes the cells again",
    "diverged": "a loss or an estimate became infinite or not a number",
    "oom": "the memory was not sufficient, or the worker of the cell was killed repeatedly",
}
"""Reasons why cells fail, in words."""


def answer(record: Any, show: Any, as_json: bool) -> None:
    """Print a command's result as one JSON document, or with `show` for people."""
    if place().rank > 0:  # of a run on several ranks the first one answers
        return
    if as_json:
        print(json.dumps(record, indent=1, allow_nan=False))
    else:
        show(record)


def check_folder(to: Path, verb: str) -> None:
    """Check that a command can write to the folder of `--to`.

    Raises:
        BenchError: the path, or one of its parents, is a file.
    """
    for path in (to, *to.parents):
        if path.is_file():
            raise BenchError(
                f"--to {to}: {path} is a file, but {verb} needs a folder to write into"
            )
        check_link(path, f"--to {to}")


def failures_of(cells: Sequence[Cell], states: Sequence[CellState]) -> list[dict[str, Any]]:
    """Return the failed cells, each with its reason, message and log."""
    return [
        {
            "id": c.id,
            "reason": s.reason,
            "message": s.message,
            "attempts": s.attempts,
            "log": s.log,
            "table": s.table,
        }
        for c, s in zip(cells, states, strict=True)
        if s.state == State.FAILED
    ]


def print_failures(failures: Sequence[dict[str, Any]]) -> None:
    """Print the first failures, one line per message."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for failure in failures:
        alike.setdefault((failure["reason"], failure["message"]), []).append(failure)
    for (reason, message), (first, *others) in [*alike.items()][:MOST_FAILURES]:
        cells = f"{first['id']} and {len(others)} more" if others else first["id"]
        places = [f"{kind}: {first[kind]}" for kind in ("log", "table") if first[kind]]
        log = f" ({places[0]})" if places else ""
        print(f"  {cells} failed: {plain_text(f'{reason}: {message}{log}')}")
    if left_out := sum(map(len, [*alike.values()][MOST_FAILURES:])):
        print(f"  ... and {left_out} more failed")
    for reason in dict.fromkeys(failure["reason"] for failure in failures):
        if reason in REASONS:
            print(f"  {reason}: {REASONS[reason]}")


def under(title: str, show: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a printer that prints `title` and then the result."""

    def shown(record: Any) -> None:
        print(f"{title}:")
        show(record)

    return shown
