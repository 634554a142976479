"""Checks: a paper's claim as a comparison of measured results.

A check yields *effects*, one per group of cells that agree in all settings that the check does not
name. Effects are weighted sums of means over seeds, fixed before any measurement. Ranges, standard
deviations and maxima over an axis are not used, because noise increases them. Each class below is
one kind of check. It defines the compared sides, the weights of effects, the required region and
the texts. A new kind needs a class that is named in `Check`. `analysis/contrasts.py` estimates the
effects; `analysis/claims.py` combines all groups into one verdict.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf, nextafter
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from bench.errors import SuiteError
from bench.papers.printed_checks import PrintedCheck
from bench.papers.vocabulary import value_name
from bench.record import Record
from bench.suites.metric_words import metric_words, unit_of_metric
from bench.text import value_text

Where = dict[str, bool | int | float | str | None]
Margin = Annotated[float, Field(ge=0)]
Direction = Literal["rising", "falling"]
ValuesOfSides = Sequence[Collection[Any]]
"""Values of the axis at which each side has points; [None] without an axis."""

DIRECTION = "the direction, not the size"
WAYS = {"rising": "a rise", "falling": "a fall"}
SETTINGS = {"batch_size": "batch size", "drawn": "vector keys", "scalar_drawn": "scalar keys"}
LEAST_POINTS = 2  # of an axis


@dataclass(frozen=True)
class Region:
    """Required region of an effect, from low to high, inclusive."""

    low: float
    high: float

    def margin(self, mean: float) -> float:
        """Return the distance of a number from the region's bound; negative outside."""
        return min(mean - self.low, self.high - mean)


class Weight(NamedTuple):
    """Weight of one point in an effect: its side and its position on the axis."""

    side: int
    at: Any
    weight: float


class Effect(NamedTuple):
    """One effect of a check: its distinguishing settings and its weights."""

    name: tuple[Any, ...]
    weights: list[Weight]


class At(Record):
    """Use one number of a metric's history instead of the summary's; exactly one key is set."""

    since: Annotated[float, Field(gt=0)] | None = None  # the last value less that at this epoch
    area: Literal[True] | None = None  # the mean over the epochs recorded

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.since is None) == (self.area is None):
            raise ValueError("at: exactly one of the keys `since` and `area` is needed")
        return self

    @property
    def words(self) -> str:
        """Time of the number, as text."""
        return ", mean over epochs" if self.area else f" since epoch {self.since:g}"


class CheckRecord(Record, ABC):
    """Common fields of checks: a metric and the compared cells."""

    shows_sides: ClassVar[bool] = False  # whether its words name both sides' own numbers
    stepwise: ClassVar[bool] = False  # whether each effect lies between two values of the axis
    is_published: ClassVar[bool] = True  # whether papers print what it compares

    metric: str
    where: Where = {}
    at: At | None = None  # of the metric's history
    part: str | None = None  # what of the claim it tests, where that is not the whole
    shown: bool = False  # next to the verdict without deciding it: not the paper's metric
    may_collapse: bool = False  # the claim itself speaks of a network that learns nothing

    @property
    def sides(self) -> list[Where]:
        """Settings of each compared side, its own first."""
        than: Where | None = getattr(self, "than", None)
        return [self.where] if than is None else [self.where, than]

    @property
    def along(self) -> str | None:
        """The axis setting of the check, if it has one."""
        over: str | None = getattr(self, "over", None)
        return over

    @property
    def averages(self) -> bool:
        """Whether its single effect is the mean over all groups."""
        return bool(getattr(self, "mean", False))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that a cell must have."""
        return (self.metric,)

    @property
    def region(self) -> Region:
        """Required region of each effect."""
        return Region(nextafter(self.threshold, inf), inf)

    @property
    def threshold(self) -> float:
        """The region's bound, as in the suite file."""
        return 0.0

    @property
    def offset(self) -> float:
        """Number to subtract from the effects."""
        return 0.0

    @property
    def starts(self) -> dict[str, float]:
        """Smallest compared values of settings."""
        return {}

    def takes(self, settings: Mapping[str, Any]) -> bool:
        """Return whether a cell of a side is compared."""
        return all(settings[name] >= least for name, least in self.starts.items())

    def number(self, metrics: Mapping[str, float]) -> float:
        """Return the number of a cell that is averaged over seeds."""
        return metrics[self.metric]

    @abstractmethod
    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the effects of a group, given its sides' values on the axis."""

    def place(self, effect: Effect) -> dict[str, Any]:
        """Return the position of an effect on the axis, for kinds with several effects."""
        return {str(self.along): list(effect.name)} if self.stepwise else {}

    def judged_on(self, metric: str) -> Self:
        """Return the same check on another metric, which replaces the paper's."""
        return self.model_copy(update={"metric": metric})

    @property
    def unit(self) -> str:
        """Unit of the effects; empty if the metric has none."""
        return unit_of_metric(self.metric)

    @property
    def subject(self) -> str:
        """The compared quantity, as text: `linear accuracy, DCL - InfoNCE at batch size 32`."""
        at = self._pair[1] + ", mean over all other settings" * self.averages
        return f"{self._metric}{', ' * bool(self._said)}{self._said}{at}"

    @property
    def required(self) -> str:
        """The required effect, as text: `above 0`."""
        return f"above {self.threshold:g}"

    @property
    def undecided(self) -> str:
        """Reason why a check is undecided."""
        return f"the interval includes {self.threshold:g}"

    def published(self, printed: PrintedCheck, metric: str | None) -> str:
        """Return the result of the check on the paper's numbers, as text.

        Args:
            printed: result for the group nearest to the threshold.
            metric: the paper's metric, if the check is judged on a different metric.
        """
        of, least = _of(metric), " at least" * (printed.groups > 1)
        return f"paper{of}{least} {printed.effect:+.3g}"

    @property
    def _said(self) -> str:
        """The contrast in words: one side less the other, unless the kind looks along an axis."""
        return self._pair[0]

    @property
    def _metric(self) -> str:
        return metric_words(self.metric) + (self.at.words if self.at else "")

    @property
    def _axis_words(self) -> str:
        over = self.along or ""
        return SETTINGS.get(over, over)

    @property
    def _pair(self) -> tuple[str, str]:
        return _pair(self.where, getattr(self, "than", None))


