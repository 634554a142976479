"""What printed rows say of an effect: the difference of two rows, or a gain printed as one number.

A comparison names the `baseline` that its rows' effects are taken over, in settings of cells. A
row's partner is the row of the same metric whose cells have these settings instead and are like its
own in all else: of the same artifact, or of another one that the suite compares. What a comparison
prints with `gain_over` is an effect by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.cells import CELLS
from bench.papers.reader import Paper, PublishedValue
from bench.suites.printed_rows import is_spoken_of, wanted_settings
from bench.suites.suite import Comparison, Settings, Suite

Points = Sequence[tuple[Comparison, PublishedValue]]  # printed rows, and how they are compared


@dataclass(frozen=True)
class PrintedEffect:
    """An effect as a paper prints it, and the cells that would measure it."""

    comparison: Comparison
    value: PublishedValue
    base: PublishedValue | None  # None: the paper prints the difference
    settings: Settings  # of the cells of the row itself
    over: Settings  # what the cells of its partner have instead

    @property
    def of(self) -> Settings:
        """What the cells of the row have in place of that."""
        return {name: self.settings[name] for name in self.over if name in self.settings}

    @property
    def number(self) -> float:
        """How far the row lies above its partner."""
        own, base = self.value.value or 0.0, self.base.value if self.base else None
        return round(own - (base or 0.0), self.decimals)

    @property
    def decimals(self) -> int:
        """With how many decimals it is printed."""
        return max(self.value.decimals, self.base.decimals if self.base else 0)


def printed_effects(suite: Suite, paper: Paper) -> list[PrintedEffect]:
    """Return the effects that the suite's printed rows have, in the order of its comparisons.

    A row that is printed as a bound, is a baseline itself or has no partner has none.
    """
    points = printed_points(suite, paper)
    found = [_effect(comparison, value, points, suite) for comparison, value in points]
    return [effect for effect in found if effect is not None]


def printed_points(suite: Suite, paper: Paper) -> Points:
    """Return the printed numbers that are compared with a metric of cells, and by what."""
    metrics = CELLS[suite.experiment].metrics
    return [
        (comparison, value)
        for comparison in suite.compare
        if comparison.over is None
        for value in paper.artifact(comparison.artifact).values
        if value.value is not None and is_spoken_of(value, comparison, metrics)
    ]


def _effect(
    comparison: Comparison, value: PublishedValue, points: Points, suite: Suite
) -> PrintedEffect | None:
    settings = wanted_settings(value, comparison, suite)
    if comparison.gain_over:
        return PrintedEffect(comparison, value, None, settings, comparison.gain_over)
    of_partner = _stated(settings | comparison.baseline)
    if of_partner == _stated(settings):
        return None
    partners = [
        (its.artifact != comparison.artifact, i, other)
        for i, (its, other) in enumerate(points)
        if its.metric == comparison.metric and not its.gain_over
        if _stated(wanted_settings(other, its, suite)) == of_partner
    ]
    if not partners:
        return None
    _, _, base = min(partners)
    return PrintedEffect(comparison, value, base, settings, comparison.baseline)


def _stated(settings: Settings) -> Settings:
    """Return the settings without those that are not used: a row may leave them out."""
    return {name: value for name, value in settings.items() if value is not None}
