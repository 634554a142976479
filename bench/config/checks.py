"""The vocabulary in which a paper's claim becomes a check on measured results.

Each check yields one number a seed, its *effect*, and a threshold; `analysis/claims.py` turns
effects into a verdict. `where` picks cells by their settings.
"""

from typing import Annotated, Literal

from pydantic import Field

from bench.config.record import Record

Where = dict[str, bool | int | float | str | None]
Margin = Annotated[float, Field(ge=0)]


class CheckRecord(Record):
    """What every check names: a metric, and the cells that it speaks of."""

    metric: str
    where: Where = {}


class Flat(CheckRecord):
    """The metric moves by at most `within` over the axis; effect: its largest range."""

    check: Literal["flat"]
    over: str
    within: Margin


class Flatter(CheckRecord):
    """The metric moves less over the axis than it does in the cells of `than`.

    Effect: the smallest difference of the two ranges over all other settings.
    """

    check: Literal["flatter"]
    over: str
    than: Where


class Equal(CheckRecord):
    """The metric equals `value`, or that of the cells of `than`, within a margin.

    Effect: the largest absolute difference.
    """

    check: Literal["equal"]
    within: Margin
    value: float | None = None
    than: Where | None = None


class Below(CheckRecord):
    """The metric is below another metric of the same cell; effect: its largest excess."""

    check: Literal["below"]
    bound: str


class Ordered(CheckRecord):
    """The metric rises (or falls) from each value of the axis to the next.

    Effect: the smallest step in the stated direction.
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
    Effect: the smallest difference over all other settings. With `mean` it is the mean difference:
    the smallest of many noisy ones lies below their mean by chance alone.
    """

    check: Literal["exceeds"]
    than: Where
    by: float = 0.0
    mean: bool = False


class Change(CheckRecord):
    """The metric rises (or falls) by more than `by` from one end of the axis to the other.

    Effect: the smallest change in the stated direction over all other settings.
    """

    check: Literal["change"]
    over: str
    direction: Literal["rising", "falling"]
    by: Margin = 0.0


Check = Annotated[
    Flat | Flatter | Equal | Below | Ordered | Peak | Exceeds | Change,
    Field(discriminator="check"),
]
