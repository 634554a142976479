"""`bench logs`: a cell's attempts, the reason of a failure, and training records."""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from typing import Annotated, Any

import typer

from bench.cells import CELLS
from bench.cli.options import AsJson, answer
from bench.cli.workspace import Workspace
from bench.errors import BenchError, choices
from bench.launch.progress import duration
from bench.record import Json
from bench.results.attempts import Attempt, all_attempts
from bench.results.digests import TRAINED
from bench.results.folder import CellFolder, is_id
from bench.results.inspect import check_cell
from bench.text import plain_text

FOLLOW_EVERY_S = 1.0
FIRST = ("step", "epoch", "train_loss", "loss", "surrogate")  # of a record


def logs(
    context: typer.Context,
    cell: Annotated[
        str, typer.Argument(help="The cell's id, or the first characters of it; see `bench plan`.")
    ],
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep printing new records until the attempt ends.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print a cell's attempts, the log of the last failure, and what its training recorded."""
    if follow and as_json:
        raise BenchError(
            "--follow and --json cannot be combined: --follow prints records as they "
            "are written, --json one document"
        )
    folder = find_folder(context.obj, cell)
    record = describe_logs(folder)
    answer(record, print_logs, as_json)
    if follow:
        _follow(folder, len(record["history"]))


def find_folder(workspace: Workspace, beginning: str) -> CellFolder:
    """Return the folder of the cell whose id starts with these characters.

    Raises:
        BenchError: no started cell has such an id, or several have.
    """
    where = f"cell {beginning}"
    if re.fullmatch("[0-9a-f]{1,16}", beginning) is None:
        raise BenchError(
            f"{where}: a cell's id has 16 characters, each 0-9 or a-f; give the whole id or "
            "its first characters"
        )
    kinds = (workspace.results / kind for kind in CELLS)
    found = [p for p in chain(*(kind.glob(f"{beginning}*") for kind in kinds)) if is_id(p.name)]
    if not found:
        raise BenchError(
            f"{where}: no cell with this id was started in {workspace.results}; `bench "
            "plan SUITE --json` lists the ids of a suite"
        )
    if len(found) > 1:
        names = sorted(path.name for path in found)
        raise BenchError(
            f"{where}: {len(found)} cells have ids that begin with these characters. "
            f"{choices(beginning, names)}"
        )
    return CellFolder(found[0])


def describe_logs(folder: CellFolder) -> Json:
    """Return the cell's attempts and records.

    Raises:
        StoreError: the folder has no cell that this version of `bench` can read.
    """
    cell = check_cell(folder)
    attempts = all_attempts(folder.attempts)
    return {
        "id": cell.id,
        "experiment": cell.experiment,
        "training": cell.training_id,
        "settings": cell.known,
        "attempts": [_attempt(attempt) for attempt in attempts],
        "log": _log_of(attempts[-1]) if attempts else None,
        "history": _history(folder, cell.training_id),
    }


def _attempt(attempt: Attempt) -> Json:
    record = attempt.record
    kept = {name: record[name] for name in ("attempt", "began", "ended", "launch")}
    told = {"reason": record["reason"], "message": record["message"]}
    return kept | {"host": attempt.owner.host, "state": attempt.state} | told


def _log_of(attempt: Attempt) -> str | None:
    """Return what the attempt logged, such as the traceback of its failure."""
    with suppress(OSError):
        return attempt.path.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
    return None


def _history(folder: CellFolder, training: str | None) -> list[dict[str, float]]:
    """Return the cell's own records; without any, those of the training that it shares."""
    records = folder.history()
    if records or training is None:
        return records
    return CellFolder(folder.path.parent.parent / TRAINED / training).history()


def print_logs(record: Json) -> None:
    """Print attempts, log and records, one per line."""
    training = f", training {record['training']}" if record["training"] else ""
    print(f"{record['experiment']} {record['id']}{training}")
    for attempt in record["attempts"]:
        print(f"  {_attempt_text(attempt)}")
    _print_log(record["log"])
    _print_records(record["history"])


def _print_log(log: str | None) -> None:
    for line in (log or "").splitlines():
        print(f"    {plain_text(line)}")


def _attempt_text(attempt: Mapping[str, Any]) -> str:
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(attempt["began"]))
    took = (attempt["ended"] or time.time()) - attempt["began"]
    lasted = "" if attempt["state"] == "killed" else f", {duration(max(0.0, took))}"
    told = ": ".join(plain_text(t) for t in (attempt["reason"], attempt["message"]) if t)
    text = f"attempt {attempt['attempt']}: {attempt['state']}, began {began}{lasted}"
    return f"{text} on {plain_text(attempt['host'])}" + (f" ({told})" if told else "")


def _print_records(records: list[dict[str, float]]) -> None:
    for record in records:
        others = sorted(name for name in record if name not in FIRST)
        names = [*(name for name in FIRST if name in record), *others]
        print(", ".join(f"{name} {record[name]:.5g}" for name in names), flush=True)


def _follow(folder: CellFolder, printed: int) -> None:
    """Print records as they come, until no attempt runs; say then how the last one ended."""
    training = check_cell(folder).training_id
    while True:
        last = folder.last_attempt()
        records = _history(folder, training)
        _print_records(records[printed:])
        printed = len(records)
        if last is None or last.state != "running":
            break
        time.sleep(FOLLOW_EVERY_S)
    if last is not None:
        print(_attempt_text(_attempt(last)))
        _print_log(_log_of(last))