class Within(CheckRecord):
    """Checks that require effects within a margin of 0."""

    within: Margin

    @property
    def region(self) -> Region:
        """Required region of each effect."""
        return Region(-self.within, self.within)

    @property
    def threshold(self) -> float:
        """The margin."""
        return self.within

    @property
    def required(self) -> str:
        """The required effect, as text."""
        return f"within ±{self.within:g}"

    @property
    def undecided(self) -> str:
        """Reason why a check is undecided."""
        return f"the interval includes values within and beyond ±{self.within:g}"

    def published(self, printed: PrintedCheck, metric: str | None) -> str:
        """Return the result of the check on the paper's numbers, as text."""
        return f"paper{_of(metric)} within ±{abs(printed.effect):.3g}"


class Sized(CheckRecord):
    """Checks that require effects above a size."""

    by: float = 0.0

    @property
    def threshold(self) -> float:
        """The required size."""
        return self.by

    def judged_on(self, metric: str) -> Self:
        """Return the check on another metric, without the size for the paper's metric."""
        changes: dict[str, Any] = {"metric": metric}
        if self.by > 0:
            changes |= {"by": 0.0, "part": "; ".join(filter(None, (DIRECTION, self.part)))}
        return self.model_copy(update=changes)


class Flat(Within):
    """The metric changes by at most `within` over the axis; effects: differences of two values."""

    stepwise: ClassVar[bool] = True
    check: Literal["flat"]
    over: str

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the differences between any two values."""
        return [Effect((a, b), _change(0, a, b)) for a, b in combinations(_shared(axis), 2)]

    @property
    def _said(self) -> str:
        return f"change over {self._axis_words}"


class Beside(CheckRecord):
    """Checks of a metric against a value or against the cells of another side."""

    value: float | None = None
    than: Where | None = None

    @property
    def offset(self) -> float:
        """Number to subtract from the effects."""
        return self.value or 0.0

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the single difference."""
        return [Effect((), _lead(len(axis), None))]

    @property
    def _metric(self) -> str:
        return super()._metric + (f" - {self.value:g}" if self.than is None and self.value else "")


class Equal(Within, Beside):
    """The metric equals `value`, or the metric of the cells of `than`, within a margin.

    The effects are the differences.
    """

    check: Literal["equal"]


