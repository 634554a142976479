"""The command that computes one cell."""

import shlex

from bench.cells.cell import Cell
from bench.cells.groups import telling_settings
from bench.cli.command_line import beside_tables, command_line
from bench.cli.selection import command_words
from bench.cli.workspace import Workspace
from bench.suites.expand import expand
from bench.suites.load import known_suites, load_suite
from bench.suites.suite import Suite
from bench.text import value_text


def cell_command(cell: Cell, workspace: Workspace) -> str:
    """Return what computes a cell: of the first suite that has it, suites of tables first.

    Raises:
        BenchError: a suite cannot be read.
    """
    suites = [(load_suite(path), path) for path in known_suites(workspace.suites).values()]
    for suite, path in sorted(suites, key=lambda pair: not _is_of_table(pair[0])):
        if suite.experiment != cell.experiment:
            continue
        for scale in suite.scales:
            cells = expand(suite, scale, path, seeds=[cell.seed])
            if any(other.id == cell.id for other in cells):
                return _command(cell, suite, scale, cells, workspace)
    return "`bench run` of the suite that has this cell"


def _is_of_table(suite: Suite) -> bool:
    return any(artifact.startswith("table") for artifact in suite.reproduces[:1])


def _command(cell: Cell, suite: Suite, scale: str, cells: list[Cell], workspace: Workspace) -> str:
    alike = [other for other in cells if other.experiment == cell.experiment]
    rules = [(name, cell.settings[name]) for name in telling_settings(alike) if name != "seed"]
    if len(alike) < len(cells):  # baselines beside it
        rules.append(("baseline", None))
    settings = [f"{k}={v!r}" if isinstance(v, float) else f"{k}={value_text(v)}" for k, v in rules]
    words = [f"--seeds {cell.seed}", *(f"--where {shlex.quote(text)}" for text in settings)]
    at = beside_tables(workspace)  # which hold no encoder, so that they are not had
    return f"`{command_line(at, 'run', command_words(suite.name, scale), *words)}`"
