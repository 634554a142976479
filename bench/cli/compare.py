"""`bench compare`: compare measured with published values, or two results folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bench.analysis.beside import effect_lines, value_lines
from bench.analysis.drift import OTHER_MODEL, moved, only_model
from bench.analysis.evidence import Evidence
from bench.analysis.verdicts import Verdict
from bench.cells.cell import Cell
from bench.cli.evidence import done_text, evidence_of, print_added_later
from bench.cli.options import AsJson, AtScale, Matching, SeedList, answer
from bench.cli.selection import Selection, select
from bench.cli.terminal import print_doubts, print_line, print_rows, print_table
from bench.errors import BenchError, NothingMeasured
from bench.record import Json
from bench.report.effects import EFFECTS_LEGEND, artifact_effects, other_data_table
from bench.report.tables import (
    LEGEND,
    Entry,
    Table,
    covered_lines,
    make_tables,
    summary_line,
    tolerance_lines,
)
from bench.results.reader import Results
from bench.suites.load import known_suites
from bench.text import counted, number_words, plain_text, value_text

MOST_SHOWN = 40  # groups that are listed
MOST_NAMED = 3  # cells in a line
NOTHING_MEASURED = 3  # exit status


def compare(
    context: typer.Context,
    what: Annotated[
        list[str], typer.Argument(metavar="SUITE | A B", help="A suite, or two results folders.")
    ],
    other: Annotated[
        Path | None,
        typer.Option("--with", help="Folder of results to compare with, instead of the paper."),
    ] = None,
    effects: Annotated[
        bool,
        typer.Option("--effects", help="Compare measured and published effects, at any scale."),
    ] = False,
    scale: AtScale = None, where: Matching = None, seeds: SeedList = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print measured next to published values, or compare two results folders.

    With two results folders, or two folders of exported tables: list the cells that differ, the
    sizes of the differences, and whether different seeds explain them.

    Exit status 1: a value or mean differs by more than allowed. Exit status 3: no published value
    was measured, or the two folders have no cell in common.
    """
    name, *more = what
    if more and (len(more) > 1 or other or effects or scale or where or seeds):
        raise BenchError(
            "compare needs either a suite, with any options, or two results folders without options"
        )
    if more:
        if not Path(name).exists() and name in known_suites(context.obj.suites):
            raise BenchError(
                f"compare {name} {more[0]}: two arguments are read as two results folders. "
                "Name one suite only, or compare methods with `bench versus`"
            )
        drift = describe_drift(Path(name), Path(more[0]))
        answer(drift, print_drift, as_json)
        raise typer.Exit(_drift_status(drift))
    selection = select(context.obj, name, scale=scale, where=where, seeds=seeds)
    if other is not None and effects:
        raise BenchError(
            "--effects compares results with the paper, so it cannot be combined with --with"
        )
    if other is not None:
        drift = describe_drift(selection.results, other, selection.cells)
        answer(drift, print_drift, as_json)
        raise typer.Exit(_drift_status(drift))
    evidence = evidence_of(selection)
    if effects:
        effect_records = [e.record() for e in evidence.effects]
        effect_records += [e.record() for e in evidence.other_data]
        answer(effect_records, lambda _: print_effects(evidence), as_json)
        measured = any(e["measured"] is not None for e in effect_records)
        raise typer.Exit(0 if measured else NOTHING_MEASURED)
    records = [row.record() for row in evidence.compared]
    answer(records, lambda _: print_comparison(evidence, selection), as_json)
    measured = any(record["measured"] is not None for record in records)
    differs = any(row.verdict.refutes for row in evidence.compared)
    raise typer.Exit(int(differs) if measured else NOTHING_MEASURED)


def describe_drift(here: Path, there: Path, cells: Sequence[Cell] | None = None) -> Json:
    """Return the differences between two results folders, for these or all cells.

    Args:
        here: a results folder.
        there: another results folder.
        cells: the cells to compare; None means all.

    Raises:
        StoreError: a folder does not contain results.
        NothingMeasured: neither folder has a finished cell.
    """
    only = None if cells is None else [(cell.experiment, cell.id) for cell in cells]
    record = moved(Results(here), Results(there), only).record()
    if not (record["same"] or record["moved"] or record["only_here"] or record["only_there"]):
        raise NothingMeasured(
            f"{here}, {there}: neither folder has a finished cell that could be compared"
        )
    return record


