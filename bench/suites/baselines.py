"""Baselines of a scale: raw inputs, untrained network and supervised network."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter

from bench.cells.axes import NOWHERE
from bench.cells.baseline import BASELINES, LABELS, AnyBaseline, Baseline
from bench.cells.cell import Cell, per_point
from bench.cells.pretrain import EncoderCell, Pretrain
from bench.cells.speech import Speech, SpeechBaseline
from bench.suites.suite import Scalar, Settings


def _shared(kind: type[Cell], baseline: type[Cell]) -> tuple[str, ...]:
    """Return the settings that a baseline takes from the cells that it is a baseline of."""
    own = LABELS | {"experiment", "version", "lr"}
    return tuple(k for k in baseline.model_fields if k in kind.model_fields and k not in own)


SHARED = _shared(Pretrain, Baseline)
SHARED_BY_SPEECH = _shared(Speech, SpeechBaseline)
ONE_SEED: dict[str, dict[str, Any]] = {"raw": {"seed": 0}}
"""Baselines of which one seed is enough: in raw inputs it only draws the few labels."""
_LISTS: dict[str, TypeAdapter[Any]] = {
    "baseline": TypeAdapter(list[Baseline]),
    "speech-baseline": TypeAdapter(list[SpeechBaseline]),
}


def baseline_cells(
    cells: Iterable[Cell], settings: Settings, kinds: Sequence[Scalar] = BASELINES
) -> list[AnyBaseline]:
    """Return the baselines of the `pretrain` and `speech` cells, without repetition.

    Baselines have the cells' data, encoder, epochs and evaluations. All use RGB images.

    Args:
        cells: cells of one scale.
        settings: settings of the scale's baselines, which replace those of the cells.
        kinds: kinds of baselines.

    Raises:
        ValidationError: a setting is missing or has the wrong type.
    """
    points: dict[tuple[Any, ...], dict[str, Any]] = {}
    cells = list(cells)
    of_points = per_point(cells, lambda cell: point_of(cell, settings))
    for cell, of_point in zip(cells, of_points, strict=True):
        if of_point is not None:
            shared = of_point | {"seed": cell.seed}
            points.setdefault(tuple(shared.values()), shared)
    settings_of = [
        {"experiment": "baseline", "baseline": kind} | point | ONE_SEED.get(str(kind), {})
        for point in points.values()
        for kind in kinds
    ]
    found = [
        cell
        for experiment, adapter in _LISTS.items()
        for cell in adapter.validate_python(
            [each for each in settings_of if each["experiment"] == experiment]
        )
    ]
    return list({cell.id: cell for cell in found}.values())


def point_of(cell: Cell, settings: Settings) -> dict[str, Any] | None:
    """Return the settings of a cell's baselines, including the seed; None if it has none.

    Args:
        cell: a cell of any experiment; only `pretrain` and `speech` have baselines.
        settings: settings of the scale's baselines.
    """
    if isinstance(cell, Speech):
        shared = {name: getattr(cell, name) for name in SHARED_BY_SPEECH}
        return {"experiment": "speech-baseline"} | shared | settings
    if not isinstance(cell, EncoderCell):
        return None
    shared = {name: getattr(cell, name) for name in SHARED}
    if isinstance(cell, Pretrain) and cell.evaluated_on is not None:
        if cell.evaluated_on == NOWHERE:
            return None
        shared |= {"dataset": cell.evaluated_on, "train_images": None}
    return shared | settings