class Below(CheckRecord):
    """The metric is at most another metric of the same cell; effects: the excess over it."""

    is_published: ClassVar[bool] = False
    check: Literal["below"]
    bound: str

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that a cell must have."""
        return self.metric, self.bound

    @property
    def region(self) -> Region:
        """Required region of each effect."""
        return Region(-inf, 0.0)

    @property
    def required(self) -> str:
        """The required effect, as text."""
        return "at most 0"

    def number(self, metrics: Mapping[str, float]) -> float:
        """Return the excess of one metric over the other."""
        return metrics[self.metric] - metrics[self.bound]

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the single excess."""
        return [Effect((), [Weight(side, None, 1.0) for side in range(len(axis))])]

    @property
    def _metric(self) -> str:
        return f"{super()._metric} - {metric_words(self.bound)}"


class Ordered(CheckRecord):
    """The metric rises (or falls) from each value of the axis to the next.

    The effects are the steps, positive in the stated direction.
    """

    stepwise: ClassVar[bool] = True
    check: Literal["ordered"]
    over: str
    direction: Direction

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the difference of each step."""
        sign = _sign(self.direction)
        return [Effect((a, b), _change(0, a, b, sign)) for a, b in pairwise(_shared(axis))]

    @property
    def _said(self) -> str:
        return f"step along {self._axis_words} ({WAYS[self.direction]} is positive)"


class Peak(Sized):
    """The metric, or its lead over the cells of `than`, is larger near a value of the axis.

    The effect is its mean for `near[0] <= over <= near[1]` minus its mean elsewhere. It must exceed
    `by`.
    """

    check: Literal["peak"]
    over: str
    near: Annotated[list[float], Field(min_length=2, max_length=2)]
    than: Where | None = None

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the mean near the value minus the mean elsewhere.

        Raises:
            SuiteError: a value of the axis is no number.
        """
        values = _shared(axis, least=1)
        if odd := [value for value in values if value is None or isinstance(value, str)]:
            raise SuiteError(f"`near` needs numbers, but `over` has the value {value_text(odd[0])}")
        inside = [a for a in values if self.near[0] <= a <= self.near[1]]
        outside = [a for a in values if a not in inside]
        if not inside or not outside:
            return []
        weights = [w for a in inside for w in _lead(len(axis), a, 1 / len(inside))]
        weights += [w for a in outside for w in _lead(len(axis), a, -1 / len(outside))]
        return [Effect((), weights)]

    @property
    def _said(self) -> str:
        (pair, _), (low, high) = self._pair, self.near
        return f"{pair}{', ' * bool(pair)}{self._axis_words} {low:g} to {high:g} - other values"


class Exceeds(Sized, Beside):
    """The metric exceeds `value`, or the metric of the cells of `than`, by more than `by`.

    A negative `by` allows the metric to be lower by up to -`by`. The effects are the differences.
    With `mean`, the effect is their mean over all other settings.
    """

    check: Literal["exceeds"]
    mean: bool = False

    @model_validator(mode="after")
    def _names_one_other_side(self) -> Self:
        if (self.than is None) == (self.value is None):
            raise ValueError("exceeds: exactly one of the keys `than` and `value` is needed")
        return self


class GainExceeds(Sized):
    """The lead over `than` exceeds the lead of other cells over their baseline by more than `by`.

    The effects are the differences between the two leads.
    """

    check: Literal["gain-exceeds"]
    than: Where
    other: Where
    other_than: Where

    @property
    def sides(self) -> list[Where]:
        """The four sides."""
        return [self.where, self.than, self.other, self.other_than]

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the difference between the two leads."""
        signs = (1.0, -1.0, -1.0, 1.0)
        return [Effect((), [Weight(i, None, signs[i]) for i in range(len(axis))])]

    @property
    def _said(self) -> str:
        (pair, shared), (other, at) = self._pair, _pair(self.other, self.other_than)
        return f"({pair}{shared}) - ({other}{at})"

    @property
    def subject(self) -> str:
        """The compared quantity, as text."""
        return f"{self._metric}, {self._said}"


class GainGrows(Sized):
    """The lead over the cells of `than` grows by more than `by` along the axis.

    The effect is the lead at one end minus the lead at the other. `rising` means that the lead
    grows as the axis rises. With `mean`, the effect is the mean over all other settings.
    """

    check: Literal["gain-grows"]
    over: str
    than: Where
    direction: Direction
    mean: bool = False

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the growth from one end to the other."""
        if not (values := _shared(axis)):
            return []
        sign = _sign(self.direction)
        return [Effect((), _lead(2, values[-1], sign) + _lead(2, values[0], -sign))]

    @property
    def _said(self) -> str:
        return f"growth of {self._pair[0]} with {self.direction} {self._axis_words}"


