"""What each verb finds out, as the record of its `--json`."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.config.environment import data_root
from bench.config.grid import expand
from bench.config.load import load_suite, suite_paths
from bench.config.presets import presets
from bench.config.record import Cell
from bench.errors import BenchError, LaunchError, choices
from bench.launch.predict import predict
from bench.launch.progress import Progress
from bench.launch.run import EXECUTORS, run_cells
from bench.launch.slots import slots
from bench.select import Selection
from bench.store.store import CellState, State, Store

WATCH_EVERY_S = 2.0

Record = dict[str, Any]


def all_suites(folder: Path, scale: str | None) -> list[str]:
    """Return the names of all suites that have the scale."""
    found = suite_paths(folder)
    return [n for n, path in found.items() if scale is None or scale in load_suite(path).scales]


def describe_suites(suites: Path, results: Path) -> list[Record]:
    """Return every suite with its scales; one that cannot be read is told on standard error."""
    store, records = Store(results), []
    for name, path in suite_paths(suites).items():
        try:
            suite = load_suite(path)
            scales = {}
            for scale in suite.scales:
                cells = expand(suite, scale, path)
                done = sum(s.state == State.DONE for s in store.states(cells))
                scales[scale] = {"cells": len(cells), "done": done}
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr)
            continue
        records.append(
            {
                "name": name,
                "title": suite.title,
                "paper": suite.paper,
                "artifacts": suite.reproduces,
                "scales": scales,
            }
        )
    return records


def describe_plan(selection: Selection, jobs: int | None) -> Record:
    """Return the grid with the state of each cell, and what is predicted for the rest."""
    states = selection.store.states(selection.cells)
    prediction = predict(selection.cells, states, selection.store)
    names = _varied(selection)
    return {
        "suite": selection.suite.name,
        "scale": selection.scale,
        "cells": [
            {
                "id": cell.id,
                "state": str(state.state),
                "axes": {name: cell.settings.get(name) for name in names},
                "config": cell.model_dump(mode="json"),
            }
            for cell, state in zip(selection.cells, states, strict=True)
        ],
        "missing": sum(state.state not in (State.DONE, State.FAILED) for state in states),
        "predicted": prediction.record(len(slots(jobs))),
    }


def _varied(selection: Selection) -> list[str]:
    """Return the settings that differ between the cells, seed last."""
    seen: dict[str, set[Any]] = {}
    for cell in selection.cells:
        for name, value in cell.settings.items():
            seen.setdefault(name, set()).add(value)
    return [*(name for name, values in seen.items() if len(values) > 1 and name != "seed"), "seed"]


def check_begun(selection: Selection) -> None:
    """Raise a LaunchError if no cell of the selection was ever begun."""
    states = selection.store.states(selection.cells)
    if not any(s.attempts or s.state in (State.DONE, State.FAILED) for s in states):
        raise LaunchError(
            f"{selection.suite.name} at scale {selection.scale}: nothing to resume in "
            f"{selection.results}; `bench run {selection.suite.name}` begins it"
        )


def run_selections(
    chosen: Sequence[Selection], executor: str, jobs: int | None, *, retry_failed: bool
) -> Record:
    """Run the cells of all selections in one queue; return the counts at the end."""
    if executor not in EXECUTORS:
        raise LaunchError(f"--executor {executor}: unknown. {choices(executor, list(EXECUTORS))}")
    cells = list({cell.id: cell for s in chosen for cell in s.cells}.values())
    _check_data(cells)
    title = ", ".join(f"{s.suite.name} ({s.scale})" for s in chosen)
    states = run_cells(
        cells,
        chosen[0].store,
        title=title,
        executor="inline" if executor == "inline" else "local",
        jobs=jobs,
        retry_failed=retry_failed,
    )
    counts = Counter(state.state for state in states)
    return {
        "done": counts[State.DONE],
        "failed": counts[State.FAILED],
        "missing": len(states) - counts[State.DONE] - counts[State.FAILED],
        "failures": _failures([c.id for c in cells], states),
    }


def _check_data(cells: Sequence[Cell]) -> None:
    """Raise a BenchError if a data set that the cells need is not there."""
    names = {name for cell in cells if (name := cell.settings.get("dataset"))}
    if names:
        from bench.data.catalogue import check_present  # loads torch

        for name in sorted(names):
            check_present(name, data_root())


def describe_methods(name: str | None) -> list[Record]:
    """Return every preset, or one, with its coordinates and their sources."""
    if name is not None and name not in presets():
        raise BenchError(f"no method '{name}'. {choices(name, list(presets()))}")
    return [
        {
            "name": label,
            "what": preset.what,
            "family": preset.family,
            "like": preset.like,
            "coordinates": {k: c._asdict() for k, c in preset.coordinates.items()},
        }
        for label, preset in presets().items()
        if name in (None, label)
    ]


def write_methods(folder: Path) -> Record:
    """Write every method as its coordinates on one page; return its path."""
    from bench.config.presets import elsewhere
    from bench.config.reference import settings_reference
    from bench.report.methods import methods_page
    from bench.store.files import write_whole

    page = folder / "methods.md"
    text = methods_page(describe_methods(None), elsewhere(), settings_reference())
    write_whole(page, text.encode())
    return {"pages": [str(page)]}


def describe_datasets(get: str | None) -> list[Record]:
    """Return every data set known and every folder of images there; download one first."""
    from bench.data.catalogue import CATALOGUE, download, image_folders

    root = data_root()
    if get is not None:
        download(get, root)
    known = [asdict(info) | {"present": info.present(root)} for info in CATALOGUE.values()]
    return known + [
        {"name": name, "what": "images", "how": str(path), "present": True}
        for name, path in image_folders(root).items()
    ]


def _failures(ids: Sequence[str], states: Sequence[CellState]) -> list[Record]:
    return [
        {"id": name, "reason": s.reason, "message": s.message, "attempts": s.attempts, "log": s.log}
        for name, s in zip(ids, states, strict=True)
        if s.state == State.FAILED
    ]


def describe_status(selection: Selection) -> Record:
    """Return the cells by state."""
    states = selection.store.states(selection.cells)
    counts = Counter(state.state for state in states)
    record: Record = {
        "suite": selection.suite.name,
        "scale": selection.scale,
        "cells": len(states),
        **{str(state): counts[state] for state in State},
        "attempts": sum(state.attempts for state in states),
        "failures": _failures([cell.id for cell in selection.cells], states),
        "left_core_s": None,
    }
    if counts[State.DONE] not in (0, len(states)):
        record["left_core_s"] = predict(selection.cells, states, selection.store).core_s
    return record


def watch_status(selection: Selection) -> None:
    """Show the states until no cell runs or waits in a queue."""
    states = selection.store.states(selection.cells)
    core_s = predict(selection.cells, states, selection.store).core_s
    with Progress(
        f"{selection.suite.name} ({selection.scale})", Counter(), core_s, len(slots(None))
    ) as show:
        while not show(states):
            if not any(s.state in (State.RUNNING, State.QUEUED) for s in states):
                return
            time.sleep(WATCH_EVERY_S)
            states = selection.store.states(selection.cells)


def describe_comparison(evidence: Any) -> list[Record]:
    """Return every printed value beside what was measured."""
    return [row.record() for row in evidence.compared]


def write_reports(chosen: Sequence[Selection], to: Path, *, all_asked: bool) -> Record:
    """Write the page of each selection that has results; return their paths."""
    from bench.report.page import write_page

    pages = []
    for selection in chosen:
        evidence = selection.evidence()
        if all_asked and not evidence.done:
            continue
        pages.append(str(write_page(evidence, to / selection.suite.name / selection.scale)))
    return {"pages": pages}


def export_selections(chosen: Sequence[Selection], to: Path, *, encoders: bool) -> Record:
    """Write the finished cells of the selections as tables, or as one archive where `to` is .tar.

    Raises:
        BenchError: the name of `to` says something else, or encoders are asked for in tables.
    """
    from bench.store.archive import SUFFIXES, export_archive
    from bench.store.export import export_cells

    if to.name.endswith(SUFFIXES):
        cells = [cell for selection in chosen for cell in selection.cells]
        counted = export_archive(cells, chosen[0].store, to, encoders=encoders)
        return {"cells": counted.cells, "encoders": counted.encoders, "file": str(to)}
    if to.suffix in (".csv", ".gz", ".parquet", ".tgz", ".xz", ".zip"):
        raise BenchError(f"--to {to}: expected a folder, for CSV tables, or a .tar or .tar.gz file")
    if encoders:
        raise BenchError(f"--encoders: tables hold none; --to {to}.tar exports them")
    done = [export_cells(selection.cells, selection.store, to) for selection in chosen]
    return {"cells": sum(done), "folder": str(to)}


def import_archives(files: Sequence[Path], results: Path) -> Record:
    """Add the cells of archives to the results folder."""
    from bench.store.merge import Archive

    return _merge([Archive(file) for file in files], results)


def merge_folders(folders: Sequence[Path], results: Path, *, encoders: bool) -> Record:
    """Add the finished cells of other results folders to this one."""
    from bench.store.merge import Folder

    return _merge([Folder(folder, encoders) for folder in folders], results)


def _merge(sources: Sequence[Any], results: Path) -> Record:
    from bench.store.merge import merge

    def check_encoder(path: Path) -> None:
        from bench.experiments.trained import check_encoder as check  # loads torch

        check(path)

    return asdict(merge(sources, Store(results), check_encoder))
