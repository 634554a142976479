"""`bench plan`: a suite's grid, the remaining time, and the cells that fit into some hours."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from bench.analysis.compare import Sets, needed_by_claims, needed_by_printed
from bench.analysis.deviations import deviations_of_scale
from bench.cells.baseline import settings_apart, without_baselines
from bench.cells.cell import Cell, impossible, per_point, too_much
from bench.cells.groups import without_followers
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
from bench.cli.selection import Selection, check_scales, missing_data, select, sharded
from bench.cli.terminal import listed, print_line, print_rows
from bench.environment import slots
from bench.errors import BenchError, LaunchError
from bench.estimate.budget import Needed, choose
from bench.estimate.predict import Prediction, predict
from bench.files.messages import tell, warn
from bench.launch.progress import duration
from bench.record import Json
from bench.report.tables import Entry
from bench.results.store import OVER, CellState, State
from bench.suites.facts import stated_text, view_facts, views_of
from bench.text import ONE_SEED, counted, value_text

MOST_WARNINGS = 3  # in the line of them
MOST_SHOWN = 12  # cells and recipes that are listed one by one
MANY = 100  # hours, which are rounded to whole ones
LEAST = 0.01  # hours that are reported
RECIPE = {
    "method": "{}", "optimizer": "{}", "lr": "learning rate {}", "lr_schedule": "{}",
    "lr_drop_epochs": "drops at epochs {}", "warmup_epochs": "warm-up epochs {}",
    "weight_decay": "weight decay {}", "epochs": "epochs {}", "steps": "steps {}",
    "batch_size": "batch size {}", "tau": "tau {}", "image_size": "{} pixels", "views": "views {}",
}  # fmt: skip
"""Settings of a recipe with their words; the learning rate is the one after scaling."""
TRAINED_BY = "optimizer"  # cells without it train nothing
SIZE_FREE = ("adam", "adamw", "lars", "muon")
"""Optimisers whose steps do not depend on the size of a gradient."""


def plan(
    context: typer.Context, suite: SuiteName, scale: AtScale = None, where: Matching = None,
    seeds: SeedList = None, changes: Changes = None, jobs: Jobs = None,
    limit_gpu_hours: Limit = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Time a few steps of cells whose run time is unknown.")
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
        tell(f"cells of this suite cannot be computed yet: {fault}")
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
            f"--limit-gpu-hours: {error}; `{chosen[0].whole.command('plan')} --probe` "
            "times a few steps, so that the hours can be predicted"
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
            "--limit-gpu-hours chooses cells by the claims that need them, but no "
            "claim needs cells changed by --set: leave out one of these options"
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
            f"{why}: {counted(n, 'cell')} of {selection.title} cannot be computed; "
            "change the suite, or exclude these cells with --where"
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


def print_plan(record: Json) -> None:
    """Print the prediction, the grid's axes and, if there are few, its cells."""
    cells = record["cells"]
    print_line(f"{record['title']} ({record['protocol']}: {record['what']})")
    if not cells:
        print_line("This part has no cells, because there are fewer trainings than parts.")
        return
    points = _points(cells)
    names = _telling_axes(points, len(cells))
    for name in names:
        axes_of = points if name != "seed" else [c["axes"] for c in cells]
        print_line(f"  {name}: {listed(_values_of(name, axes_of))}")
    if len(cells) <= MOST_SHOWN:
        rows = [
            [Entry(c["id"]), Entry(c["state"]), *(Entry(_axis_text(c["axes"][n])) for n in names)]
            for c in cells
        ]
        print_rows("", ["id", "state", *names], rows)
    _print_recipes(record)
    _print_kinds(record["predicted"])
    if all(cell["state"] == "done" for cell in cells):
        print(f"All {counted(len(cells), 'cell')} are finished; nothing to run.")
    else:
        total = _prediction_text(record["predicted"])
        print_line(
            f"{counted(len(cells), 'cell')}, {record['missing']} to run{_failed_text(record)}. "
            f"{total}".rstrip()
        )
    if "limited" in record:
        print_limited(record["limited"], file=sys.stdout)


def _print_recipes(record: Json) -> None:
    """Print how the cells are trained, and in what this deviates from the paper."""
    recipes = record["recipes"]
    for recipe in recipes[:MOST_SHOWN]:
        print_line(f"recipe: {recipe_text(recipe)}", indent="  ")
    if len(recipes) > MOST_SHOWN:
        print_line(f"and {len(recipes) - MOST_SHOWN} more recipes (--json lists all)", indent="  ")
    for line in record["views"]:
        print_line(line, indent="  ")
    if record["deviations"]:
        print("Deviations from the paper, the most important first:")
        for deviation in record["deviations"]:
            print_line(deviation, indent="  ")


def _points(cells: Sequence[Json]) -> list[Json]:
    """Return the axes of each point, with one of its seeds."""
    found = dict[tuple[Any, ...], Json]()
    for axes in (cell["axes"] for cell in cells):
        found.setdefault(tuple([v for name, v in axes.items() if name != "seed"]), axes)
    return list(found.values())


def _values_of(name: str, points: Sequence[Json]) -> list[str]:
    """Return the values of an axis in words; baselines have their kind alone."""
    axes_of = (a for a in points if (name == "baseline") == bool(a.get("baseline")))
    return list(dict.fromkeys(_axis_text(axes[name]) for axes in axes_of))


