"""The options that several verbs take, and how all of them answer."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cells.cell import Cell
from bench.cli.completion import scale_names, suite_names
from bench.environment import place
from bench.results.store import CellState, State
from bench.text import plain_text

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
Scale = Annotated[
    str | None,
    typer.Option(
        help="paper, gpu, cifar, cpu, smoke: those that the suite has; default: its own.",
        autocompletion=scale_names,
    ),
]
Where = Annotated[list[str] | None, typer.Option(help="Only these cells: K=64,128. May repeat.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Another value than the suite's: epochs=2. May repeat. Such cells belong to no suite: "
        "compare, claims and report leave them out.",
    ),
]
Seeds = Annotated[str | None, typer.Option(help="These seeds instead of the suite's: 0,1,2.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Workers; default: one a GPU, or a core.")]

Have = Annotated[
    list[Path] | None,
    typer.Option(help="A folder of exported tables: their cells count as done. May repeat."),
]
Limit = Annotated[float | None, typer.Option(help="Whole claims that fit in (CPU: core-hours).")]


REASONS = {
    "code": "an error in the code; the log has the traceback; `--retry-failed` tries again",
    "data": "the data set is missing, damaged or too small for the settings",
    "diverged": "a loss or an estimate became infinite or not a number",
    "oom": "out of memory, or its worker was killed again and again",
}
"""Why cells fail, in words."""


def answer(record: Any, show: Any, as_json: bool) -> None:
    """Print what a verb found out: one JSON document, or as `show` does."""
    if place().rank > 0:  # of a run on several ranks the first one answers
        return
    if as_json:
        print(json.dumps(record, indent=1, allow_nan=False))
    else:
        show(record)


def failures_of(cells: Sequence[Cell], states: Sequence[CellState]) -> list[dict[str, Any]]:
    """Return the failed ones of the cells, each with its reason, message and log."""
    return [
        {"id": c.id, "reason": s.reason, "message": s.message, "attempts": s.attempts, "log": s.log}
        for c, s in zip(cells, states, strict=True)
        if s.state == State.FAILED
    ]


def print_failures(failures: Sequence[dict[str, Any]]) -> None:
    """Print the first failures, a line each."""
    for failure in failures[:10]:
        log = f" (log: {failure['log']})" if failure["log"] else ""
        told = f"{failure['reason']}: {failure['message']}{log}"
        print(f"  {failure['id']} failed: {plain_text(told)}")
    if len(failures) > 10:
        print(f"  ... and {len(failures) - 10} more")
    for reason in dict.fromkeys(failure["reason"] for failure in failures):
        if reason in REASONS:
            print(f"  {reason}: {REASONS[reason]}")


def under(title: str, show: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return what prints the suite and scale that an answer is about, and the answer below."""

    def shown(record: Any) -> None:
        print(f"{title}:")
        show(record)

    return shown
