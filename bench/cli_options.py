"""What several verbs take on the command line, and how all of them answer."""

import json
from typing import Annotated, Any

import typer

from bench.config.environment import place

SuiteName = Annotated[str, typer.Argument(help="A suite's name, or the path of its file.")]
SuiteNames = Annotated[list[str], typer.Argument(help="Suites, by name or path.")]
Scale = Annotated[str | None, typer.Option(help="paper, quick, smoke, ...; default: the suite's.")]
Where = Annotated[list[str] | None, typer.Option(help="Only these cells: K=64,128. May repeat.")]
Seeds = Annotated[str | None, typer.Option(help="These seeds instead of the suite's: 0,1,2.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Workers; default: one a GPU, or a core.")]


def answer(record: Any, show: Any, as_json: bool) -> None:
    """Print what a verb found out: one JSON document, or as `show` does."""
    if place().rank > 0:  # of a run on several ranks the first one answers
        return
    if as_json:
        print(json.dumps(record, indent=1, allow_nan=False))
    else:
        show(record)
