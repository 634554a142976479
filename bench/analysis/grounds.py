"""What a check on an accuracy stands on: sides that learned, and room between floor and ceiling.

Where either is absent nothing can be said of the sentence, whatever the numbers are. A side is
judged as a family: by the mean of its cells along the check's axis, for a sentence may speak of a
temperature or a number of negatives that ruins one end of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.analysis.effects import Group, fits, sides_of
from bench.analysis.measured import Measured
from bench.analysis.room import Room
from bench.cells.cell import Cell
from bench.cells.telling import without_followers
from bench.suites.checks import Check, Where
from bench.text import value_text

NOT_COMPUTED = "its floor and ceiling are not computed yet"
LEFT = 10.0
"""Percent points that floor and ceiling lie apart beyond the smallest effect that is seen.

In the middle of them either end is five points away. Of the distances that the papers' printed
numbers keep from the thresholds of their claims (`printed_margins.yaml`) nineteen in twenty are
smaller, so that neither end cuts off what is looked for.
"""


@dataclass(frozen=True)
class Grounds:
    """What one effect of a check stands on."""

    room: Room | None = None  # the narrowest of its cells'; None: none is known
    missing: bool = False  # whether there would be one, had its baselines been computed
    unlearned: tuple[str, ...] = ()  # of each side that did not learn: that, with the numbers
    cramped: str | None = None  # that there is no room, with the numbers

    @property
    def are_sound(self) -> bool:
        """Whether the effect says something."""
        return not (self.missing or self.unlearned or self.cramped)

    @property
    def told(self) -> str | None:
        """Why the effect says nothing, in words; None where it says something."""
        return NOT_COMPUTED if self.missing else self.why

    @property
    def why(self) -> str | None:
        """What is wrong with them, in words."""
        return "; ".join([*self.unlearned, *([self.cramped] if self.cramped else [])]) or None


def grounds_of(check: Check, group: Group, seen: float | None, measured: Measured) -> Grounds:
    """Return what an effect of a check stands on; nothing is asked of what is no accuracy.

    Args:
        check: on a metric that baselines may have measured.
        group: the cells that the effect is made of.
        seen: the smallest effect that is seen; None with one seed, which decides nothing anyway.
        measured: the cells of a scale, and its rooms.
    """
    cells = [cell for side in group.sides for cell in side]
    rooms = measured.rooms.of(check.metric, cells)
    if measured.rooms.are_missing(check.metric, cells):
        return Grounds(missing=True)
    if not rooms:
        return Grounds()
    # What is read of a history need not be in percent.
    least = 0.0 if check.at is not None and check.at.reaches is not None else seen or 0.0
    narrowest, needed, cramped = min(rooms, key=lambda room: room.room), least + LEFT, None
    if narrowest.room < needed:
        cramped = (
            f"too little room: {narrowest.room:.1f} points, and {needed:.1f} would be needed (the "
            f"smallest effect seen, {least:.2g}, and {LEFT:g} more)"
        )
    sides = [] if check.may_collapse else zip(sides_of(check), group.sides, strict=True)
    told = [_unlearned(check, where, side, least, measured) for where, side in sides]
    return Grounds(narrowest, False, tuple(t for t in told if t), cramped)


def _unlearned(
    check: Check,
    where: Where,
    side: Sequence[Cell],
    margin: float,
    measured: Measured,
) -> str | None:
    """Return that a side does not beat its floor by more than a margin, if so; with the numbers."""
    rooms = [(c, measured.rooms.of_cell(check.metric, c)) for c in side]
    found = [(measured.metrics[c.id].get(check.metric), room) for c, room in rooms]
    pairs = [(value, room) for value, room in found if value is not None and room is not None]
    if not pairs:
        return None
    level, floor = fmean(value for value, _ in pairs), fmean(room.floor for _, room in pairs)
    if level - floor > margin:
        return None
    names = " or ".join(dict.fromkeys(room.floor_is for _, room in pairs))
    who = _family(check, where, side, measured)
    told = f"{who} did not learn here: {check.metric} {level:.1f}, {names} {floor:.1f}"
    if level <= floor:
        return told
    return f"{told}; so small a lead is not seen, {margin:.2g} would be"


def _family(check: Check, where: Where, side: Sequence[Cell], measured: Measured) -> str:
    """Return the settings that tell the cells of a side from all others that the check looks at."""
    known = [measured.known(cell) for cell in measured.cells]
    points = [
        {name: value for name, value in own.items() if name != "seed"}
        for own in known
        if any(fits(own, named) for named in sides_of(check))
    ]
    first, *others = [measured.known(cell) for cell in side]
    shared = [n for n in first if all(own.get(n) == first[n] for own in others)]
    told = where | {n: first[n] for n in without_followers(points) if n in shared}
    return value_text(told) or "what was trained"
