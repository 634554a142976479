"""`bench plan`: a suite's grid, the remaining time, and the cells that fit into some hours."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bench.analysis.deviations import deviations_of_scale
from bench.analysis.needed_cells import Sets, needed_by_claims, needed_by_printed
from bench.cells.baseline import settings_apart, without_baselines
from bench.cells.cell import Cell, impossible, per_point, too_much
from bench.cli.options import (
    AsJson,
    AtScale,
    Changes,
    Have,
    Jobs,
    Limit,
    Matching,
    SeedList,
    Shard,
    SuiteName,
    answer,
)
from bench.cli.own_code import Trust, check_own_code, trust_folders, untrusted
from bench.cli.plan_text import print_plan
from bench.cli.selection import Selection, check_scales, missing_data, select, sharded
from bench.environment import slots
from bench.errors import BenchError, LaunchError
from bench.estimate.budget import Needed, choose
from bench.estimate.predict import Prediction, predict
from bench.files.messages import tell, warn
from bench.record import Json
from bench.results.store import OVER, CellState, State
from bench.suites.recipe import recipes_of, view_texts
from bench.text import ONE_SEED, counted

MOST_WARNINGS = 3  # in the line of them


def plan(
    context: typer.Context, suite: SuiteName, scale: AtScale = None, where: Matching = None,
    seeds: SeedList = None, changes: Changes = None, jobs: Jobs = None,
    limit_gpu_hours: Limit = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Time a few steps of cells whose cost is unknown.")
    ] = False,
    trust: Trust = None, shard: Shard = None, have: Have = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show the grid, the missing cells, and predicted time and memory; run nothing."""
    trust_folders(trust)
    selection = select(
        context.obj, suite, scale=scale, where=where, seeds=seeds, have=have, changes=changes
    )
    (selection,) = sharded([selection], shard)
    check_scales(selection)
    if limit_gpu_hours is not None:
        check_of_suite(selection)
    data = context.obj.data if probe else None
    record = describe_plan(
        selection, jobs, probe_with=data, limit_hours=limit_gpu_hours, configs=as_json
    )
    for fault in missing_data(selection.cells, context.obj.data) if record["missing"] else ():
        tell(f"to run, it needs {fault}")
    for line in untrusted(selection.cells) if record["missing"] else ():
        tell(line)
    answer(record, print_plan, as_json)


def describe_plan(
    selection: Selection,
    jobs: int | None,
    *,
    probe_with: Path | None = None,
    limit_hours: float | None = None,
    configs: bool = True,
) -> Json:
    """Return the grid with the state of each cell, and predictions for the unfinished ones.

    Args:
        selection: the cells.
        jobs: number of workers; None means one per GPU or core.
        probe_with: folder of data sets, used to time a few steps of cells without known times.
        limit_hours: limit in GPU hours, or core hours without GPUs.
        configs: whether to list all settings of each cell, not only its axes.

    Raises:
        BenchError: the limit is not positive, needed times are unknown, or a data set is too small
            for the cells.
    """
    _check_limit(limit_hours)
    _refuse_impossible(selection)
    _warn(selection)
    places = slots(jobs)
    states = selection.store.states(selection.cells)
    prediction = predict(selection.cells, states, selection.store, places)
    if probe_with is not None and not all(e.is_near for e in prediction.estimates):
        from bench.launch.probe import probe_unknown  # loads torch

        check_own_code(selection.cells)
        for fault in probe_unknown(prediction, selection.store, probe_with):
            tell(str(fault))
        prediction = predict(selection.cells, states, selection.store, places)
    points = list({cell.but_seed: cell for cell in selection.cells}.values())
    record = {
        "suite": selection.suite.name,
        "scale": selection.scale,
        "title": selection.title,
        "protocol": selection.suite.scales[selection.scale].protocol,
        "what": selection.suite.scales[selection.scale].what,
        "cells": _cells(selection.cells, points, states, prediction, configs=configs),
        "missing": sum(state.state not in OVER for state in states),
        "failed": sum(state.state == State.FAILED for state in states),
        "predicted": prediction.record(),
        "recipes": recipes_of(selection.cells),
        "views": view_texts(points),
        "deviations": deviations_of_scale(
            selection.suite, points, selection.paper_cells, selection.paper
        ),
    }
    if limit_hours is not None:
        record["limited"] = _limited([selection], prediction, limit_hours)
    return record


