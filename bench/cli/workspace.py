"""Folders that a command uses, and commands that messages suggest."""

import os
import shlex
from pathlib import Path
from typing import NamedTuple

from bench.errors import BenchError
from bench.results.names import table_files
from bench.suites.shipped import default_suites


class Workspace(NamedTuple):
    """The folders that `bench` reads and writes, set by global options."""

    suites: Path
    results: Path
    data: Path


USUAL_RESULTS = Path("results")
VARIABLES = {"suites": "BENCH_SUITES", "results": "BENCH_RESULTS", "data": "BENCH_DATA"}
"""The environment variable that sets each folder."""


def workspace_of(**given: str | Path | None) -> Workspace:
    """Return the folders: the given one, else from the environment, else the default.

    Raises:
        BenchError: a folder is empty, or neither text nor a path.
    """
    for name, folder in given.items():
        if folder is not None and not isinstance(folder, str | Path):
            raise BenchError(f"{name} {folder!r}: expected the path of a folder")
        if folder == "":
            raise BenchError(
                f"{name} '': the path of a folder is missing; '.' means the current folder"
            )
    defaults = Workspace(default_suites(), USUAL_RESULTS, Path("datasets"))
    chosen = {k: given.get(k) or os.environ.get(v) for k, v in VARIABLES.items()}
    return defaults._replace(**{k: Path(v) for k, v in chosen.items() if v})


def check_link(path: Path, named: str) -> None:
    """Check that a folder is not a broken link.

    Args:
        path: path of the folder.
        named: start of the error message.

    Raises:
        BenchError: the folder is a broken link.
    """
    if path.is_symlink() and not path.exists():
        raise BenchError(f"{named}: this is a link to {os.readlink(path)}, which does not exist")


def command_line(workspace: Workspace, verb: str, *words: str) -> str:
    """Return a command with the options for folders other than the defaults.

    `run` never writes to exported tables. Their cells count as finished (`--have`), and new results
    go to another folder.

    Args:
        words: arguments after the command name, quoted for the shell.
    """
    have = ""
    if verb == "run" and table_files(workspace.results):
        have = f"--have {shlex.quote(str(workspace.results))}"
        workspace = beside_tables(workspace)
    usual = workspace_of()
    folders = [
        f"--{name} {shlex.quote(str(folder))}"
        for name, folder in workspace._asdict().items()
        if folder != getattr(usual, name)
    ]
    return " ".join(word for word in ["bench", *folders, verb, *words, have] if word)


def beside_tables(workspace: Workspace) -> Workspace:
    """Return the folders to compute in, with a results folder instead of exported tables."""
    if not table_files(workspace.results):
        return workspace
    usual = workspace.results == USUAL_RESULTS
    return workspace._replace(results=Path("own-results") if usual else USUAL_RESULTS)
