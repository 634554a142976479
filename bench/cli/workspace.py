"""The folders that a command works in."""

from pathlib import Path
from typing import NamedTuple


class Workspace(NamedTuple):
    """The folders that `bench` reads and writes, as its global options name them."""

    suites: Path
    results: Path
    data: Path