def _cells(
    cells: Sequence[Cell],
    points: Sequence[Cell],
    states: Sequence[CellState],
    prediction: Prediction,
    *,
    configs: bool,
) -> list[Json]:
    """Return each cell with its state and what is predicted of it."""
    names = settings_apart(points)
    axes = {point.but_seed: {n: getattr(point, n, None) for n in names} for point in points}
    return [
        {
            "id": cell.id,
            "state": str(state.state),
            "axes": axes[cell.but_seed] | {"seed": cell.seed},
            **({"config": cell.model_dump(mode="json")} if configs else {}),
            "predicted_s": prediction.seconds(estimate),
            "predicted_from": estimate.source,
        }
        for cell, state, estimate in zip(cells, states, prediction.estimates, strict=True)
    ]


def within(
    chosen: Sequence[Selection],
    cells: Sequence[Cell],
    states: Sequence[CellState],
    places: Sequence[str | None],
    limit_hours: float,
    *,
    retry_failed: bool,
) -> Json:
    """Return the cells that fit into this many hours, including finished ones.

    Args:
        chosen: selections with the same results folder.
        cells: all cells of the selections.
        states: state of each cell.
        places: GPU of each worker, or None.
        limit_hours: limit in GPU hours, or core hours without GPUs.
        retry_failed: whether failed cells run again.

    Raises:
        BenchError: the limit is not positive, or times are unknown.
    """
    _check_limit(limit_hours)
    leave = (State.DONE,) if retry_failed else OVER
    prediction = predict(cells, states, chosen[0].store, places, leave=leave)
    return _limited(chosen, prediction, limit_hours)


def _limited(chosen: Sequence[Selection], prediction: Prediction, limit_hours: float) -> Json:
    def named(sets: Sets, suite: str) -> list[Needed]:
        prefix = f"{suite}: " if len(chosen) > 1 else ""
        return [Needed(prefix + name, seed, cells) for name, seed, cells in sets]

    claims, printed = [], []
    for s in chosen:
        judged = without_baselines(s.cells)
        claims += named(needed_by_claims(s.suite, s.scale, judged), s.suite.name)
        printed += named(needed_by_printed(s.suite, judged, s.paper), s.suite.name)
    try:
        choice = choose(prediction.estimates, claims, printed, 3600 * limit_hours)
    except LaunchError as error:
        raise LaunchError(
            f"--limit-gpu-hours: {error}; `{chosen[0].whole.command('plan')} --probe` times "
            "a few steps of it"
        ) from None
    kept = choice.cells | {e.cell.id for e in prediction.estimates if e.source == "done"}
    possible = Counter(needed.name for needed in claims if needed.cells)
    return {
        "limit_hours": limit_hours,
        "of": "GPU-hours" if prediction.gpus else "core-hours",
        "hours": choice.seconds / 3600,
        "cells": len(choice.cells),
        "of_cells": len(prediction.left),
        "chosen": [e.cell.id for e in prediction.estimates if e.cell.id in kept],
        "claims": [
            {"claim": name, "seeds": seeds, "of_seeds": possible[name]}
            for name, seeds in choice.seeds.items()
        ],
    }


def check_of_suite(selection: Selection) -> None:
    """Raise a BenchError if the cells are not part of a suite, so no claim needs them."""
    if selection.changes:
        raise BenchError(
            "--limit-gpu-hours chooses cells by the claims that need them, and cells of --set "
            "belong to none: leave one of the two out"
        )


def _check_limit(hours: float | None) -> None:
    if hours is not None and not (hours > 0 and math.isfinite(hours)):
        raise BenchError(
            f"--limit-gpu-hours {hours:g}: expected a positive number of hours, such as 1.5"
        )


def _refuse_impossible(selection: Selection) -> None:
    """Raise a BenchError if cells ask more of their data set than it has, as `run` does."""
    for why, n in impossible(selection.cells).items():
        raise BenchError(
            f"{why}: {counted(n, 'cell')} of {selection.title} cannot be computed; change the "
            "suite, or leave them out by --where"
        )


def _warn(selection: Selection) -> None:
    """Tell on standard error what the data sets lack, and what these cells cannot decide."""
    counts = Counter(warning for warning in per_point(selection.cells, too_much) if warning)
    if counts:
        texts = [f"{warning} ({n} cells)" for warning, n in counts.most_common(MOST_WARNINGS)]
        more = f"; and {len(counts) - MOST_WARNINGS} more" if len(counts) > MOST_WARNINGS else ""
        warn(f"{'; '.join(texts)}{more}")
    published = selection.suite.scales[selection.scale].protocol == "published"
    if published and not selection.changes and len({cell.seed for cell in selection.cells}) == 1:
        warn(ONE_SEED)
