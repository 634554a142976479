"""Comparison of two methods or two losses in one suite."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis.contrasts import difference, groups_among, whole_seeds
from bench.analysis.measured import Measured
from bench.analysis.statistics import Interval
from bench.cells.axes import OWN_OF_LOSS, OWN_OF_METHOD
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.cells.learning_rate import SCALED
from bench.suites.checks import Exceeds, Where
from bench.suites.suite import Scalar

SETTINGS = ("method", "loss")  # that a name may be a value of
_OWN = {"method": OWN_OF_METHOD, "loss": OWN_OF_LOSS}


@dataclass(frozen=True)
class Unequal:
    """A setting that differs between the sides but is not part of the method or loss."""

    setting: str
    first: tuple[Scalar, ...]  # its values on the first side
    second: tuple[Scalar, ...]


@dataclass(frozen=True)
class Lead:
    """Mean lead of the first over the second, over the points that a suite has of both.

    If other training settings differ too, they may contribute to the difference.
    """

    metric: str
    difference: Interval
    groups: int  # points of the other settings that both have
    unequal: tuple[Unequal, ...] = ()  # other settings that differ between the two sides
    cells: frozenset[str] = frozenset()  # the ids of those that are compared
    left_out: int = 0  # points with an unreliable number

    @property
    def sign(self) -> int:
        """1 if the first is higher, -1 if the second is higher, 0 if undecided."""
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return 0
        return int(low > 0) - int(high < 0)


def setting_of(first: str, second: str, cells: Sequence[Cell]) -> str | None:
    """Return the setting that takes both values among the cells; None if there is none.

    Args:
        first: a method or a loss.
        second: another method or loss.
        cells: the cells to search.
    """
    for name in SETTINGS:
        values = {cell.settings.get(name) for cell in cells}
        if {first, second} <= values:
            return name
    return None


def lead(
    measured: Measured, cells: Sequence[Cell], setting: str, first: str, second: str, metric: str
) -> Lead | None:
    """Return the mean lead of the first over the second; None if no seed has both sides.

    Compared cells agree in all settings except `setting` and those that follow from it. Points with
    an unreliable number are left out whole, because the other seeds would be a selection. Points
    that only one side has begun are left out too. A seed counts on a side if all of its cells at
    the other points are finished.

    Args:
        measured: all cells of a suite at a scale and the metrics of the finished ones.
        cells: the cells to compare, finished or not.
        setting: the setting that takes both values (`setting_of`).
        first: its value on the first side.
        second: its value on the second side.
        metric: name of the metric.
    """
    where: Where = {setting: first}
    than: Where = {setting: second}
    check = Exceeds(check="exceeds", metric=metric, where=where, than=than, mean=True)
    known = (measured.metrics, measured.doubts)
    started = [
        group
        for group in groups_among(check, CellIndex(cells)).values()
        if all(any(metric in of.get(c.id, {}) for c in side for of in known) for side in group)
    ]
    groups = [g for g in started if measured.why_left_out(metric, [*g[0], *g[1]]) is None]
    estimate = difference(metric, [(ours, theirs) for ours, theirs in groups], measured)
    if not groups or estimate is None:
        return None
    sides = [[cell for group in groups for cell in group[i]] for i in (0, 1)]
    whole = [c for side in sides for c in whole_seeds(metric, side, measured.metrics)]
    ids = frozenset(cell.id for cell in whole)
    unequal = _unequal(setting, groups)
    left_out = len(started) - len(groups)
    return Lead(metric, estimate.interval(), len(groups), unequal, ids, left_out=left_out)


def _unequal(setting: str, groups: Sequence[Sequence[Sequence[Cell]]]) -> tuple[Unequal, ...]:
    """Return the settings, besides those that say what the two are, that differ in any group."""
    own = _OWN[setting] | {setting, "seed"}
    cells = [c for group in groups for side in group for c in side]
    own |= {name for cell in cells for name in cell.parameters}
    names = dict.fromkeys(name for cell in cells for name in cell.settings)
    found = []
    for name in names:
        pairs = [[_values(name, side) for side in group] for group in groups]
        if name not in own and any(first != second for first, second in pairs):
            first, second = (tuple(dict.fromkeys(v for p in pairs for v in p[i])) for i in (0, 1))
            found.append(Unequal(name, first, second))
    return tuple(found)


def _values(name: str, cells: Sequence[Cell]) -> list[Scalar]:
    """Return a setting's values; a rate or size that another setting gives counts as none."""
    return list(
        dict.fromkeys(None if _is_derived(name, c) else c.settings.get(name) for c in cells)
    )


def _is_derived(name: str, cell: Cell) -> bool:
    settings = cell.settings
    if name == "N" and name in settings:
        return bool(settings["N"] == settings.get("batch_size"))
    return name in SCALED and settings.get(SCALED[name]) is not None
