"""`bench suites` and `bench schema`: what may be run."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from bench.cli.options import AsJson, Have, answer
from bench.cli.selection import had
from bench.cli.terminal import print_rows
from bench.cli.workspace import Workspace
from bench.errors import BenchError
from bench.report.tables import Entry
from bench.results.store import State, Store
from bench.suites.expand import expand
from bench.suites.json_schema import suite_schema
from bench.suites.load import load_suite, suite_paths

Record = dict[str, Any]


def suites(context: typer.Context, have: Have = None, as_json: AsJson = False) -> None:
    """List every suite: its artifacts, scales, cells and how many are done."""
    answer(describe_suites(context.obj, had(have)), print_suites, as_json)


def schema() -> None:
    """Print the JSON schema of suite files, for editors."""
    print(json.dumps(suite_schema(), indent=1))


def describe_suites(workspace: Workspace, have: Sequence[Path] = ()) -> list[Record]:
    """Return every suite with its scales; one that cannot be read is told on standard error."""
    store, records = Store(workspace.results, have=have), []
    for name, path in suite_paths(workspace.suites).items():
        try:
            suite = load_suite(path)
            scales = {}
            for scale in suite.scales:
                cells = expand(suite, scale, path)
                done = sum(s.state == State.DONE for s in store.states(cells))
                scales[scale] = {"cells": len(cells), "done": done}
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr)
            continue
        records.append(
            {
                "name": name,
                "title": suite.title,
                "paper": suite.paper,
                "artifacts": suite.reproduces,
                "scales": scales,
            }
        )
    return records


def print_suites(records: Sequence[Record]) -> None:
    """Print one line a suite."""
    rows = [
        [
            Entry(r["name"]),
            Entry(r["paper"] or ""),
            Entry(", ".join(r["artifacts"])),
            Entry(", ".join(f"{k} {v['done']}/{v['cells']}" for k, v in r["scales"].items())),
            Entry(r["title"]),
        ]
        for r in records
    ]
    print_rows("", ["suite", "paper", "artifacts", "cells done", "title"], rows)
