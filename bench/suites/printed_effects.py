"""Cells of published rows, and the effects that these rows show.

An effect is the difference between two rows, or a gain printed as one number.

A comparison defines the `baseline` of its rows' effects, as settings of cells. A row's partner has
the same metric, and its cells differ only in having these settings. It may be in the same artifact
or in a different one that the suite compares. Rows of a comparison with `gain_over` are effects
themselves.
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
    """A published effect, and the cells that measure it."""

    comparison: Comparison
    value: PublishedValue
    base: PublishedValue | None  # None: the paper prints the difference
    settings: Settings  # of the cells of the row itself
    over: Settings  # what the cells of its partner have instead

    @property
    def of(self) -> Settings:
        """Settings of the row's cells that replace those of the baseline."""
        return {name: self.settings[name] for name in self.over if name in self.settings}

    @property
    def number(self) -> float:
        """Difference between the row and its partner."""
        value, base = self.value.value or 0.0, self.base.value if self.base else None
        return round(value - (base or 0.0), self.decimals)

    @property
    def half_unit(self) -> float:
        """Maximum error of the effect from rounding of published numbers."""
        return self.value.half_unit + (self.base.half_unit if self.base else 0.0)

    @property
    def decimals(self) -> int:
        """Number of printed decimals."""
        return max(self.value.decimals, self.base.decimals if self.base else 0)


def printed_effects(suite: Suite, paper: Paper) -> list[PrintedEffect]:
    """Return the effects of the suite's published rows, in the order of its comparisons.

    Rows that are bounds or baselines, or have no partner, have no effect.
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
    """Return the published numbers that are compared with a metric, and their comparisons."""
    metrics = CELLS[suite.experiment].metrics
    return [
        (comparison, value)
        for comparison in suite.compare
        if comparison.over is None
        for value in paper.artifact(comparison.artifact).values
        if value.value is not None and is_spoken_of(value, comparison, metrics)
    ]


def is_spoken_of(value: PublishedValue, comparison: Comparison, metrics: Collection[str]) -> bool:
    """Return whether the comparison uses the published row.

    Args:
        value: the published row.
        comparison: a comparison of its artifact.
        metrics: metrics of the cells; rows with other metrics are excluded.
    """
    if value.metric in metrics and value.metric != comparison.metric:
        return False
    known = value.row_settings | {"metric": value.metric}
    return all(
        known.get(key) in (allowed if isinstance(allowed, list) else [allowed])
        for key, allowed in comparison.rows.items()
    )


def wanted_settings(value: PublishedValue, comparison: Comparison, suite: Suite) -> Settings:
    """Return the settings of the cells of a published row.

    Args:
        value: the published value, with the settings of its row.
        comparison: the comparison of the suite that uses it.
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
