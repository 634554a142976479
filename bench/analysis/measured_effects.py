"""The effects that the cells of a scale have between two sides: one for each group of cells."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis.effects import Known, groups_of, sides_of
from bench.analysis.estimates import estimates_of
from bench.analysis.grounds import Footing, Grounds
from bench.analysis.measured import Measured
from bench.analysis.statistics import LEVEL, Estimate
from bench.cells.cell import Cell
from bench.results.reader import Finished
from bench.suites.checks import Exceeds, Where

DETECTED = (1 - LEVEL) / 2
"""The one-sided level at which the interval of an effect excludes 0."""


@dataclass(frozen=True)
class MeasuredEffect:
    """Two groups of cells that are alike but for the settings of their sides, and their seeds."""

    key: Known  # what tells it from the other effects of the same sides
    settings: Known  # those of the cells that the effect is of
    base: Known  # and of those that it is taken over
    estimate: Estimate | None  # None where no seed of both is finished
    grounds: Grounds  # what it stands on
    cells: tuple[str, ...]  # their ids
    done: tuple[str, ...]  # the ids of the finished ones


def measured_effects(
    metric: str, side: Where, base: Where, measured: Measured
) -> list[MeasuredEffect]:
    """Return how far cells with some settings lie above cells with others, group by group.

    Each group is estimated by itself, from the seeds that it has: other groups may be unfinished.

    Args:
        metric: of the cells.
        side: settings of the cells on one side.
        base: settings of those on the other; a cell on both sides leaves no effect.
        measured: the cells of a suite at a scale, and the finished ones among them.
    """
    check = Exceeds(check="exceeds", metric=metric, where=side, than=base)
    cells = _cells(check, measured)
    if not all(cells) or {c.id for c in cells[0]} & {c.id for c in cells[1]}:
        return []
    everything = [*cells[0], *cells[1]]
    unread = Measured("", everything, [(c, Finished({metric: 0.0}, {})) for c in everything])
    groups, _ = groups_of(check, unread, unread.metrics)
    return [_of_group(check, dict(key), measured) for key in groups]


def _of_group(check: Exceeds, key: Known, measured: Measured) -> MeasuredEffect:
    where, base = ({**side, **key} for side in (check.where, check.than or {}))
    narrow = check.model_copy(update={"where": where, "than": base})
    ours, theirs = _cells(narrow, measured)
    estimates, _ = estimates_of(narrow, measured, [*ours, *theirs])
    known, known_base = ours[0].known, theirs[0].known
    ids = [cell.id for cell in (*ours, *theirs)]
    done = [name for name in ids if check.metric in measured.metrics.get(name, {})]
    estimate, grounds = None, Grounds()
    for group, estimate in estimates.values():  # one, if there is any
        footing = Footing(narrow, group.sides, measured)
        grounds = footing.grounds(estimate.smallest_effect(DETECTED))
    return MeasuredEffect(key, known, known_base, estimate, grounds, tuple(ids), tuple(done))


def _cells(check: Exceeds, measured: Measured) -> list[Sequence[Cell]]:
    """Return the cells of each side."""
    return [measured.index.where(side) for side in sides_of(check)]
