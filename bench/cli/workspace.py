"""The folders that a command works in."""

import os
from pathlib import Path
from typing import NamedTuple


class Workspace(NamedTuple):
    """The folders that `bench` reads and writes, as its global options name them."""

    suites: Path
    results: Path
    data: Path


DEFAULTS = Workspace(Path("suites"), Path("results"), Path("datasets"))
"""Where nothing else is said, as in `bench.cli.app`."""
VARIABLES = {"suites": "BENCH_SUITES", "results": "BENCH_RESULTS", "data": "BENCH_DATA"}
"""The environment's word on each."""


def workspace_of(**given: str | Path | None) -> Workspace:
    """Return the folders: each as given, else as the environment says, else the default."""
    chosen = {k: given.get(k) or os.environ.get(v) for k, v in VARIABLES.items()}
    return DEFAULTS._replace(**{k: Path(v) for k, v in chosen.items() if v})