def _axis_text(value: Any) -> str:
    return value_text(value, null="null")


def _telling_axes(points: Sequence[Json], cells: int) -> list[str]:
    """Return the axes that tell cells apart, without those that follow from the others."""
    axes = [{name: v for name, v in point.items() if name != "seed"} for point in points]
    return without_followers(axes, nulls_tell=False) + ["seed"] * (len(points) < cells)


def _print_kinds(p: Json) -> None:
    """Print what is predicted of each kind of cell."""
    work = "GPU time" if p["gpus"] else "core time"
    heads = ["kind", "cells", "each", work, "memory", f"on {counted(p['slots'], 'worker')}", "from"]
    rows = [
        [
            k["kind"], str(k["cells"]), _time(k["cell_s"]), _time(k["core_s"]), _memory(k) or "?",
            _time(k["wall_s"]), k["message"],
        ]
        for k in p["by_kind"]
    ]  # fmt: skip
    if rows:
        print_rows("to run", heads, rows)


def _time(seconds: float | None) -> str:
    return "?" if seconds is None else duration(seconds)


def _memory(p: Json) -> str:
    """Return the peak of memory; empty if it is not known."""
    peaks = {"": p["peak_memory_gb"], "GPU ": p["device_peak_gb"]}
    return ", ".join(f"{of}{gb:.1f} GB" for of, gb in peaks.items() if gb is not None)


def _hours(p: Json, gpus: int) -> str:
    """Return the work in core-hours or GPU-hours."""
    hours = p["core_s"] / 3600
    text = f"{hours:,.0f}" if hours >= MANY else f"{hours:.3g}"
    return f"{text if hours >= LEAST else f'less than {LEAST}'} {'GPU' if gpus else 'core'}-hours"


def _failed_text(record: Json) -> str:
    """Return how many cells failed before; empty where none did."""
    if not record["failed"]:
        return ""
    return f", {record['failed']} failed (`bench run` with `--retry-failed` computes them again)"


def _prediction_text(p: Json) -> str:
    """Return the total in words; empty if nothing is left to run."""
    if not p["by_kind"]:
        return ""
    known, unknown, cells = p["known"], p["cells_unknown"], sum(k["cells"] for k in p["by_kind"])
    if not unknown:
        memory = f"{_memory(p)} per worker" if _memory(p) else "the memory is not known"
        workers = counted(p["slots"], "worker")
        return f"Predicted: {_time(p['wall_s'])} on {workers}, {_hours(p, p['gpus'])}, {memory}."
    rest = (
        f" The other {cells - unknown} cells take {_hours(known, p['gpus'])}."
        if unknown < cells
        else ""
    )
    of = "these cells" if unknown == cells else f"{unknown} of these cells"
    return (
        f"The run time of {of} is not known (`?`); --probe times a few steps to predict it.{rest}"
    )


def print_limited(limited: Json, file: TextIO | None = None) -> None:
    """Print the cells that fit into a limit of hours."""
    of = limited["of"]
    if of == "core-hours":
        of = "core-hours (no GPU is used, so --limit-gpu-hours limits core-hours)"
    lines = [
        f"Within {limited['limit_hours']:g} {of}: {limited['cells']} of {limited['of_cells']} "
        f"cells, which take {limited['hours']:.3g} hours."
    ]
    for claim in limited["claims"]:
        name, seeds, most = claim["claim"], claim["seeds"], claim["of_seeds"]
        if seeds:
            alone = "; one seed gives no confidence interval" if len(seeds) == 1 else ""
            which = f"{len(seeds)} of {most} seeds ({', '.join(map(str, seeds))}{alone})"
            lines.append(f"  claim that can be tested: {name}: {which}")
        else:
            where = "within the limit" if most else "at this scale"
            lines.append(f"  claim that cannot be tested {where}: {name}")
    print("\n".join(lines), file=file or sys.stderr)


def recipes_of(cells: Sequence[Cell]) -> list[Json]:
    """Return each distinct recipe of training cells, with the number of cells."""
    trained = (cell for cell in without_baselines(cells) if vars(cell).get(TRAINED_BY))
    found = per_point(trained, lambda cell: tuple((n, vars(cell).get(n)) for n in RECIPE))
    return [{"settings": dict(recipe), "cells": n} for recipe, n in Counter(found).items()]


def recipe_text(recipe: Json) -> str:
    """Return a recipe as text, without unused settings."""
    used = {name: v for name, v in recipe["settings"].items() if v not in (None, 0)}
    words = [RECIPE[name].format(value_text(value)) for name, value in used.items()]
    if used[TRAINED_BY] in SIZE_FREE:
        words.insert(words.index(used[TRAINED_BY]) + 1, "which normalises gradients")
    return f"{', '.join(words)} ({counted(recipe['cells'], 'cell')})"


def view_texts(cells: Sequence[Cell]) -> list[str]:
    """Return the distinct augmentations of cells, without operations that are never applied."""
    lines = {}
    for shown in dict.fromkeys(map(views_of, without_baselines(cells))):
        known = view_facts(*shown) if shown else {}
        parts = {k.removeprefix("views."): v for k, v in known.items()}
        texts = [f"{name} {stated_text(value)}" for name, value in parts.items() if value]
        if shown and texts:
            lines[f"views {shown[0]}: {'; '.join(texts)}"] = True
    return list(lines)
