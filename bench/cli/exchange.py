"""`bench export`, `import` and `merge`: exchange finished cells between results folders."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.evidence import done_of, evidence_of, results_of
from bench.cli.options import (
    AsJson,
    AtScale,
    Matching,
    SeedList,
    SuiteNames,
    answer,
    check_folder,
    under,
)
from bench.cli.selection import Selection, select
from bench.errors import BenchError, NothingMeasured, choices
from bench.files.messages import warn
from bench.record import Json
from bench.report.learning_curves import RECORDED
from bench.results.archives import SUFFIXES, export_archive, unpacked
from bench.results.export_tables import export_cells
from bench.results.merge import MergedFolder
from bench.results.merge import merge as merge_sources
from bench.results.store import State, Store
from bench.results.trackers import TRACKERS, export_histories
from bench.suites.suite import Suite
from bench.text import counted, plain_text

MOST_SHOWN = 40  # cells that are listed
FORMS = ("safetensors", "parquet", "hub", *TRACKERS)
"""What `--as` writes for other programs."""

EncodersOption = Annotated[
    bool, typer.Option("--encoders", help="Include the trained encoders of the cells.")
]


def export(
    context: typer.Context,
    suite: SuiteNames,
    to: Annotated[
        Path,
        typer.Option(help="Folder for CSV tables, or a .tar or .tar.gz file for one archive."),
    ],
    scale: AtScale = None,
    where: Matching = None,
    seeds: SeedList = None,
    encoders: EncodersOption = False,
    histories: Annotated[
        bool,
        typer.Option(
            "--histories",
            help="Export all training histories in full and all arrays. Without this option, "
            "tables contain only the histories and arrays that figures use.",
        ),
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="Format for other programs: safetensors (trained encoders), parquet (cells, "
            "histories, published values and claims), hub (safetensors and parquet, with cards), "
            "tensorboard (histories) or wandb (histories).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write finished cells as CSV tables, as one archive, or for other programs.

    pandas can read the tables. `show`, `compare` and other commands read them with --results. Cells
    are added to existing tables.

    `bench import` reads an archive. Exit status 3: no cell is finished, and none diverged.
    """
    chosen = [select(context.obj, name, scale=scale, where=where, seeds=seeds) for name in suite]
    if form is None:
        record = export_selections(chosen, to, encoders=encoders, histories=histories)
    else:
        if encoders or histories:
            raise BenchError(
                "--as decides what is exported, so it cannot be combined with --encoders "
                "or --histories"
            )
        record = export_as(form, chosen, to, context.obj.data)
    title = ", ".join(selection.title for selection in chosen)
    answer(record, under(title, print_export), as_json)


