"""`bench plan`: a suite's grid, how long the rest takes, and what of it fits in some hours."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from bench.analysis.departures import departures_of_scale
from bench.analysis.needed_cells import Sets, needed_by_claims, needed_by_printed
from bench.cells.baseline import settings_apart, without_baselines
from bench.cells.cell import Cell
from bench.cells.dataset_limits import too_much
from bench.cli.options import (
    AsJson,
    Have,
    Jobs,
    Limit,
    Scale,
    Seeds,
    SuiteName,
    Where,
    answer,
)
from bench.cli.selection import Selection, select
from bench.cli.terminal import print_rows
from bench.errors import BenchError, LaunchError
from bench.estimate.budget import Choice, Needed, choose
from bench.estimate.predict import Prediction, predict
from bench.launch.devices import slots
from bench.launch.progress import duration
from bench.report.tables import Entry
from bench.results.store import OVER, CellState, State
from bench.text import ONE_SEED, value_text

MOST_WARNINGS = 3  # in the line of them
MOST_SHOWN = 40  # cells that are listed

Record = dict[str, Any]


def plan(
    context: typer.Context, suite: SuiteName, scale: Scale = None, where: Where = None,
    seeds: Seeds = None, jobs: Jobs = None, limit_gpu_hours: Limit = None,
    probe: Annotated[bool, typer.Option("--probe", help="Time steps of what is unknown.")] = False,
    have: Have = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show the grid, what is missing and how long it will take; run nothing."""
    selection = select(context.obj, suite, scale=scale, where=where, seeds=seeds, have=have)
    data = context.obj.data if probe else None
    record = describe_plan(selection, jobs, probe_with=data, limit_hours=limit_gpu_hours)
    answer(record, print_plan, as_json)


def describe_plan(
    selection: Selection,
    jobs: int | None,
    *,
    probe_with: Path | None = None,
    limit_hours: float | None = None,
) -> Record:
    """Return the grid with the state of each cell, and what is predicted for the rest.

    Args:
        selection: the cells.
        jobs: workers; None: one a GPU or a core.
        probe_with: a folder of data sets, to time a few steps of what nothing is known of.
        limit_hours: say what fits in, of GPUs or, without any, of cores.

    Raises:
        BenchError: the limit is no positive number, or times that it needs are not known.
    """
    _check_limit(limit_hours)
    _warn(selection)
    places = slots(jobs)
    states = selection.store.states(selection.cells)
    prediction = predict(selection.cells, states, selection.store, places)
    if probe_with is not None and not all(e.is_near for e in prediction.estimates):
        from bench.launch.probe import probe_unknown  # loads torch

        for fault in probe_unknown(prediction, selection.store, probe_with, places):
            print(f"bench: {fault}", file=sys.stderr)
        prediction = predict(selection.cells, states, selection.store, places)
    names = [*settings_apart(selection.cells), "seed"]
    record = {
        "suite": selection.suite.name,
        "scale": selection.scale,
        "cells": [
            {
                "id": cell.id,
                "state": str(state.state),
                "axes": {name: cell.settings.get(name) for name in names},
                "config": cell.model_dump(mode="json"),
                "predicted_s": prediction.seconds(estimate),
                "predicted_from": estimate.source,
            }
            for cell, state, estimate in zip(
                selection.cells, states, prediction.estimates, strict=True
            )
        ],
        "missing": sum(state.state not in OVER for state in states),
        "predicted": prediction.record(),
        "departures": _departures(selection),
    }
    if limit_hours is not None:
        record["limited"] = _limited([selection], prediction, limit_hours)
    return record


def within(
    chosen: Sequence[Selection],
    cells: Sequence[Cell],
    states: Sequence[CellState],
    places: Sequence[str | None],
    limit_hours: float,
    *,
    retry_failed: bool,
) -> Record:
    """Return which cells of some selections fit in so many hours, those done among them.

    Args:
        chosen: selections of one results folder.
        cells: all of theirs.
        states: of each cell.
        places: workers, each by its GPU or None.
        limit_hours: of GPUs or, without any, of cores.
        retry_failed: whether failed cells are tried again.

    Raises:
        BenchError: the limit is no positive number, or times are not known.
    """
    _check_limit(limit_hours)
    leave = (State.DONE,) if retry_failed else OVER
    prediction = predict(cells, states, chosen[0].store, places, leave=leave)
    return _limited(chosen, prediction, limit_hours)


def _limited(chosen: Sequence[Selection], prediction: Prediction, limit_hours: float) -> Record:
    def named(sets: Sets, suite: str) -> list[Needed]:
        prefix = f"{suite}: " if len(chosen) > 1 else ""
        return [Needed(prefix + name, seed, cells) for name, seed, cells in sets]

    claims, printed = [], []
    for s in chosen:
        judged = without_baselines(s.cells)
        claims += named(needed_by_claims(s.suite, judged), s.suite.name)
        printed += named(needed_by_printed(s.suite, judged, s.paper), s.suite.name)
    try:
        choice = choose(prediction.estimates, claims, printed, 3600 * limit_hours)
    except LaunchError as error:
        name = chosen[0].suite.name
        raise LaunchError(
            f"--limit-gpu-hours: {error}; `bench plan {name} --scale {chosen[0].scale} --probe` "
            "times a few steps of it"
        ) from None
    return _record(choice, claims, prediction, limit_hours)


