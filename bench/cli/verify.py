"""`bench verify`: recompute finished cells and compare them with the stored results."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from bench.analysis.drift import OTHER_MODEL, tells_processors, verified
from bench.cells.cell import Cell
from bench.cli.options import AsJson, AtScale, Matching, SeedList, SuiteName, answer, under
from bench.cli.own_code import Trust, check_own_code, trust_folders
from bench.cli.run import check_data
from bench.cli.selection import Selection, select
from bench.errors import NothingMeasured
from bench.launch.run import run_cells
from bench.record import Json
from bench.results.folder import CellFolder
from bench.results.reader import Results
from bench.results.store import Store
from bench.text import counted, plain_text

MOST_SHOWN = 40  # cells that are listed


def verify(
    context: typer.Context, suite: SuiteName, scale: AtScale = None, where: Matching = None,
    seeds: SeedList = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Verify only this many cells, chosen at random.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of workers; default: compute in this process.")
    ] = None,
    trust: Trust = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Recompute finished cells; exit status 1 unless all are bitwise identical."""
    trust_folders(trust)
    selection = select(context.obj, suite, scale=scale, where=where, seeds=seeds)
    records = recompute(selection, context.obj.data, sample, jobs)
    answer(records, under(selection.title, print_verified), as_json)
    raise typer.Exit(not all(record["same"] for record in records))


def recompute(selection: Selection, data: Path, sample: int | None, jobs: int | None) -> list[Json]:
    """Recompute finished cells in a temporary folder; return one comparison per cell.

    Shared encoders are trained again. The results folder is not changed.

    Args:
        selection: selection whose finished cells are recomputed.
        data: the folder of data sets.
        sample: number of cells to recompute, the same ones each time; default: all.
        jobs: number of workers; default: this process only.

    Raises:
        NothingMeasured: no cell is finished.
        BenchError: a data set is missing.
    """
    kept = Results(selection.results)
    there = {kind: set(kept.names(kind)) for kind in {c.experiment for c in selection.cells}}
    done = [cell for cell in selection.cells if cell.id in there[cell.experiment]]
    if not done:
        raise NothingMeasured(
            f"{selection.title}: no cell is finished in {selection.results}, so there "
            "is nothing to verify"
        )
    chosen = _drawn(done, sample)
    check_data(chosen, data)
    check_own_code(chosen)
    with TemporaryDirectory(prefix="bench-verify-") as folder:
        title = f"{selection.suite.name} ({selection.scale}) again"
        ends = run_cells(chosen, Store(Path(folder)), data, title=title, jobs=jobs or 0)
        again = Results(Path(folder))
        errors = [end.message or end.reason for end in ends]
        return [_row(*pair, kept, again) for pair in zip(chosen, errors, strict=True)]


def _drawn(cells: Sequence[Cell], sample: int | None) -> list[Cell]:
    """Return so many of the cells: ids are hashes, so those that come first are drawn at random."""
    ids = {cell.id for cell in sorted(cells, key=lambda cell: cell.id)[:sample]}
    return [cell for cell in cells if cell.id in ids]


def _row(cell: Cell, error: str | None, kept: Results, again: Results) -> Json:
    then = kept.find(cell)
    assert then is not None
    of_table = not CellFolder(kept.root / cell.experiment / cell.id).is_done
    return verified(cell, then, again.find(cell), of_table=of_table, error=error)


def print_verified(records: Sequence[Json]) -> None:
    """Print the cells that differ, by how much, and other differences."""
    other = [record for record in records if not record["same"]]
    for record in other[:MOST_SHOWN]:
        note = plain_text(_drift(record))
        print(f"cell {record['id']} of {record['experiment']}, seed {record['seed']}: {note}")
        for name, m in record["metrics"].items():
            stored, new = json.dumps(m["then"]), json.dumps(m["now"])
            print(f"  {name}: the stored value is {stored}, the new value is {new}")
        for name, (then, now) in record["versions"].items():
            print(plain_text(f"  {name}: stored {then}, now {now}"))
    if len(other) > MOST_SHOWN:
        print(f"... and {counted(len(other) - MOST_SHOWN, 'more cell')} (--json lists all)")
    tables = sum(record["only_metrics"] for record in records)
    note = (
        f" ({tables} from exported tables, for which only the metrics are compared)"
        if tables
        else ""
    )
    same = len(records) - len(other)
    cells = counted(len(records), "cell")
    print(f"{cells} computed again{note}: {same} gave results identical to the bit")


def _drift(record: Json) -> str:
    if record["error"]:
        return f"the cell failed when it was computed again: {record['error']}"
    parts = [*(["history"] if record["history"] else []), *record["arrays"]]
    text = f"the largest difference of a metric is {record['largest_difference']:.3g}"
    if parts:
        text += f"; these records differ: {', '.join(parts)}"
    elif not record["only_metrics"] and not record["versions"]:
        text += "; only the summary file differs, so it may have been edited"
    if not record["same_model"] and not tells_processors(record["versions"]):
        text += f"; the processor's model is not recorded: {OTHER_MODEL}"
    return text