def _drift_status(record: Json) -> int:
    if not (record["same"] or record["moved"]):
        return NOTHING_MEASURED
    return int(bool(record["beyond_noise"]))


def print_comparison(evidence: Evidence, selection: Selection) -> None:
    """Print the tables in the paper's layout, with verdicts.

    Args:
        evidence: evidence of the selected cells.
        selection: the selected cells.
    """
    suite = evidence.suite
    what = suite.scales[evidence.scale].what
    print_line(f"{suite.name} at scale {evidence.scale}: {what}")
    hint = "" if evidence.done else f"; `{selection.command('run')}` computes them"
    print(done_text(evidence.done, len(evidence.cells), evidence.failed) + hint)
    if evidence.done and not any(row.measured for row in evidence.compared):
        _print_why_not(evidence, selection)
    if any(row.measured for row in evidence.compared):
        _print_values(evidence)
    if not evidence.is_published and any(e.measured for e in evidence.all_effects):
        print(
            "Values of a reduced scale cannot be compared with published values, but effects can:"
        )
        print_effects(evidence)
    print_others(value_lines(evidence.compared), suite.name)
    print_added_later(selection, evidence.done)


def print_effects(evidence: Evidence) -> None:
    """Print the effects of each artifact and the effects on other data sets."""
    by_artifact, other = artifact_effects(evidence.effects), evidence.other_data
    beside = [
        effects.table
        for effects in by_artifact.values()
        if any(row.printed and row.measured for row in effects.rows)
    ]
    for table in beside:
        print()
        print_table(table)
    if beside:
        print()
        print_line(f"{EFFECTS_LEGEND}.")
    if other:
        print()
        print_table(other_data_table(other))
    if not beside and not other and evidence.all_effects:
        print(f"None of the published effects was measured at scale {evidence.scale}.")
    elif not evidence.all_effects:
        print(
            "The suite names no baseline row, so no effects can be computed from the "
            "published values."
        )
    print_others(effect_lines(evidence.effects), evidence.suite.name)


def print_others(lines: Sequence[str], suite: str) -> None:
    """Print other projects' numbers and the command that shows their protocols.

    Args:
        lines: results of `value_lines` and `effect_lines`.
        suite: suite with the published numbers.
    """
    for line in lines:
        print_line(line)
    if lines:
        print_line(
            "Numbers from other projects do not enter any verdict. The two runs of a "
            "contrast also differ in settings that are not compared. `bench others "
            f"{suite}` lists how each protocol differs from the paper's."
        )


def _print_values(evidence: Evidence) -> None:
    """Print tables of measured next to published values, what they mean, and what deviates."""
    suite = evidence.suite
    layouts = {c.artifact: c.layout for c in reversed(suite.compare)}
    tables = make_tables(evidence.compared, layouts)
    beside = [table for table in tables if _has_measured(table)]
    for table in beside:
        print()
        print_table(table)
    print()
    if left_out := [table.title for table in tables if table not in beside]:
        print_line(f"Nothing was measured for these published tables: {'; '.join(left_out)}")
    print_line(LEGEND)
    print_line(summary_line(evidence.compared))
    for note in tolerance_lines(evidence.compared):
        print_line(f"tolerance of {note}")
    for note in covered_lines(evidence.compared):
        print_line(note)
    print_doubts(evidence.done)
    if deviations := evidence.deviations:
        print_line(f"Settings that deviate from the paper: {'; '.join(deviations)}")


def _has_measured(table: Table) -> bool:
    return any(
        entry.verdict not in (None, Verdict.NOT_MEASURED) for row in table.rows for entry in row
    )