class Change(Sized):
    """The metric rises (or falls) by more than `by` from one end of the axis to the other.

    A negative `by` allows a change of up to -`by` in the other direction. The effects are the
    changes in the stated direction.
    """

    check: Literal["change"]
    over: str
    direction: Direction

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return the change from one end to the other."""
        if not (values := _shared(axis)):
            return []
        return [Effect((), _change(0, values[0], values[-1], _sign(self.direction)))]

    @property
    def _said(self) -> str:
        return f"change over {self._axis_words} ({WAYS[self.direction]} is positive)"


class MovesLess(Sized):
    """The metric changes less along the axis than in the cells of `than`.

    The first effect is the change of `than` in the stated direction minus the metric's own change.
    The second effect uses the own change with the opposite sign. Both must exceed `by`.
    """

    shows_sides: ClassVar[bool] = True
    check: Literal["moves-less"]
    over: str
    over_from: float | None = None  # smaller values of the axis are left out
    than: Where
    direction: Direction

    @property
    def starts(self) -> dict[str, float]:
        """Start of the compared part of the axis."""
        return {} if self.over_from is None else {self.over: self.over_from}

    def effects(self, axis: ValuesOfSides) -> list[Effect]:
        """Return both effects: with the own change and with its opposite."""
        if not (values := _shared(axis)):
            return []
        ends, sign = (values[0], values[-1]), _sign(self.direction)
        return [
            Effect((turn,), _change(1, *ends, sign) + _change(0, *ends, turn * sign))
            for turn in (-1, 1)
        ]

    @property
    def _said(self) -> str:
        side, _, than = self._pair[0].partition(" - ")
        way = WAYS[self.direction].removeprefix("a ")
        start = "" if self.over_from is None else f" from {self.over_from:g}"
        return f"{way} of {than} over {self._axis_words}{start} - change of {side}"


Check = Annotated[
    Flat | Equal | Below | Ordered | Peak | Exceeds | GainExceeds | GainGrows | Change | MovesLess,
    Field(discriminator="check"),
]


def settings_words(settings: Where) -> str:
    """Return settings as text: text values as papers write them, numbers with names.

    Null is omitted unless all values are null.
    """
    named = {k: v for k, v in settings.items() if k != "experiment"}
    said = {k: v for k, v in named.items() if v is not None} or named
    return ", ".join(_setting_words(name, value) for name, value in said.items())


def _setting_words(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value_name(value)
    return f"{SETTINGS.get(name, name)} {value_text(value, null='none')}"


def _shared(axis: ValuesOfSides, least: int = LEAST_POINTS) -> list[Any]:
    """Return the values that all sides have, in order; none if they are too few.

    Raises:
        SuiteError: the values have no order.
    """
    shared = [a for a in axis[0] if all(a in other for other in axis[1:])]
    try:
        return sorted(shared) if len(shared) >= least else []
    except TypeError as fault:
        found = ", ".join(map(value_text, shared))
        why = f"the cells of the check have the values {found} of `over`, which have no order"
        raise SuiteError(f"{why}; choose cells with `where`") from fault


def _sign(direction: Direction) -> float:
    return 1.0 if direction == "rising" else -1.0


def _change(side: int, start: Any, end: Any, weight: float = 1.0) -> list[Weight]:
    return [Weight(side, end, weight), Weight(side, start, -weight)]


def _lead(sides: int, at: Any, weight: float = 1.0) -> list[Weight]:
    """Return the lead of the first side over the second, if there is one."""
    return [Weight(0, at, weight), Weight(1, at, -weight)][:sides]


def _pair(where: Where, than: Where | None) -> tuple[str, str]:
    """Return one side less the other in words, and the settings that they share."""
    if than is None:
        return "", _at(where)
    shared = {k: v for k, v in where.items() if k in than and than[k] == v}
    ours, theirs = (
        _side_words({k: v for k, v in s.items() if k not in shared}) for s in (where, than)
    )
    return f"{ours} - {theirs}", _at(shared)


def _side_words(settings: Where) -> str:
    """Return the settings of one side as text, in parentheses if they are several."""
    words = settings_words(settings) or "all"
    return f"({words})" if ", " in words else words


def _at(settings: Where) -> str:
    names = settings_words(settings)
    return f" at {names}" if names else ""


def _of(metric: str | None) -> str:
    return f" {metric_words(metric)}" if metric else ""
