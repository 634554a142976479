"""The folders that a command works in."""

import os
from pathlib import Path
from typing import NamedTuple

from bench.errors import BenchError
from bench.suites.shipped import default_suites


class Workspace(NamedTuple):
    """The folders that `bench` reads and writes, as its global options name them."""

    suites: Path
    results: Path
    data: Path


USUAL_RESULTS = Path("results")
VARIABLES = {"suites": "BENCH_SUITES", "results": "BENCH_RESULTS", "data": "BENCH_DATA"}
"""The environment's word on each."""


def workspace_of(**given: str | Path | None) -> Workspace:
    """Return the folders: each as given, else as the environment says, else the default.

    The defaults are those of `bench.cli.app`.

    Raises:
        BenchError: one is neither text nor a path.
    """
    for name, folder in given.items():
        if folder is not None and not isinstance(folder, str | Path):
            raise BenchError(f"{name} {folder!r}: expected the path of a folder")
    defaults = Workspace(default_suites(), USUAL_RESULTS, Path("datasets"))
    chosen = {k: given.get(k) or os.environ.get(v) for k, v in VARIABLES.items()}
    return defaults._replace(**{k: Path(v) for k, v in chosen.items() if v})
