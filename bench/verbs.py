"""What each verb finds out (as the record of its `--json`) and how it is shown to a person."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.config.grid import expand
from bench.config.load import load_suite, suite_paths
from bench.errors import BenchError, LaunchError, choices
from bench.launch.predict import predict
from bench.launch.progress import Progress, duration
from bench.launch.run import EXECUTORS, run_cells
from bench.launch.slots import slots
from bench.report.tables import LEGEND, Entry, make_tables, summary_line
from bench.report.terminal import console, print_rows, print_table
from bench.select import Selection
from bench.store.store import CellState, State, Store

MOST_SHOWN = 40  # cells that `plan` lists for a person
WATCH_EVERY_S = 2.0

Record = dict[str, Any]


def all_suites(folder: Path) -> list[str]:
    """Return the names of all suites."""
    return list(suite_paths(folder))


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


def print_suites(records: Sequence[Record]) -> None:
    """Print one line a suite."""
    rows = [
        [
            Entry(r["name"]),
            Entry(r["paper"]),
            Entry(", ".join(r["artifacts"])),
            Entry(", ".join(f"{k} {v['done']}/{v['cells']}" for k, v in r["scales"].items())),
            Entry(r["title"]),
        ]
        for r in records
    ]
    print_rows("", ["suite", "paper", "artifacts", "cells done", "title"], rows)


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


def print_plan(record: Record) -> None:
    """Print the grid and the prediction."""
    cells = record["cells"]
    heads = ["id", "state", *cells[0]["axes"]]
    rows = [
        [Entry(c["id"]), Entry(c["state"]), *(Entry(_told(v)) for v in c["axes"].values())]
        for c in cells[:MOST_SHOWN]
    ]
    print_rows(f"{record['suite']} at scale {record['scale']}", heads, rows)
    if len(cells) > MOST_SHOWN:
        print(f"... and {len(cells) - MOST_SHOWN} more (--json lists all)")
    print(
        f"{len(cells)} cells, {record['missing']} to run. {_told_prediction(record['predicted'])}"
    )


def _told(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _told_prediction(p: Record) -> str:
    if p["wall_s"] is None:
        return "Time and memory are not known before cells of this kind have run."
    memory = "" if p["peak_memory_gb"] is None else f", {p['peak_memory_gb']:.1f} GB a worker"
    return (
        f"Predicted: {duration(p['wall_s'])} on {p['slots']} worker(s){memory} "
        f"(from {p['based_on_cells']} finished cells)."
    )


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


def _failures(ids: Sequence[str], states: Sequence[CellState]) -> list[Record]:
    return [
        {"id": name, "reason": s.reason, "message": s.message, "attempts": s.attempts, "log": s.log}
        for name, s in zip(ids, states, strict=True)
        if s.state == State.FAILED
    ]


def print_counts(record: Record) -> None:
    """Print how a run ended."""
    print(f"{record['done']} done, {record['failed']} failed, {record['missing']} missing")
    _print_failures(record["failures"])


def _print_failures(failures: Sequence[Record]) -> None:
    for failure in failures[:10]:
        log = f" (log: {failure['log']})" if failure["log"] else ""
        print(f"  {failure['id']} failed: {failure['reason']}: {failure['message']}{log}")
    if len(failures) > 10:
        print(f"  ... and {len(failures) - 10} more")


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


def print_status(record: Record) -> None:
    """Print the cells by state."""
    told = ", ".join(f"{record[state]} {state}" for state in State if record[state])
    left = record["left_core_s"]
    more = f"; about {duration(left)} of work left" if left else ""
    print(f"{record['suite']} at scale {record['scale']}: {record['cells']} cells: {told}{more}")
    _print_failures(record["failures"])


def watch_status(selection: Selection) -> None:
    """Show the states until no cell runs or waits in a queue."""
    states = selection.store.states(selection.cells)
    core_s = predict(selection.cells, states, selection.store).core_s
    with Progress(
        f"{selection.suite.name} ({selection.scale})", 0, core_s, len(slots(None))
    ) as show:
        while not show(states):
            if not any(s.state in (State.RUNNING, State.QUEUED) for s in states):
                return
            time.sleep(WATCH_EVERY_S)
            states = selection.store.states(selection.cells)


def describe_comparison(evidence: Any) -> list[Record]:
    """Return every printed value beside what was measured."""
    return [row.record() for row in evidence.compared]


def print_comparison(evidence: Any) -> None:
    """Print the tables in the paper's layout, and the verdicts."""
    suite = evidence.suite
    what = suite.scales[evidence.scale].what
    print(f"{suite.name} at scale {evidence.scale}: {what}")
    print(f"{len(evidence.done)} of {len(evidence.cells)} cells done")
    if not evidence.compared:
        print("The paper prints no value for this suite; `bench claims` judges its sentences.")
        return
    layouts = {c.artifact: c.layout for c in reversed(suite.compare)}
    for table in make_tables(evidence.compared, layouts):
        print()
        print_table(table)
    print(f"\n{LEGEND}\n{summary_line(evidence.compared)}")
    departures = sorted({d for row in evidence.compared for d in row.departures})
    if departures:
        print(f"departs from the published protocol: {'; '.join(departures)}")


def print_claims(evidence: Any) -> None:
    """Print each check of each claim."""
    from bench.report.page import effect_text, words

    rows = [
        [
            Entry(str(j.verdict)),
            Entry(j.claim.id),
            Entry(words(j.check).replace("`", "")),
            Entry(effect_text(j)),
            Entry(f"{j.threshold:.3g}"),
            Entry(str(j.effect.n) if j.effect else j.lacking or ""),
        ]
        for j in evidence.judged
    ]
    heads = ["verdict", "claim", "check", "effect [95 % interval]", "threshold", "n"]
    print_rows(f"{evidence.suite.name} at scale {evidence.scale}", heads, rows)


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


def print_pages(record: Record) -> None:
    """Print the path of each page."""
    for page in record["pages"]:
        print(page)
    if not record["pages"]:
        print("no suite has results yet", file=sys.stderr)


def export_selections(chosen: Sequence[Selection], to: Path) -> Record:
    """Write the finished cells of the selections as tables."""
    from bench.store.export import export_cells

    counted = [export_cells(selection.cells, selection.store, to) for selection in chosen]
    return {"cells": sum(counted), "folder": str(to)}


def print_export(record: Record) -> None:
    """Print how many cells were exported."""
    console().print(f"{record['cells']} cells in {record['folder']}")