def import_(
    context: typer.Context,
    file: Annotated[list[Path], typer.Argument(help="Archives that `bench export` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Add the cells of archives to the results.

    Exit status 1: a cell has different results in the archive and in the results folder.
    """
    with ExitStack() as stack:
        folders = [stack.enter_context(unpacked(path)) for path in file]
        _merge(
            [MergedFolder(path, encoders=True) for path in folders], context.obj.results, as_json
        )


def merge(
    context: typer.Context,
    folder: Annotated[list[Path], typer.Argument(help="Other results folders.")],
    encoders: EncodersOption = False,
    as_json: AsJson = False,
) -> None:
    """Add the finished cells of results folders; exit status 1 if any conflicts with one here."""
    _merge([MergedFolder(path, encoders) for path in folder], context.obj.results, as_json)


def _merge(sources: Sequence[MergedFolder], results: Path, as_json: bool) -> None:
    def check_encoder(path: Path) -> None:
        from bench.experiments.encoder_folder import check_encoder as check  # loads torch

        check(path)

    record = asdict(merge_sources(sources, Store(results), check_encoder))
    answer(record, print_merge, as_json)
    raise typer.Exit(bool(record["conflicts"]))


def read_by_figures(suite: Suite) -> set[str]:
    """Return the names of history metrics and arrays on pages: in figures and learning curves."""
    names = set(RECORDED)
    for figure in suite.figures:
        if figure.kind.x in ("record", "array"):
            names |= set(figure.columns)
    return names


def shown_of_one_seed(suite: Suite) -> set[str]:
    """Return the names of the arrays of which figures show those of the lowest seed alone."""
    of_one, of_all = set[str](), set[str]()
    for figure in suite.figures:
        if figure.kind.x == "array":
            (of_one if figure.kind.one_seed else of_all).update((figure.x, figure.y))
    return of_one - of_all


def _check_tables(to: Path, results: Path, encoders: bool) -> None:
    """Refuse a place in which no tables of these results can stand.

    Raises:
        BenchError: `to` names a file or the results folder, or encoders are requested.
    """
    if to.suffix in (".csv", ".gz", ".parquet", ".tgz", ".xz", ".zip"):
        raise BenchError(
            f"--to {to}: the name must be a folder, for CSV tables, or end in .tar or "
            ".tar.gz, for an archive"
        )
    check_folder(to, "export")
    if to.resolve() == results.resolve():
        raise BenchError(
            f"--to {to}: this is the results folder of this command, and tables must "
            "not be written into it; name a different folder"
        )
    if encoders:
        raise BenchError(
            f"--encoders: CSV tables cannot hold encoders; `--to {to}.tar` writes an archive "
            "with encoders, `--as safetensors` writes encoders for other programs"
        )


def export_selections(
    chosen: Sequence[Selection], to: Path, *, encoders: bool, histories: bool = False
) -> Json:
    """Write the finished cells of selections as tables, or as an archive if `to` is .tar.

    Args:
        chosen: the cells to export.
        to: folder, or .tar or .tar.gz file.
        encoders: whether the archive contains trained encoders.
        histories: whether tables contain complete histories and all arrays, not only those in
            figures.

    Raises:
        NothingMeasured: no cell is finished, and none diverged.
        BenchError: the suffix of `to` is unknown, encoders are requested in tables, or all finished
            cells come from exported tables.
    """
    archive = to.name.endswith(SUFFIXES)
    if not archive:
        _check_tables(to, chosen[0].results, encoders)
    cells = list({cell.id: cell for selection in chosen for cell in selection.cells}.values())
    store = chosen[0].store
    diverged = [cell.id for cell in cells if store.folder(cell).divergence() is not None]
    if not diverged:
        check_finished(chosen)
    if not diverged and not any(store.folder(cell).is_done for cell in cells):
        raise BenchError(
            f"--results {chosen[0].results}: this folder holds exported tables, and "
            "only a results folder with cells can be exported; copy the tables, or "
            "name the results folder"
        )
    if archive:
        written = export_archive(cells, store, to, encoders=encoders)
        counts = {"cells": written.cells, "encoders": written.encoders}
        return {**counts, "diverged": diverged, "file": str(to)}
    done = [
        export_cells(
            selection.cells,
            selection.store,
            to,
            suite=selection.suite.name,
            read=None if histories else read_by_figures(selection.suite),
            of_one_seed=() if histories else shown_of_one_seed(selection.suite),
        )
        for selection in chosen
    ]
    return {"cells": sum(done), "diverged": diverged, "folder": str(to)}


def export_as(form: str, chosen: Sequence[Selection], to: Path, data: Path) -> Json:
    """Write encoders, tables or histories of the finished cells for other programs.

    Args:
        form: one of FORMS.
        chosen: the cells to export.
        to: the folder to write into.
        data: the folder of data sets, for pixel statistics.

    Raises:
        NothingMeasured: no cell is finished.
        BenchError: the form is unknown, or its package is missing.
    """
    if form not in FORMS:
        raise BenchError(f"--as {form}: there is no such format. {choices(form, list(FORMS))}")
    check_folder(to, f"--as {form}")
    if form == "parquet":
        return export_parquet(chosen, to)
    if form == "hub":
        return export_hub(chosen, to, data)
    check_finished(chosen)
    if form == "safetensors":
        return {"encoders": len(_export_encoders(chosen, to, data)), "folder": str(to)}
    count = sum(
        export_histories(results_of(s).finished(s.cells), to, form, f"{s.suite.name}-{s.scale}")
        for s in chosen
    )
    return {"histories": count, "folder": str(to)}


def _export_encoders(chosen: Sequence[Selection], to: Path, data: Path) -> list[Json]:
    from bench.experiments.loaded_encoder import export_encoders  # loads torch

    cells = list({cell.id: cell for s in chosen for cell in s.cells}.values())
    configs = export_encoders(cells, chosen[0].store, to, data)
    if not configs:
        titles = ", ".join(selection.title for selection in chosen)
        raise NothingMeasured(
            f"{titles}: {chosen[0].results} holds no trained encoder of these cells"
        )
    return configs


def export_hub(chosen: Sequence[Selection], to: Path, data: Path) -> Json:
    """Write a model repository with the encoders and a dataset repository with the results.

    Args:
        chosen: the cells to export.
        to: folder that receives `results` and, if encoders are stored, `encoders`.
        data: the folder of data sets, for pixel statistics.

    Raises:
        NothingMeasured: a selection has no finished cell.
        BenchError: `pyarrow` or `safetensors` is missing.
    """
    from bench.results.hub import ENCODERS, RESULTS, write_dataset_card, write_model_card

    record = export_parquet(chosen, to / RESULTS)
    title = ", ".join(selection.title for selection in chosen)
    frames = [Path(file).stem for file in record["files"] if file.endswith(".parquet")]
    record["files"].append(str(write_dataset_card(to / RESULTS, title, frames)))
    try:
        configs = _export_encoders(chosen, to / ENCODERS, data)
    except NothingMeasured as why:
        warn(str(why))
        configs = []
    else:
        metrics = {cell.id: done.metrics for s in chosen for cell, done in done_of(s, s.cells)}
        write_model_card(to / ENCODERS, title, configs, metrics)
    return record | {"encoders": len(configs), "folder": str(to)}


def export_parquet(chosen: Sequence[Selection], to: Path) -> Json:
    """Write measured, published and judged values of the selections as Parquet files.

    Raises:
        NothingMeasured: a selection has no finished cell.
        BenchError: `pyarrow` is missing.
    """
    import pandas as pd  # here alone: `import` and `merge` need no frames

    from bench.analysis.frame import history_frame, measured_frame, published_frame, record_frame
    from bench.results.hub import write_parquet

    named = [(s.suite.name, s.scale, done_of(s, s.cells)) for s in chosen]
    papers = {s.paper.id: s.paper for s in chosen}.values()
    frames = {
        "cells": pd.concat([measured_frame(*one) for one in named]),
        "histories": pd.concat([history_frame(*one) for one in named]),
        "published": published_frame(value for paper in papers for value in paper.values),
        "claims": record_frame([j.record() for s in chosen for j in evidence_of(s).judged]),
    }
    title = ", ".join(f"{suite} at scale {scale}" for suite, scale, _ in named)
    files = write_parquet(to, title, frames)
    return {"files": [str(file) for file in files], "folder": str(to)}


def check_finished(chosen: Sequence[Selection]) -> None:
    """Raise NothingMeasured if no cell of the selections is finished."""
    if not any(s.state == State.DONE for c in chosen for s in c.store.states(c.cells)):
        titles = ", ".join(f"{s.suite.name} ({s.scale})" for s in chosen)
        raise NothingMeasured(
            f"{titles}: {chosen[0].results} holds no finished cell, so there is nothing to export"
        )


def print_export(record: Json) -> None:
    """Print the number of exported cells."""
    where = plain_text(str(record.get("folder", record.get("file"))))
    if "cells" in record:
        print(f"{_counted(record['cells'], record.get('encoders'))} exported to {where}")
        if names := record["diverged"]:
            shown = ", ".join(names[:MOST_SHOWN]) + " ..." * (len(names) > MOST_SHOWN)
            print(
                f"{counted(len(names), 'cell')} exported as failed, because they diverged: {shown}"
            )
    elif "files" in record:
        encoders = record.get("encoders")
        also = f" and {counted(encoders, 'encoder')}" if encoders else ""
        print(f"{counted(len(record['files']), 'file')}{also} exported to {where}")
    elif "encoders" in record:
        print(f"{counted(record['encoders'], 'encoder')} exported to {where}")
    else:
        noun = "history" if record["histories"] == 1 else "histories"
        print(f"{record['histories']} {noun} exported to {where}")


def _counted(cells: int, encoders: int | None) -> str:
    text = counted(cells, "cell")
    return f"{text} and {counted(encoders, 'encoder')}" if encoders else text


def print_merge(record: Json) -> None:
    """Print what was added, what was skipped, and why."""
    conflicts, busy = record["conflicts"], record["busy"]
    print(
        f"{_counted(record['added'], record['encoders'])} added; cells skipped: "
        f"{record['same']} identical, {len(conflicts)} in conflict, {len(busy)} busy"
    )
    if record["diverged"]:
        print(f"{counted(record['diverged'], 'cell')} added as failed, because training diverged")
    if record["left_out"]:
        why = plain_text(record["left_out"][0]["why"])
        left_out = counted(len(record["left_out"]), "cell")
        print(f"merge left out {left_out}; the reason for the first cell: {why}")
    for cell in busy[:MOST_SHOWN]:
        print(
            f"busy: a process is computing {cell['experiment']} {cell['id']} in this results folder"
        )
    for cell in conflicts[:MOST_SHOWN]:
        print(
            f"conflict: {cell['experiment']} {cell['id']} has different results in this "
            "results folder and in the folder to merge; this results folder keeps its result"
        )
        for name, (here, there) in {**cell["metrics"], **cell["origin"]}.items():
            print(
                f"  {plain_text(name)} is {json.dumps(here)} in this results folder, but "
                f"{json.dumps(there)} in the folder to merge"
            )
        if cell["arrays"]:
            print(f"  arrays that differ: {', '.join(map(ascii, cell['arrays']))}")
        if cell["history"]:
            print("  the histories differ")
    left = max(len(busy) - MOST_SHOWN, 0) + max(len(conflicts) - MOST_SHOWN, 0)
    if left:
        print(f"... and {counted(left, 'more cell')} (--json lists all)")
