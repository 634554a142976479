"""The vocabulary in which a paper's claim becomes a check on measured results.

Each check yields *effects*, numbers with an interval over seeds: one for each group of cells that
agree in the settings it does not name. `analysis/predicates.py` says which and where they must lie,
`analysis/claims.py` makes one verdict of all groups. `where` picks cells by their settings.
"""

from typing import Annotated, Literal

from pydantic import Field

from bench.record import Record

Where = dict[str, bool | int | float | str | None]
Margin = Annotated[float, Field(ge=0)]


class CheckRecord(Record):
    """What every check names: a metric, and the cells that it speaks of."""

    metric: str
    where: Where = {}


class Flat(CheckRecord):
    """The metric moves by at most `within` over the axis; effects: between any two values."""

    check: Literal["flat"]
    over: str
    within: Margin


class Flatter(CheckRecord):
    """The metric moves less over the axis than it does in the cells of `than`.

    Effects: the range of `than` less its own.
    """

    check: Literal["flatter"]
    over: str
    than: Where


class Steadier(CheckRecord):
    """The metric's standard deviation over the axis is smaller than in the cells of `than`.

    Effects: that of `than` less its own.
    """

    check: Literal["steadier"]
    over: str
    than: Where


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
    direction: Literal["rising", "falling"]


class Peak(CheckRecord):
    """The metric is largest near a value of the axis.

    Effect: its best value for `near[0] <= over <= near[1]` less its best value elsewhere.
    """

    check: Literal["peak"]
    over: str
    near: Annotated[list[float], Field(min_length=2, max_length=2)]


class Exceeds(CheckRecord):
    """The metric exceeds that of the cells of `than` by more than `by`, wherever both are.

    A negative `by` says that it is not lower by more than that.
    Effects: the differences; with `mean` their mean over all other settings alone.
    """

    check: Literal["exceeds"]
    than: Where
    by: float = 0.0
    mean: bool = False


class Change(CheckRecord):
    """The metric rises (or falls) by more than `by` from one end of the axis to the other.

    Effects: the changes in the stated direction.
    """

    check: Literal["change"]
    over: str
    direction: Literal["rising", "falling"]
    by: Margin = 0.0


class Crossing(CheckRecord):
    """The metric exceeds that of `than` at the first of two values of the axis, not at the second.

    Effects: its lead at the first, its lag at the second.
    """

    check: Literal["crossing"]
    over: str
    than: Where
    between: Annotated[list[float], Field(min_length=2, max_length=2)]


Check = Annotated[
    Flat | Flatter | Steadier | Equal | Below | Ordered | Peak | Exceeds | Change | Crossing,
    Field(discriminator="check"),
]
