"""Facts about a cell by name, and their agreement with a paper's statements.

A paper's statements (`bench/papers/data`) use these names. The parts are the linear classifier
(`linear.base_lr`) and the view set (`views.jitter`). Data of toys also have a name.

A stated list allows any of its values. A mapping with `above`, `below`, `from` or `to` allows
numbers in this range. `not used` means null, and `used` means anything except null.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.cells.detection import DROP, Detection
from bench.cells.linear_protocols import LINEAR_PROTOCOLS, LinearProtocol
from bench.cells.view_recipes import Recipe, recipes_of, view_names
from bench.errors import MOST_LISTED
from bench.text import value_text

OF_EXPERIMENT: dict[str, dict[str, Any]] = {
    "gaussian-mi": {"dataset": "correlated-gaussian"},
    "optimal-bound": {"dataset": "correlated-gaussian"},
    "vince-gaussian": {"dataset": "correlated-gaussian", "activation": "relu"},
    "spirals": {"dataset": "two-spirals", "loss": "infonce", "embedding_dim": 2},
    "supervised": {"method": "supervised"},
    "speech": {"method": "wav2vec2"},
    "pretrain": {"knn_against": "training-images"},
}
"""Facts that papers state and that hold for all cells of an experiment."""
OF_DETECTOR = {
    "dataset": "detect_dataset", "epochs": "detect_epochs", "batch_size": "detect_batch_size",
    "lr": "detect_lr", "weight_decay": "detect_weight_decay", "lr_drop_epochs": "detect_drops",
}  # fmt: skip
"""Settings of a detector, by the name of the corresponding setting of its pretraining; papers state
them for the detector."""
_VIEW_NUMBERS = tuple(f.name for f in fields(Recipe) if f.name != "local")
_VIEW_COUNTS = ("views.count", "views.local_count", "views.local_crop")
NOT_USED, USED = "not used", "used"
BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "above": operator.gt,
    "below": operator.lt,
    "from": operator.ge,
    "to": operator.le,
}
CLOSE = 1e-9  # relative: rates that follow from others are rounded


def facts(cell: Cell) -> dict[str, Any]:
    """Return the facts about a cell, by name.

    Besides its settings, these include `linear.*`, the fields of its linear protocol and the
    learning rate `linear.lr` at its batch size. `views.*` are the fields of the recipe of its
    global views (a tuple if views differ), the numbers of all and of local views, and the crop of
    local views. A learning rate without a rule is converted to the linear rule at its N.
    `tau_beta_over_tau` is 1 if both components have the same temperature. For a detector,
    `dataset`, `epochs`, `lr` and others describe the detector, and `pretrain_dataset` the encoder.
    Unused settings are None.
    """
    known = cell.settings | OF_EXPERIMENT.get(cell.experiment, {})
    if cell.experiment == "spirals":
        known["sgd_momentum"] = known.pop("momentum")  # elsewhere that of a momentum encoder
    if (shown := views_of(cell)) is not None:
        known |= view_facts(*shown)
    if (protocol := getattr(cell, "linear_protocol", None)) is not None:
        known |= _linear(protocol)
    if known.get("lr") is not None and known.get("base_lr", 0) is None:
        N = known.get("N", known["batch_size"])
        known |= {"base_lr": known["lr"] * 256 / N, "lr_scaling": "linear"}
    if known.get("tau") is not None and "tau_beta" in known:
        known["tau_beta_over_tau"] = (known["tau_beta"] or known["tau"]) / known["tau"]
    return known | (_detector(cell) if isinstance(cell, Detection) else {})


def _detector(cell: Detection) -> dict[str, Any]:
    """Return what papers state of a detector, under their names."""
    named = {name: getattr(cell, own) for name, own in OF_DETECTOR.items()}
    own = {"pretrain_dataset": cell.dataset, "schedule": cell.schedule, "lr_drop_factor": DROP}
    return named | own


@cache
def fact_names() -> frozenset[str]:
    """Return every name that `facts` may return, for all kinds of cells."""
    settings = {name for kind in CELLS.values() for name in kind.model_fields}
    common = {name for names in OF_EXPERIMENT.values() for name in names}
    more = {"tau_beta_over_tau", "pretrain_dataset", "schedule"}
    return frozenset(settings | common | part_names() | more)


@cache
def part_names() -> frozenset[str]:
    """Return the names of the parts' fields."""
    views = {f"views.{name}" for name in _VIEW_NUMBERS} | set(_VIEW_COUNTS)
    return frozenset(views | {f"linear.{name}" for name in (*LinearProtocol.model_fields, "lr")})


