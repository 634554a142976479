"""Results made by hand: cells that are done without having been computed."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.files.atomic import to_json, write_whole
from bench.results.attempts import begin_attempt
from bench.results.digests import write_digests
from bench.results.owner import Owner
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite

ORIGIN = {"code": {"commit": "abc"}, "packages": {"torch": "2.6.0"}, "python": "3.11.2"}


def cells_of(path: Path, scale: str) -> list[Cell]:
    return expand(load_suite(path), scale, path)


def finish(
    root: Path,
    cells: Sequence[Cell],
    metrics: Callable[[Any], dict[str, float]],
    origin: dict[str, Any] = ORIGIN,
) -> None:
    """Let the cells be done in a results folder, with these metrics."""
    store = Store(root)
    for cell in cells:
        folder = store.folder(cell)
        write_whole(folder.cell_file, to_json(cell.model_dump(mode="json")))
        folder.finish(metrics(cell), {}, origin)


def fail(root: Path, cells: Sequence[Cell], reason: str = "diverged") -> None:
    """Let the cells' last attempt be a failed one in a results folder."""
    for cell in cells:
        folder = Store(root).folder(cell)
        write_whole(folder.cell_file, to_json(cell.model_dump(mode="json")))
        attempt = begin_attempt(folder.attempts, Owner.me(), "", retry_before=0.0)
        assert attempt is not None
        attempt.end("failed", reason, "the loss is nan")


def alter(file: Path, **changes: Any) -> None:
    """Change keys of a file of a finished cell, and its digest with it: sound, but other."""
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    write_digests(file.parent, (file.parent / "summary.json").read_bytes())


def states(store: Store, cells: Sequence[Cell]) -> list[str]:
    return [str(state.state) for state in store.states(cells)]
