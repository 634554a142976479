"""Which cells belong to published rows, and what these say of an effect.

An effect is the difference of two rows, or a gain printed as one number.

A comparison names the `baseline` that its rows' effects are taken over, in settings of cells. A
row's partner is the row of the same metric whose cells have these settings instead and are like its
own in all else: of the same artifact, or of another one that the suite compares. What a comparison
prints with `gain_over` is an effect by itself.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bench.cells import CELLS
from bench.papers.reader import Paper, PublishedValue
from bench.suites.suite import Comparison, Settings, Suite
from bench.text import value_text

ComparedPoints = Sequence[
    tuple[Comparison, PublishedValue]
]  # printed rows, and how they are compared
Partners = dict[tuple[str, str], dict[str, PublishedValue]]  # by metric, settings and artifact


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
        """What the cells of the row have instead of that."""
        return {name: self.settings[name] for name in self.over if name in self.settings}

    @property
    def number(self) -> float:
        """How far the row lies above its partner."""
        value, base = self.value.value or 0.0, self.base.value if self.base else None
        return round(value - (base or 0.0), self.decimals)

    @property
    def half_unit(self) -> float:
        """How much of it the rounding of published numbers may have hidden."""
        return self.value.half_unit + (self.base.half_unit if self.base else 0.0)

    @property
    def decimals(self) -> int:
        """With how many decimals it is printed."""
        return max(self.value.decimals, self.base.decimals if self.base else 0)


def printed_effects(suite: Suite, paper: Paper) -> list[PrintedEffect]:
    """Return the effects that the suite's published rows have, in the order of its comparisons.

    A row that is printed as a bound, is a baseline itself or has no partner has none.
    """
    points = printed_points(suite, paper)
    partners: Partners = {}
    for comparison, value in points:
        if not comparison.gain_over:
            key = comparison.metric, _stated(wanted_settings(value, comparison, suite))
            partners.setdefault(key, {}).setdefault(comparison.artifact, value)
    effects = [_effect(comparison, value, partners, suite) for comparison, value in points]
    return [effect for effect in effects if effect is not None]


def printed_points(suite: Suite, paper: Paper) -> ComparedPoints:
    """Return the published numbers that are compared with a metric of cells, and by what."""
    metrics = CELLS[suite.experiment].metrics
    return [
        (comparison, value)
        for comparison in suite.compare
        if comparison.over is None
        for value in paper.artifact(comparison.artifact).values
        if value.value is not None and is_spoken_of(value, comparison, metrics)
    ]


def is_spoken_of(value: PublishedValue, comparison: Comparison, metrics: Collection[str]) -> bool:
    """Return whether the comparison takes the published row.

    Args:
        value: the published row.
        comparison: of its artifact.
        metrics: of the cells; rows of the others among them are left out.
    """
    if value.metric in metrics and value.metric != comparison.metric:
        return False
    known = value.row_settings | {"metric": value.metric}
    return all(
        known.get(key) in (allowed if isinstance(allowed, list) else [allowed])
        for key, allowed in comparison.rows.items()
    )


def wanted_settings(value: PublishedValue, comparison: Comparison, suite: Suite) -> Settings:
    """Return the settings of the cells that belong to a published row.

    Args:
        value: the published value, with the settings of its row.
        comparison: the block of the suite that it belongs to.
        suite: the suite.
    """
    return dict(comparison.where) | {
        suite.renamed.get(key, key): v
        for key, v in value.row_settings.items()
        if key not in comparison.unmatched
    }


def _effect(
    comparison: Comparison, value: PublishedValue, partners: Partners, suite: Suite
) -> PrintedEffect | None:
    settings = wanted_settings(value, comparison, suite)
    if comparison.gain_over:
        return PrintedEffect(comparison, value, None, settings, comparison.gain_over)
    of_partner = _stated(settings | comparison.baseline)
    bases = partners.get((comparison.metric, of_partner), {})
    if of_partner == _stated(settings) or not bases:
        return None
    base = bases.get(comparison.artifact) or next(iter(bases.values()))
    return PrintedEffect(comparison, value, base, settings, comparison.baseline)


def _stated(settings: Settings) -> str:
    """Return the settings in one form, without those not used: a row may leave them out."""
    return value_text({n: v for n, v in sorted(settings.items()) if v is not None})