def _record(
    choice: Choice, claims: Sequence[Needed], prediction: Prediction, limit_hours: float
) -> Record:
    done = {e.cell.id for e in prediction.estimates if e.source == "done"}
    possible = Counter(needed.name for needed in claims if needed.cells)
    return {
        "limit_hours": limit_hours,
        "of": "GPU-hours" if prediction.gpus else "core-hours",
        "hours": choice.seconds / 3600,
        "cells": len(choice.cells),
        "of_cells": sum(e.is_left for e in prediction.estimates),
        "chosen": [e.cell.id for e in prediction.estimates if e.cell.id in choice.cells | done],
        "claims": [
            {"claim": name, "seeds": seeds, "of_seeds": possible[name]}
            for name, seeds in choice.seeds.items()
        ],
    }


def _check_limit(hours: float | None) -> None:
    if hours is not None and not (hours > 0 and math.isfinite(hours)):
        raise BenchError(
            f"--limit-gpu-hours {hours:g}: expected a positive number of hours, such as 1.5"
        )


def _departures(selection: Selection) -> list[str]:
    """Return what keeps values of a published scale from being compared."""
    if selection.suite.scales[selection.scale].protocol != "published":
        return []
    return departures_of_scale(selection.suite, selection.cells, selection.paper)


def _warn(selection: Selection) -> None:
    """Tell on standard error what the data sets lack, and what these cells cannot decide."""
    found = Counter(told for cell in selection.cells if (told := too_much(cell)))
    if found:
        texts = [f"{told} ({n} cells)" for told, n in found.most_common(MOST_WARNINGS)]
        more = f"; and {len(found) - MOST_WARNINGS} more" if len(found) > MOST_WARNINGS else ""
        print(f"bench: warning: {'; '.join(texts)}{more}", file=sys.stderr)
    published = selection.suite.scales[selection.scale].protocol == "published"
    if published and len({cell.seed for cell in selection.cells}) == 1:
        print(f"bench: warning: {ONE_SEED}", file=sys.stderr)


def print_plan(record: Record) -> None:
    """Print the grid and the prediction."""
    cells = record["cells"]
    heads = ["id", "state", *cells[0]["axes"]]
    rows = [
        [
            Entry(c["id"]),
            Entry(c["state"]),
            *(Entry(value_text(v, null="")) for v in c["axes"].values()),
        ]
        for c in cells[:MOST_SHOWN]
    ]
    print_rows(f"{record['suite']} at scale {record['scale']}", heads, rows)
    if len(cells) > MOST_SHOWN:
        print(f"... and {len(cells) - MOST_SHOWN} more (--json lists all)")
    _print_kinds(record["predicted"])
    print(
        f"{len(cells)} cells, {record['missing']} to run. {_told_prediction(record['predicted'])}"
    )
    if record["departures"]:
        print(f"Departs from the published protocol: {'; '.join(record['departures'])}")
    if "limited" in record:
        print_limited(record["limited"], file=sys.stdout)


def _print_kinds(p: Record) -> None:
    """Print what is predicted of each kind of cell."""
    work = "core time" if p["gpu_hours"] is None else "GPU time"
    heads = ["kind", "cells", "each", work, "memory", f"on {p['slots']} worker(s)", "from"]
    rows = [
        [
            Entry(k["kind"]),
            Entry(str(k["cells"])),
            Entry(_or_unknown(k["cell_s"], duration)),
            Entry(_or_unknown(k["core_s"], duration)),
            Entry(_memory(k)),
            Entry(_or_unknown(k["wall_s"], duration)),
            Entry(k["message"]),
        ]
        for k in p["by_kind"]
    ]
    if rows:
        print_rows("to run", heads, rows)


def _or_unknown(value: float | None, told: Callable[[float], str]) -> str:
    return "?" if value is None else told(value)


def _memory(p: Record) -> str:
    host = "?" if p["peak_memory_gb"] is None else f"{p['peak_memory_gb']:.1f} GB"
    device = p["device_peak_gb"]
    return host if device is None else f"{host}, GPU {device:.1f} GB"


def _told_prediction(p: Record) -> str:
    if not p["by_kind"]:
        return "Nothing is left."
    if p["wall_s"] is None:
        return (
            "Time and memory are not known before cells of this kind have run; --probe times a "
            "few steps."
        )
    return (
        f"Predicted: {duration(p['wall_s'])} on {p['slots']} worker(s), {_memory(p)} a worker "
        f"(from {p['based_on_cells']} finished cells)."
    )


def print_limited(limited: Record, file: TextIO | None = None) -> None:
    """Print what fits in a limit of hours, on standard error if nothing else is said."""
    of = limited["of"]
    if of == "core-hours":
        of = "core-hours (no GPU is used: --limit-gpu-hours limits them)"
    lines = [
        f"Within {limited['limit_hours']:g} {of}: {limited['cells']} of {limited['of_cells']} "
        f"cells, {limited['hours']:.3g} hours."
    ]
    for claim in limited["claims"]:
        seeds, name = claim["seeds"], claim["claim"]
        if seeds:
            alone = "; one seed gives no interval" if len(seeds) == 1 else ""
            told = (
                f"{len(seeds)} of {claim['of_seeds']} seeds ({', '.join(map(str, seeds))}{alone})"
            )
            lines.append(f"  testable: {name}: {told}")
        else:
            why = "" if claim["of_seeds"] else " at this scale"
            lines.append(f"  not testable{why}: {name}")
    print("\n".join(lines), file=file or sys.stderr)
