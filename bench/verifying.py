"""`bench verify`: done cells are computed again elsewhere, and compared with what is kept."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.analysis.verified import verified
from bench.config.record import Cell
from bench.errors import LaunchError
from bench.launch.run import run_cells
from bench.running import check_data
from bench.select import Selection
from bench.store.export import Results
from bench.store.folder import CellFolder
from bench.store.store import Store

Record = dict[str, Any]


def verify(selection: Selection, sample: int | None, jobs: int | None) -> list[Record]:
    """Compute done cells again in a temporary folder; return how each compares.

    Encoders that several cells share are trained anew. Nothing is written among the results.

    Args:
        selection: its done cells are verified.
        sample: so many of them, the same ones each time; default: all.
        jobs: workers; default: this process.

    Raises:
        BenchError: none of the cells is done, or a data set is missing.
    """
    kept = Results(selection.results)
    there = {kind: set(kept.names(kind)) for kind in {c.experiment for c in selection.cells}}
    done = [cell for cell in selection.cells if cell.id in there[cell.experiment]]
    if not done:
        name = f"{selection.suite.name} at scale {selection.scale}"
        raise LaunchError(f"no cell of {name} is done in {selection.results}: nothing to verify")
    chosen = _drawn(done, sample)
    check_data(chosen)
    with TemporaryDirectory(prefix="bench-verify-") as folder:
        title = f"{selection.suite.name} ({selection.scale}) again"
        states = run_cells(chosen, Store(Path(folder)), title=title, inline=jobs is None, jobs=jobs)
        again = Results(Path(folder))
        errors = [state.message or state.reason for state in states]
        return [_row(*told, kept, again) for told in zip(chosen, errors, strict=True)]


def _drawn(cells: Sequence[Cell], sample: int | None) -> list[Cell]:
    """Return so many of the cells: ids are hashes, so those that come first are drawn at random."""
    ids = {cell.id for cell in sorted(cells, key=lambda cell: cell.id)[:sample]}
    return [cell for cell in cells if cell.id in ids]


def _row(cell: Cell, error: str | None, kept: Results, again: Results) -> Record:
    then = kept.find(cell)
    assert then is not None
    of_table = not CellFolder(kept.root / cell.experiment / cell.id).is_done
    return verified(cell, then, again.find(cell), of_table=of_table, error=error)
