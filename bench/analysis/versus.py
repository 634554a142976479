"""Two methods, or two losses, in one suite: how far one lies above the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis.claims import LEVEL, judge_check
from bench.analysis.effects import cells_named, groups_of
from bench.analysis.measured import Measured
from bench.analysis.statistics import Interval
from bench.cells.cell import Cell
from bench.papers.reader import Claim
from bench.suites.checks import Exceeds, Where

SETTINGS = ("method", "loss")  # that a name may be a value of
_NOT_A_CLAIM = Claim("versus", "", "", "", "")


@dataclass(frozen=True)
class Lead:
    """How far the first lies above the second: the mean over all other settings of a suite."""

    metric: str
    difference: Interval
    groups: int  # points of the other settings that both have
    why: str | None  # nothing can be decided here
    level: float = LEVEL

    @property
    def sign(self) -> int:
        """1 where the first lies above, -1 where the second does, 0 where neither is sure."""
        low, high = self.difference.low, self.difference.high
        if self.why is not None or low is None or high is None:
            return 0
        return int(low > 0) - int(high < 0)


def setting_of(first: str, second: str, cells: Sequence[Cell]) -> str | None:
    """Return the setting that has both values among the cells; None where none has.

    Args:
        first: a method or a loss.
        second: another one.
        cells: the cells to look among.
    """
    for name in SETTINGS:
        values = {cell.settings.get(name) for cell in cells}
        if {first, second} <= values:
            return name
    return None


def sides(setting: str, first: str, second: str) -> tuple[Where, Where]:
    """Return which cells are the first's and which the second's.

    Args:
        setting: the setting that has both values.
        first: its value on the first side.
        second: its value on the second side.
    """
    return {setting: first}, {setting: second}


def lead(measured: Measured, setting: str, first: str, second: str, metric: str) -> Lead | None:
    """Return the lead of the first over the second, judged as a check of a claim is.

    Cells are compared where they agree in all settings that do not follow from the one that tells
    the two apart.

    Args:
        measured: the cells of a suite at a scale.
        setting: that has both values (`setting_of`).
        first: its value on one side.
        second: its value on the other.
        metric: the cells'.

    Returns:
        None where no seed has a finished cell on both sides.
    """
    where, than = sides(setting, first, second)
    check = Exceeds(check="exceeds", metric=metric, where=where, than=than, mean=True)
    judged = judge_check(check, _NOT_A_CLAIM, measured)
    if judged.effect is None:
        return None
    each = check.model_copy(update={"mean": False})
    needed = cells_named(check, measured.index)
    groups, _ = groups_of(each, measured, measured.numbers(each, needed))
    return Lead(metric, judged.effect, len(groups), judged.why)
