"""The effects of a check, and the lead of its sides over a floor, estimated from finished cells."""

from collections.abc import Mapping, Sequence

import numpy as np

from bench.analysis.effects import Group, Key, Known, groups_of, telling_settings
from bench.analysis.measured import Measured, Metrics
from bench.analysis.statistics import Estimate, Seeds, Term, contrast, sure_to_a_step
from bench.cells.cell import Cell
from bench.suites.checks import Check

MOST_SHOWN = 4  # groups of a check whose effects are told one by one

Estimates = dict[Key, tuple[Group, Estimate]]


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


def names_of(estimates: Estimates) -> list[Known]:
    """Return what tells each group from others, if any: settings, and where on an axis it is."""
    groups = [group for group, _ in estimates.values()]
    if len(groups) == 1:
        return [{}]
    cells = {id(of.sides): (of.sides[0][0].known, of.settings) for of in groups}
    told = telling_settings(list(cells.values())) if len(cells) > 1 else [{}]
    settings = dict(zip(cells, told, strict=True))
    return [settings[id(of.sides)] | of.at for of in groups]


def others_than(group: Group, estimates: Estimates) -> list[tuple[Known, Estimate]]:
    """Return the effects of other cells, each with its name; none where there are many.

    None either where an axis or the two ways of `moves-less` tell effects apart.

    Args:
        group: one of them.
        estimates: of `estimates_of`.
    """
    groups = [of for of, _ in estimates.values()]
    if len(groups) > MOST_SHOWN or len({id(of.sides) for of in groups}) < len(groups):
        return []
    if any(of.at for of in groups):
        return []
    told = zip(names_of(estimates), estimates.values(), strict=True)
    return [(settings, effect) for settings, (of, effect) in told if of is not group]


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


def _step(check: Check, cells: Sequence[Cell], metrics: Metrics) -> float | None:
    """Return the step in which the metric moves: the cells' own, else the least gap measured."""
    steps = [step for cell in cells if (step := cell.step_of(check.metric)) is not None]
    if steps and len(steps) == len(cells):
        return max(steps)
    values = {m for c in cells if (m := metrics[c.id].get(check.metric)) is not None}
    gaps = np.diff(sorted(values))
    return float(gaps.min()) if len(gaps) else None
