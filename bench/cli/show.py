"""`bench show`: measured values as the suite's tables."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from bench.analysis.beside import CellBeside, cells_beside, lines_by_artifact, numbers_words
from bench.cells.baseline import without_baselines
from bench.cli.evidence import done_of, done_text, print_added_later, results_of, rooms_of
from bench.cli.options import AsJson, AtScale, Changes, Matching, SeedList, SuiteName, answer
from bench.cli.selection import Selection, select
from bench.cli.terminal import print_doubts, print_line, print_table
from bench.record import Json
from bench.report.measured import (
    best_lines,
    made_tables,
    measured_records,
    measured_table,
    shown_tables,
)
from bench.results.fitness import Failed
from bench.results.reader import Done
from bench.results.store import State
from bench.suites.metric_words import metric_words
from bench.suites.others import Counterpart
from bench.suites.shipped import reference_results
from bench.suites.suite import MeasuredTable, with_stand_ins
from bench.text import counted, value_text

MOST_LINES = 40  # of tables behind a run; `show` prints all


def show(
    context: typer.Context, suite: SuiteName, scale: AtScale = None, where: Matching = None,
    seeds: SeedList = None, changes: Changes = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print measured values as the suite's tables, with or without published values.

    Exit status 3: no cell is finished.
    """
    selection = select(context.obj, suite, scale=scale, where=where, seeds=seeds, changes=changes)
    tables, done, failed = measured_of(selection)
    rooms = rooms_of(selection, done)
    beside = cells_beside(selection.suite, without_baselines(selection.cells), selection.paper)
    entries = [
        (record, others_of(table, record, beside))
        for table in tables
        for record in measured_records(table, done, rooms, failed)
    ]
    notes = others_lines(entries, selection)
    answer(
        [record | {"others": [one.record() for one in found]} for record, found in entries],
        lambda _: print_measured(selection, tables, done, failed, notes=notes),
        as_json,
    )


def others_of(
    table: MeasuredTable, record: Json, beside: Sequence[CellBeside]
) -> list[Counterpart]:
    """Return other projects' numbers, on the same data set, for an entry's published value.

    Args:
        table: a table of the suite.
        record: an entry of the table, see `measured_records`.
        beside: cells of published values at the scale.
    """
    place = table.where | record["row"] | record["column"]
    found = {
        (other.row.source.id, other.row.position): other
        for one in beside
        if one.metric == table.metric
        and all(one.cell.settings.get(name) == value for name, value in place.items())
        for other in one.others
    }
    return list(found.values())


def others_lines(
    entries: Sequence[tuple[Json, Sequence[Counterpart]]], selection: Selection
) -> list[str]:
    """Return one line per metric and table row with other projects' numbers.

    Args:
        entries: entries of the tables, each with the numbers of `others_of`.
        selection: the measured cells.
    """
    rows = [record["row"] for record, _ in entries]
    names = dict.fromkeys(name for row in rows for name in row)
    varied = [n for n in names if len({repr(row.get(n)) for row in rows}) > 1]
    places = []
    for record, found in entries:
        if not found:
            continue
        row = {n: v for n in varied if (v := record["row"].get(n)) is not None}
        texts = [metric_words(record["metric"]), value_text(row), value_text(record["column"])]
        head, place = (texts[:2], texts[2]) if record["column"] else (texts[:1], texts[1])
        places.append((", ".join(filter(None, head)), place, numbers_words(found)))
    if not places:
        return []
    how = (
        "Other projects measured these numbers on the same data set; `bench others "
        f"{selection.suite.name}` lists how each "
    )
    return [*lines_by_artifact(places), f"{how}protocol differs from the paper's."]


def measured_of(selection: Selection) -> tuple[list[MeasuredTable], Done, Failed]:
    """Return the non-empty tables, and the finished and failed cells, without baselines.

    Raises:
        NothingMeasured: no cell of the selection is finished.
    """
    cells = without_baselines(selection.cells)
    done = done_of(selection, cells)
    suite = with_stand_ins(selection.suite, selection.scale)
    failed = results_of(selection).failed(cells, done)
    tables = [table for table in shown_tables(suite, cells) if measured_records(table, done)]
    return tables or made_tables(suite, cells), done, failed


def print_measured(
    selection: Selection,
    tables: Sequence[MeasuredTable],
    done: Done,
    failed: Failed,
    most_lines: int | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print the progress, the tables and the next command.

    Args:
        selection: the measured cells.
        tables: non-empty tables.
        done: the finished cells.
        failed: the failed cells.
        most_lines: maximum number of lines; further tables are omitted, but the first is always
            printed.
        notes: lines to print before the command.
    """
    scale = selection.suite.scales[selection.scale]
    of = len(without_baselines(selection.cells))
    print_line(f"{selection.title} ({scale.protocol}: {scale.what}): {done_text(done, of, failed)}")
    lines, left_out, rooms = 0, 0, rooms_of(selection, done)
    for asked in tables:
        table = measured_table(asked, done, rooms, failed)
        if table is None:
            continue
        lines += len(table.rows) + 3
        if most_lines is not None and lines > most_lines and lines > len(table.rows) + 3:
            left_out += 1
            continue
        print()
        print_table(table)
    print()
    for line in best_lines(with_stand_ins(selection.suite, selection.scale), done):
        print_line(line)
    if left_out:
        print_line(f"`{selection.command('show')}` prints {counted(left_out, 'more table')}")
    print_doubts(done)
    print_added_later(selection, done)
    if {1} == {r["n"] for table in tables for r in measured_records(table, done)}:
        first = min(cell.seed for cell, _ in done)
        seeds = ",".join(str(first + i) for i in range(3))
        print_line(f"One seed gives no confidence interval; `--seeds {seeds}` computes more seeds.")
    for note in notes:
        print_line(note)
    missing = of - len(done) - len(failed)
    if missing and (elsewhere := given_elsewhere(selection, done)):
        print_line(f"These tables leave out {counted(elsewhere, 'cell')} of the folders of --have.")
        missing -= elsewhere
    if missing and done and not results_of(selection).has(done[0][0]):
        selection = replace(selection, have=(*selection.have, _nearby(reference_results())))
    print_line(f"Next: {next_command(selection, missing, len(failed))}")


def _nearby(path: Path) -> Path:
    """Return a path relative to the current folder if it lies inside."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def given_elsewhere(selection: Selection, done: Done) -> int:
    """Return how many cells, baselines left out, only the folders of `--have` hold."""
    here = {cell.id for cell, _ in done}
    cells = [c for c in without_baselines(selection.cells) if c.id not in here]
    states = selection.store.states(cells) if selection.have else []
    return sum(state.state is State.DONE for state in states)


def next_command(selection: Selection, missing: int, failed: int) -> str:
    """Return the most useful next command: run missing cells, print verdicts, or write pages.

    Args:
        selection: the selected cells.
        missing: number of cells that `run` would compute.
        failed: number of failed cells, which `run` does not repeat.
    """
    suite, whole_suite = selection.suite, selection.whole
    published = suite.scales[selection.scale].protocol == "published"
    if missing:
        return f"`{selection.command('run')}` computes the remaining cells"
    if failed:
        return f"`{selection.command('run')} --retry-failed` computes failed cells again"
    if selection.changes:
        return f"`{whole_suite.command('show')}` shows the suite's own cells"
    if published and suite.compare:
        return f"`{whole_suite.command('compare')}` compares the results with the published values"
    if suite.claims and suite.scales[selection.scale].no_verdict is None:
        return f"`{whole_suite.command('claims')}` judges the paper's claims by the results"
    return f"`{whole_suite.command('report')}` writes pages and figures of the results"