@cache
def all_parts() -> list[dict[str, Any]]:
    """Return the fields of each linear protocol and of each view set, with one or all views."""
    views = [view_facts(name, 1.0, one_view) for name in view_names() for one_view in (False, True)]
    return [*map(_linear, LINEAR_PROTOCOLS.values()), *views]


def views_of(cell: Cell) -> tuple[str, float, bool] | None:
    """Return a cell's view set, strength, and whether a step uses one view; None without views."""
    known = cell.settings
    if "views" not in known:
        return None
    return known["views"], known["view_strength"], bool(getattr(cell, "one_view", False))


@cache
def view_facts(name: str, strength: float, one_view: bool) -> dict[str, Any]:
    """Return the fields of a view set; only of its first recipe if a step uses one view."""
    recipes = recipes_of(name, strength)[: 1 if one_view else None]
    whole = [_numbers(recipe) for recipe in recipes if not recipe.local]
    local = [_numbers(recipe) for recipe in recipes if recipe.local]
    known = {f"views.{key}": _one_or_all([view[key] for view in whole]) for key in whole[0]}
    counts = (len(recipes), len(local), local[0]["crop"] if local else None)
    return known | dict(zip(_VIEW_COUNTS, counts, strict=True))


def _numbers(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe's fields, None if a transform is never applied."""
    numbers = {name: getattr(recipe, name) for name in _VIEW_NUMBERS}
    if not recipe.jitter_p:
        numbers["jitter"] = None
    if not recipe.blur:
        numbers["blur_sigma"] = None
    return numbers


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if all(value == values[0] for value in values) else tuple(values)


@cache
def _linear(protocol: LinearProtocol) -> dict[str, Any]:
    known = protocol.model_dump() | {"lr": protocol.lr_at(0, protocol.batch_size)}
    return {f"linear.{key}": value for key, value in known.items()}


def agrees(mine: Any, stated: Any) -> bool:
    """Return whether a setting of a cell agrees with the statement.

    Args:
        mine: value of the cell; a tuple is a single value, such as a crop's two bounds.
        stated: value stated by the paper, not null.
    """
    if isinstance(stated, Mapping):
        is_number = isinstance(mine, int | float)
        return is_number and all(BOUNDS[end](mine, limit) for end, limit in stated.items())
    if isinstance(stated, list):
        whole = isinstance(mine, tuple) and list(mine) == stated
        return whole or any(agrees(mine, value) for value in stated)
    if stated in (NOT_USED, USED):
        return bool((mine is None) == (stated == NOT_USED))
    if mine is None or isinstance(mine, bool) or isinstance(stated, bool):
        return mine is stated  # 1 is not true
    if isinstance(mine, float) and isinstance(stated, int | float):
        return math.isclose(mine, stated, rel_tol=CLOSE)
    return bool(mine == stated)


def typed(value: Any) -> tuple[bool, Any]:
    """Return a value and whether it is a boolean: 2 equals 2.0, but 1 does not equal true."""
    return isinstance(value, bool), value


def no_cell_has(value: Any, there: Sequence[Any]) -> str:
    """Return the end of an error message: no cell has this value, and the existing values."""
    are_numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in there)
    texts = [value_text(v) for v in (sorted(there) if are_numbers else there)]
    found = repr(value) if isinstance(value, str) and value in texts else value_text(value)
    more = f" and {len(texts) - MOST_LISTED} more" if len(texts) > MOST_LISTED else ""
    return f"no cell has the value {found}. The cells have: {', '.join(texts[:MOST_LISTED])}{more}."


def stated_text(value: Any, joined_by: str = " or ") -> str:
    """Return a setting, of a cell or of a statement, as text."""
    if isinstance(value, Mapping):
        return " ".join(f"{end} {value_text(number)}" for end, number in value.items())
    if isinstance(value, tuple):
        return value_text(list(value), joined_by=", ")
    return value_text(value, null=NOT_USED, joined_by=joined_by)
