"""The vocabulary in which a paper's claim becomes a check on measured results.

Each check yields *effects*, one for each group of cells that agree in the settings it does not
name: weighted sums of means over seeds, chosen before anything is measured. No effect is a range, a
deviation or a largest value over an axis, which noise alone makes large. `analysis/effects.py` says
which and where they must lie, `analysis/claims.py` makes one verdict of all groups. `where` picks
cells by their settings.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bench.record import Record

Where = dict[str, bool | int | float | str | None]
Margin = Annotated[float, Field(ge=0)]
Direction = Literal["rising", "falling"]


class At(Record):
    """One number of a metric's history instead of the summary's; exactly one key."""

    epoch: Annotated[float, Field(gt=0)] | None = None  # the last record up to this epoch
    since: Annotated[float, Field(gt=0)] | None = None  # the last value less that at this epoch
    area: Literal[True] | None = None  # the mean over the epochs recorded
    reaches: float | None = None  # the first epoch at or above this level; the last where none is

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if sum(value is not None for value in self.model_dump().values()) != 1:
            raise ValueError("at: needs one of epoch, since, area and reaches")
        return self


class CheckRecord(Record):
    """What every check names: a metric, and the cells that it speaks of."""

    metric: str
    where: Where = {}
    at: At | None = None  # of the metric's history
    part: str | None = None  # what of the sentence it tests, where that is not the whole
    shown: bool = (
        False  # beside the verdict, which it does not decide: another metric than the paper's
    )
    may_collapse: bool = False  # the sentence itself speaks of a network that learns nothing


class Flat(CheckRecord):
    """The metric moves by at most `within` over the axis; effects: between any two values."""

    check: Literal["flat"]
    over: str
    within: Margin


class Equal(CheckRecord):
    """The metric equals `value`, or that of the cells of `than`, within a margin.

    Effects: the differences.
    """

    check: Literal["equal"]
    within: Margin
    value: float | None = None
    than: Where | None = None


class Below(CheckRecord):
    """The metric is at most another metric of the same cell; effects: its excess."""

    check: Literal["below"]
    bound: str


class Ordered(CheckRecord):
    """The metric rises (or falls) from each value of the axis to the next.

    Effects: each step in the stated direction.
    """

    check: Literal["ordered"]
    over: str
    direction: Direction


class Peak(CheckRecord):
    """The metric, or its lead over the cells of `than`, is larger near a value of the axis.

    Effect: its mean for `near[0] <= over <= near[1]` less its mean elsewhere, more than `by`.
    """

    check: Literal["peak"]
    over: str
    near: Annotated[list[float], Field(min_length=2, max_length=2)]
    than: Where | None = None
    by: float = 0.0


class Exceeds(CheckRecord):
    """The metric exceeds `value`, or that of the cells of `than`, by more than `by`.

    A negative `by` says that it is not lower by more than that.
    Effects: the differences; with `mean` their mean over all other settings alone.
    """

    check: Literal["exceeds"]
    than: Where | None = None
    value: float | None = None
    by: float = 0.0
    mean: bool = False

    @model_validator(mode="after")
    def _names_one_other_side(self) -> Self:
        if (self.than is None) == (self.value is None):
            raise ValueError("exceeds: needs one of than and value")
        return self


class GainExceeds(CheckRecord):
    """The lead over the cells of `than` exceeds that of other cells over theirs by more than `by`.

    Effects: the differences of the two leads.
    """

    check: Literal["gain-exceeds"]
    than: Where
    other: Where
    other_than: Where
    by: float = 0.0


class GainGrows(CheckRecord):
    """The lead over the cells of `than` grows by more than `by` along the axis.

    Effect: the lead at one end less the lead at the other; `rising`: it grows as the axis rises.
    With `mean` its mean over all other settings alone.
    """

    check: Literal["gain-grows"]
    over: str
    than: Where
    direction: Direction
    by: float = 0.0
    mean: bool = False


class Change(CheckRecord):
    """The metric rises (or falls) by more than `by` from one end of the axis to the other.

    A negative `by` says that it does not move the other way by more than that.
    Effects: the changes in the stated direction.
    """

    check: Literal["change"]
    over: str
    direction: Direction
    by: float = 0.0


class MovesLess(CheckRecord):
    """From one end of the axis to the other the metric moves less than in the cells of `than`.

    Effects: the change of `than` in the stated direction less the metric's own, and the same with
    its own turned round: both more than `by` where its own is smaller in either direction.
    """

    check: Literal["moves-less"]
    over: str
    over_from: float | None = None  # smaller values of the axis are left out
    than: Where
    direction: Direction
    by: float = 0.0


class Crossing(CheckRecord):
    """The metric exceeds that of `than` at the first of two values of the axis, not at the second.

    Effects: its lead at the first, its lag at the second.
    """

    check: Literal["crossing"]
    over: str
    than: Where
    between: Annotated[list[float], Field(min_length=2, max_length=2)]


Check = Annotated[
    Flat
    | Equal
    | Below
    | Ordered
    | Peak
    | Exceeds
    | GainExceeds
    | GainGrows
    | Change
    | MovesLess
    | Crossing,
    Field(discriminator="check"),
]
