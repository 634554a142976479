"""Requirements for a check on accuracies: both sides learned, and headroom exists.

Without both, the claim is not judged. A side is judged by the mean of its cells along the check's
axis, because a claim may include a temperature or a number of negatives that prevents learning.
Whether a side learned depends only on its own cells: it did if the 95 % interval of their lead over
the trivial baseline lies above 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from bench.analysis.contrasts import cells_named, lead_of
from bench.analysis.measured import Measured
from bench.analysis.room import Room
from bench.cells.cell import Cell
from bench.cells.groups import without_followers
from bench.suites.checks import Check, Where
from bench.suites.metric_words import metric_words
from bench.text import value_text

NOT_COMPUTED = "the trivial baseline and supervised accuracy are not computed yet"
LEFT = 10.0
"""Percent points of headroom that are needed beyond the minimum detectable effect.

In the middle of them either end is five points away. A claim's printed numbers keep some distance
from the thresholds of its checks (`printed_checks.yaml`); of nineteen claims in twenty the smallest
one is below that, so that neither end cuts off what is looked for.
"""


@dataclass(frozen=True)
class Grounds:
    """Reasons for and against interpreting one effect of a check."""

    room: Room | None = None  # the narrowest of its cells'; None: none is known
    missing: bool = False  # whether there would be one, had its baselines been computed
    unlearned: tuple[str, ...] = ()  # of each side that did not learn: that, with the numbers
    cramped: str | None = None  # that there is no room, with the numbers

    @property
    def are_sound(self) -> bool:
        """Whether the effect can be interpreted."""
        return not (self.missing or self.unlearned or self.cramped)

    @property
    def in_words(self) -> str | None:
        """The reason why the effect cannot be interpreted; None if it can."""
        return NOT_COMPUTED if self.missing else self.why

    @property
    def why(self) -> str | None:
        """The reason why the effect cannot be interpreted, as text."""
        return "; ".join([*self.unlearned, *([self.cramped] if self.cramped else [])]) or None


class Footing:
    """Levels and headroom of the sides of an effect; effects of the same cells share one."""

    def __init__(self, check: Check, sides: Sequence[Sequence[Cell]], measured: Measured) -> None:
        """Look up the rooms; nothing is asked of what is no accuracy.

        Args:
            check: on a metric that baselines may have measured.
            sides: all cells of each side that the check compares, its own first.
            measured: the cells of a scale, and its rooms.
        """
        self._check, self._sides, self._measured = check, sides, measured
        cells = [cell for side in sides for cell in side]
        self._rooms = measured.rooms.of(check.metric, cells)
        self._are_missing = measured.rooms.are_missing(check.metric, cells)

    def grounds(self, seen: float | None) -> Grounds:
        """Return whether an effect of these cells can be interpreted, and why.

        Args:
            seen: the minimum detectable effect; None with one seed, which decides nothing.
        """
        if self._are_missing:
            return Grounds(missing=True)
        if not self._rooms:
            return Grounds()
        least = seen or 0.0
        narrowest = min(self._rooms, key=lambda room: room.room)
        needed, cramped = least + LEFT, None
        if narrowest.room < needed:
            cramped = (
                f"the headroom is too small: {narrowest.room:.1f} points, but {needed:.1f} "
                f"are needed (the minimum detectable effect of {least:.2g} plus {LEFT:g})"
            )
        return Grounds(narrowest, False, self._unlearned, cramped)

    @cached_property
    def _unlearned(self) -> tuple[str, ...]:
        """Of each side that did not learn: that, with the numbers."""
        if self._check.may_collapse:
            return ()
        sides = zip(self._check.sides, self._sides, strict=True)
        return tuple(told for where, side in sides if (told := self._not_learned(where, side)))

    def _not_learned(self, where: Where, side: Sequence[Cell]) -> str | None:
        """Return that the interval of a side's lead over its floor reaches 0, with the numbers."""
        metric, measured = self._check.metric, self._measured
        measuring = [cell for cell in side if metric in measured.metrics[cell.id]]
        rooms = {c.id: r for c in measuring if (r := measured.rooms.of_cell(metric, c))}
        lead = lead_of(self._check, measured, side, {name: r.floor for name, r in rooms.items()})
        if lead is None:
            return None
        interval = lead.interval()
        if (lead.mean if interval.low is None else interval.low) > 0:
            return None
        floor = fmean(room.floor for room in rooms.values())
        names = " or ".join(dict.fromkeys(room.floor_is for room in rooms.values()))
        told = (
            f"{_family(self._check, where, side, measured)} are not detectably above baseline: "
            f"{metric_words(metric)} {floor + lead.mean:.1f}, {names} {floor:.1f}"
        )
        if lead.mean <= 0:
            return told
        return f"{told}; 95 % interval of the lead {interval.low:.1f} to {interval.high:.1f} points"


def _family(check: Check, where: Where, side: Sequence[Cell], measured: Measured) -> str:
    """Return the settings that tell the cells of a side from all others that the check looks at."""
    points = [
        {name: value for name, value in cell.known.items() if name != "seed"}
        for cell in cells_named(check, measured.index)
    ]
    first, *others = [cell.known for cell in side]
    shared = [n for n in first if all(other.get(n) == first[n] for other in others)]
    settings = where | {n: first[n] for n in without_followers(points) if n in shared}
    told = dict(sorted(settings.items()))  # one name, whichever check names the cells
    return f"cells with {value_text(told)}" if told else "the trained cells"
