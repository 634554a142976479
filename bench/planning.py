"""`bench plan`: what a grid is, how long the rest takes, what of it fits in some hours."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench.config.fits import too_much
from bench.config.record import Cell, varied_settings
from bench.errors import BenchError, LaunchError
from bench.launch.budget import Choice, Needed, choose
from bench.launch.predict import LEFT_ALONE, Prediction, predict
from bench.launch.slots import slots
from bench.select import Selection
from bench.store.store import State

MOST_WARNINGS = 3  # in the line of them

Record = dict[str, Any]


def describe_plan(
    selection: Selection,
    jobs: int | None,
    *,
    probe: bool = False,
    limit_hours: float | None = None,
) -> Record:
    """Return the grid with the state of each cell, and what is predicted for the rest.

    Args:
        selection: the cells.
        jobs: workers; None: one a GPU or a core.
        probe: time a few steps of what nothing is known of.
        limit_hours: say what fits in, of GPUs or, without any, of cores.

    Raises:
        BenchError: the limit is no positive number, or times that it needs are not known.
    """
    _check_limit(limit_hours)
    _warn(selection)
    places = slots(jobs)
    states = selection.store.states(selection.cells)
    prediction = predict(selection.cells, states, selection.store, places)
    if probe and not all(e.is_near for e in prediction.estimates):
        from bench.launch.probe import probe_unknown  # loads torch

        for fault in probe_unknown(prediction, selection.store, places):
            print(f"bench: {fault}", file=sys.stderr)
        prediction = predict(selection.cells, states, selection.store, places)
    names = [*varied_settings(selection.cells), "seed"]
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
        "missing": sum(state.state not in LEFT_ALONE for state in states),
        "predicted": prediction.record(),
    }
    if limit_hours is not None:
        record["limited"] = _limited([selection], prediction, limit_hours)
    return record


def within(
    chosen: Sequence[Selection],
    cells: Sequence[Cell],
    places: Sequence[str | None],
    limit_hours: float,
    *,
    retry_failed: bool,
) -> Record:
    """Return which cells of some selections fit in so many hours, those done among them.

    Raises:
        BenchError: the limit is no positive number, or times are not known.
    """
    _check_limit(limit_hours)
    store = chosen[0].store
    leave = (State.DONE,) if retry_failed else LEFT_ALONE
    prediction = predict(cells, store.states(cells), store, places, leave=leave)
    return _limited(chosen, prediction, limit_hours)


def _limited(chosen: Sequence[Selection], prediction: Prediction, limit_hours: float) -> Record:
    def named(sets: list[tuple[str, int, frozenset[str]]], suite: str) -> list[Needed]:
        prefix = f"{suite}: " if len(chosen) > 1 else ""
        return [Needed(prefix + name, seed, cells) for name, seed, cells in sets]

    claims = [n for s in chosen for n in named(s.claim_sets(), s.suite.name)]
    printed = [n for s in chosen for n in named(s.printed_sets(), s.suite.name)]
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


def _warn(selection: Selection) -> None:
    """Tell on standard error what the cells ask of their data sets that is not there."""
    found = Counter(told for cell in selection.cells if (told := too_much(cell)))
    if found:
        texts = [f"{told} ({n} cells)" for told, n in found.most_common(MOST_WARNINGS)]
        more = f"; and {len(found) - MOST_WARNINGS} more" if len(found) > MOST_WARNINGS else ""
        print(f"bench: warning: {'; '.join(texts)}{more}", file=sys.stderr)