def _print_why_not(evidence: Evidence, selection: Selection) -> None:
    """Print why no number stands next to a printed one, and which verb has an answer."""
    suite, scale = evidence.suite, evidence.suite.scales[evidence.scale]
    why = "The suite compares no published value"
    if suite.compare:
        why = (
            f"No finished cell of this scale ({scale.protocol}) has the settings of any "
            f"of the {len(evidence.compared)} published values"
        )
    answers = [f"`{selection.command('show')}` prints what was measured"]
    if suite.claims and scale.no_verdict is None:
        answers.append(f"`{selection.command('claims')}` judges the paper's claims")
    print_line(f"{why}; {', '.join(answers)}.")


def print_drift(record: Json) -> None:
    """Print the cells that differ between two results, groups beyond noise first."""
    print(
        f"cells: {record['same']} identical to the bit, {len(record['moved'])} different, "
        f"{record['only_here']} only in the first folder, "
        f"{record['only_there']} only in the second"
    )
    _print_causes(record["moved"])
    for metric in record["metrics"]:
        print(
            f"{metric['metric']} differs in {counted(metric['moved'], 'cell')}, by at most "
            f"{metric['largest_difference']:.3g}"
        )
    for cell in (c for c in record["moved"] if not c["metrics"]):
        parts = [*(["history"] if cell["history"] else []), *cell["arrays"]]
        text = plain_text(", ".join(parts))
        print(
            f"{cell['experiment']} {cell['id']}: both folders have the same metrics, but "
            f"these records differ: {text}"
        )
    groups = record["groups"]
    if groups:
        rows = [_group_row(group, groups) for group in groups[:MOST_SHOWN]]
        heads = ["significant", "metric", "settings", "seeds", "first", "second"]
        print_rows("", [*heads, "difference [95 % interval]"], rows)
        print(
            f"{record['beyond_noise']} of {len(groups)} differences between means are "
            "significant"
            + (f"; {len(groups) - MOST_SHOWN} more with --json" if len(groups) > MOST_SHOWN else "")
        )
        if withdrawn := sum(bool(group["corrected"]) for group in groups):
            print_line(
                f"{withdrawn} more would be significant without the correction for "
                f"{counted(record['tests'], 'test')} (Benjamini and Hochberg, 5 %)"
            )


def _print_causes(cells: Sequence[Json]) -> None:
    """Print of how many cells nothing recorded, or the processor's model alone, explains it."""
    odd = [cell for cell in cells if not cell["versions"]]
    if odd:
        names = ", ".join(cell["id"] for cell in odd[:MOST_NAMED])
        names += " ..." if len(odd) > MOST_NAMED else ""
        print(
            f"{counted(len(odd), 'cell')} with different results although code, "
            "packages and machine match: either the results were edited or the "
            f"computation is not deterministic ({names}). `bench verify` shows which "
            "results can be repeated."
        )
    if unknown := sum(not cell["same_model"] for cell in odd):
        print(
            f"for {unknown} of the {len(odd)} cells with different results, at least one folder "
            f"does not record the processor's model: {OTHER_MODEL}"
        )
    if models := sum(only_model(cell["versions"]) for cell in cells):
        print(
            f"{counted(models, 'cell')} gave different results on processors that differ only "
            f"in model or vector instructions: {OTHER_MODEL}"
        )


def _group_row(group: Json, groups: Sequence[Json]) -> list[Entry]:
    varied = {
        k: v
        for k, v in group["settings"].items()
        if any(other["settings"].get(k) != v for other in groups)
    }
    beyond = "one seed" if group["p_value"] is None else "yes" if group["beyond_noise"] else "no"
    beyond += ", corrected" if group["corrected"] else ""
    settings = ", ".join(f"{k} {value_text(v)}" for k, v in varied.items())
    return [
        Entry(beyond),
        Entry(group["metric"]),
        Entry(settings or group["experiment"]),
        Entry(f"{group['n_here']}, {group['n_there']}"),
        Entry(f"{group['here']:.5g}"),
        Entry(f"{group['there']:.5g}"),
        Entry(number_words(group["difference"], group["low"], group["high"])),
    ]
