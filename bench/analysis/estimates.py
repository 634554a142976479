"""The effects of a check, and the lead of its sides over a floor, estimated from finished cells."""

from collections.abc import Mapping, Sequence

import numpy as np

from bench.analysis.effects import Group, Key, groups_of
from bench.analysis.measured import Measured, Metrics
from bench.analysis.statistics import Estimate, Seeds, Term, contrast, sure_to_a_step
from bench.cells.cell import Cell
from bench.suites.checks import Check
from bench.text import value_text

Estimates = dict[Key, tuple[Group, Estimate]]
Named = tuple[str, Group, Estimate]


def estimates_of(check: Check, measured: Measured, needed: Sequence[Cell]) -> tuple[Estimates, str]:
    """Return the effect of each group that has one, and what is missing where none has.

    Args:
        check: says which cells are compared.
        measured: the cells of a suite at a scale, and the finished ones among them.
        needed: those that the check names.
    """
    metrics = measured.numbers(check, needed)
    groups, missing = groups_of(check, measured, metrics)
    how, pools = measured.how(check, needed), measured.pools(check, needed)
    step = _step(check, [cell for cell in needed if cell.id in metrics], metrics)
    estimated = {key: (group, group.estimate(how, pools, step)) for key, group in groups.items()}
    return {key: pair for key, pair in estimated.items() if pair[1] is not None}, missing


def named(estimates: Estimates) -> list[Named]:
    """Return the effects, each with what tells its group from the others.

    One setting that readers know does where it can, else the group's key; values of an axis have
    no name.

    Args:
        estimates: of `estimates_of`.
    """
    effects = estimates.values()
    for name in ("method", "dataset", "batch_size"):
        values = [group.sides[0][0].known.get(name) for group, _ in effects]
        if None not in values and len({*values}) == len(values):
            words = [v if isinstance(v, str) else f"{name} {v}" for v in values]
            return [(word, *pair) for word, pair in zip(words, effects, strict=True)]
    return [(_key_words(key), *pair) for key, pair in estimates.items()]


def lead_of(
    check: Check, measured: Measured, side: Sequence[Cell], floors: Mapping[str, float]
) -> Estimate | None:
    """Return how far the cells of a side lie above their floors on average; None: nothing known.

    From the side's own cells, whatever they are compared with. Every value of an axis counts alike.

    Args:
        check: on an accuracy; of a check on a history the last values count.
        measured: the cells of a suite at a scale, and the finished ones among them.
        side: cells of one side.
        floors: of each of them that is finished, by its id.
    """
    last = check.model_copy(update={"at": None})
    cells = [cell for cell in side if cell.id in floors]
    points: dict[str, Term] = {}
    for cell in cells:
        empty = Term(1.0, Seeds(), measured.alike(cell, last))
        value = measured.metrics[cell.id][check.metric] - floors[cell.id]
        points.setdefault(cell.but_seed, empty).values[cell.seed] = value
    if not points:
        return None
    terms = [term._replace(weight=1 / len(points)) for term in points.values()]
    lead = contrast(terms, measured.how(last, cells), measured.pools(last, cells))
    if lead is None:
        return None
    return sure_to_a_step(lead, _step(last, cells, measured.metrics))


def _key_words(key: Key) -> str:
    if not all(isinstance(part, tuple) for part in key):
        return ""
    return ", ".join(f"{name} {value_text(value, null='none')}" for name, value in key)


def _step(check: Check, cells: Sequence[Cell], metrics: Metrics) -> float | None:
    """Return the step in which the metric moves: the cells' own, else the least gap measured."""
    steps = [step for cell in cells if (step := cell.step_of(check.metric)) is not None]
    if steps and len(steps) == len(cells):
        return max(steps)
    values = {m for c in cells if (m := metrics[c.id].get(check.metric)) is not None}
    gaps = np.diff(sorted(values))
    return float(gaps.min()) if len(gaps) else None
