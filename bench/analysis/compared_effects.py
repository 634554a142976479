"""Printed effects beside measured ones: where values cannot be compared, their differences are.

The rows of a paper's table have partners (`bench/suites/printed_effects.py`). The same contrast is
formed of the cells of a scale, by the checks that claims are judged with: one effect for each group
of cells that agree in all else. Which settings of a reduced scale stand for those of the paper says
`counterparts.py`. An effect at other values is shown too, without a printed one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.analysis.counterparts import Counterparts
from bench.analysis.effects import telling_settings
from bench.analysis.measured import Measured
from bench.analysis.measured_effects import DETECTED, MeasuredEffect, measured_effects
from bench.analysis.outcomes import Outcome, outcome_of
from bench.analysis.room import Rooms
from bench.analysis.statistics import LEVEL, Interval
from bench.cells.cell import Cell
from bench.papers.reader import Paper
from bench.results.reader import Done
from bench.suites.axis_values import axis_values
from bench.suites.printed_effects import PrintedEffect, printed_effects, printed_points
from bench.suites.printed_rows import wanted_settings
from bench.suites.suite import Scale, Settings, Suite
from bench.text import value_text


@dataclass(frozen=True)
class ComparedEffect:
    """One effect at a scale: printed, measured, or both."""

    paper: str
    artifact: str
    scale: str
    metric: str  # the paper's
    stand_in: str | None  # the metric measured in its place
    of: Settings  # in which settings its cells differ from the baseline's
    over: Settings  # what the baseline has in their place
    at: Settings  # what tells it from the other effects of `of` over `over`
    printed: PrintedEffect | None
    measured: Interval | None = None
    smallest_effect: float | None = None  # whose interval would exclude 0 four times in five
    replaced: tuple[
        str, ...
    ] = ()  # settings of the printed row that the scale has another value of
    cells: tuple[str, ...] = ()  # the ids of those that were measured
    why: str | None = None  # it says nothing

    @property
    def contrast(self) -> str:
        """What is compared with what, in words."""
        sides = (self.of, self.over), (self.over, self.of)
        parts = [
            {n: v for n, v in side.items() if v is not None and v != other.get(n)}
            for side, other in sides
        ]
        names = list(dict.fromkeys([*parts[0], *parts[1]]))
        if len(names) == 1 and all(parts):
            name, (value, base) = names[0], (value_text(side[names[0]]) for side in parts)
            return f"{name} {value} over {base}"
        texts = [", ".join(f"{n} {value_text(v)}" for n, v in side.items()) for side in parts]
        return " over ".join(texts)

    @property
    def outcome(self) -> Outcome | None:
        """What the two numbers say together; None without a printed one."""
        if self.why is not None:
            return Outcome.NOT_JUDGED
        if self.printed is None:
            return None
        if self.measured is None:
            return Outcome.NOT_MEASURED
        return outcome_of(self.printed.number, self.printed.half_unit, self.measured)

    def record(self) -> dict[str, Any]:
        """Return the row of `bench compare --effects --json`."""
        m, printed = self.measured, self.printed
        return {
            "artifact": f"{self.paper}/{self.artifact}",
            "row": printed.value.row_settings if printed else None,
            "scale": self.scale,
            "metric": self.stand_in or self.metric,
            "stand_in_for": self.metric if self.stand_in else None,
            "of": self.of,
            "over": self.over,
            "at": self.at,
            "published": printed.number if printed else None,
            "measured": m.mean if m else None,
            "low": m.low if m else None,
            "high": m.high if m else None,
            "level": LEVEL,
            "n": m.n if m else 0,
            "smallest_effect": self.smallest_effect,
            "replaced": list(self.replaced),
            "outcome": str(self.outcome) if self.outcome else None,
            "why": self.why,
            "cells": list(self.cells),
        }


def compare_effects(
    suite: Suite,
    scale: str,
    cells: Sequence[Cell],
    done: Done,
    paper: Paper,
    rooms: Rooms | None = None,
) -> list[ComparedEffect]:
    """Return the effects of the suite's printed rows beside those that a scale measures.

    Those of one artifact, metric and contrast stand together.

    Args:
        suite: the suite.
        scale: one of its scales.
        cells: those of the suite at the scale.
        done: the finished ones.
        paper: the suite's.
        rooms: what room accuracies have at the scale; an effect without says nothing.
    """
    printed = printed_effects(suite, paper)
    families: dict[str, list[PrintedEffect]] = {}
    for effect in printed:
        c = effect.comparison
        families.setdefault(repr((c.artifact, c.metric, c.where, effect.of)), []).append(effect)
    measured, is_reduced = (
        Measured(scale, cells, done, rooms),
        suite.scales[scale].protocol == "reduced",
    )
    known = [cell.known for cell in cells] if is_reduced else []
    shared = suite.scales[scale].shared
    fixed = {name: values for name, values in axis_values(suite).items() if name not in shared}
    rows_of = _printed_settings(suite, paper, printed)
    rows: list[ComparedEffect] = []
    for family in families.values():
        row_settings = rows_of[family[0].comparison.artifact]
        every = [settings for part in rows_of.values() for settings in part]
        counterparts = Counterparts(row_settings, every, known, fixed)
        rows += _Family(suite.scales[scale], measured, family, counterparts).compared()
    return rows


def _printed_settings(
    suite: Suite, paper: Paper, effects: Sequence[PrintedEffect]
) -> dict[str, list[Settings]]:
    """Return the settings of the cells that effects are about, by artifact.

    Of rows where a baseline is named, and of the partners of rows, which may stand elsewhere.
    """
    by_artifact: dict[str, list[Settings]] = {}
    for comparison, value in printed_points(suite, paper):
        if comparison.baseline or comparison.gain_over:
            wanted = wanted_settings(value, comparison, suite)
            by_artifact.setdefault(comparison.artifact, []).append(wanted)
    for effect in effects:
        by_artifact[effect.comparison.artifact].append(effect.settings | effect.over)
    return by_artifact


class _Family:
    """Printed effects of one contrast in one artifact, and the effects that a scale has of it."""

    def __init__(
        self,
        scale: Scale,
        measured: Measured,
        printed: Sequence[PrintedEffect],
        counterparts: Counterparts,
    ) -> None:
        """Take effects that share artifact, metric, the cells looked at and the two sides."""
        self.measured, self.printed, self.counterparts = measured, printed, counterparts
        metric = printed[0].comparison.metric
        self.no_verdict = scale.no_verdict
        self.stand_in = scale.stand_in.metrics.get(metric) if scale.stand_in else None
        self.metric = self.stand_in or metric

    def compared(self) -> list[ComparedEffect]:
        """Return each printed effect with those measured of it, then those measured alone."""
        rows: list[ComparedEffect] = []
        taken: list[MeasuredEffect] = []
        for printed in self.printed:
            effects = self._measured(printed.settings, printed.over)
            if len(effects) > 1 and self._is_one_of_several(printed):
                effects = []  # nothing says which row they belong to
            at = {n: v for n, v in printed.settings.items() if n not in printed.over}
            if len(effects) > 1:  # readings of the row
                rows += [
                    self._row(printed, apart | at, group)
                    for apart, group in zip(_telling(effects), effects, strict=True)
                ]
            else:
                rows.append(self._row(printed, at, *effects))
            taken += effects
        return rows + self._alone(taken)

    def _is_one_of_several(self, printed: PrintedEffect) -> bool:
        """Whether other printed rows have the same counterpart."""
        side = self.counterparts.of(printed.settings)
        return sum(self.counterparts.of(other.settings) == side for other in self.printed) > 1

    def _measured(self, side: Settings, over: Settings) -> list[MeasuredEffect]:
        """Return the effects of cells with some settings over those that have others instead."""
        side, base = self.counterparts.of(side), self.counterparts.of(side | over)
        return measured_effects(self.metric, side, base, self.measured)

    def _alone(self, taken: Sequence[MeasuredEffect]) -> list[ComparedEffect]:
        """Return the effects at values that the paper does not print, but of printed gains."""
        first = self.printed[0]
        if first.base is None:
            return []
        groups = self._measured(first.comparison.where | first.of, first.over)
        compared = {group.cells for group in taken}
        alone = [g for g in groups if g.estimate and g.cells not in compared]
        names = [n for n in first.settings if n not in first.over]
        varied = [n for n in names if len({repr(g.settings.get(n)) for g in groups}) > 1]
        places = [{n: g.settings.get(n) for n in varied} for g in alone]
        if any(places.count(position) > 1 for position in places):
            places = [p | a for p, a in zip(places, _telling(alone), strict=True)]
        alike = replace(
            first, settings={n: v for n, v in first.settings.items() if n not in varied}
        )
        return [
            replace(self._row(None, position, group), replaced=self._replaced(alike))
            for position, group in zip(places, alone, strict=True)
        ]

    def _row(
        self,
        printed: PrintedEffect | None,
        at: Settings,
        group: MeasuredEffect | None = None,
    ) -> ComparedEffect:
        first = self.printed[0]
        estimate = group.estimate if group else None
        why = (group.grounds.in_words or self.no_verdict) if group and estimate else None
        return ComparedEffect(
            paper=first.value.paper,
            artifact=first.comparison.artifact,
            scale=self.measured.scale,
            metric=first.comparison.metric,
            stand_in=self.stand_in,
            of=first.of,
            over=first.over,
            at=at,
            printed=printed,
            measured=estimate.interval(LEVEL) if estimate else None,
            smallest_effect=estimate.smallest_effect(DETECTED) if estimate else None,
            replaced=self._replaced(printed) if printed and group else (),
            cells=group.done if group else (),
            why=why,
        )

    def _replaced(self, printed: PrintedEffect) -> tuple[str, ...]:
        """Return which settings of the scale stand for which of the printed rows."""
        replaced: dict[str, None] = {}
        for wanted in (printed.settings, printed.over):
            for name, value in self.counterparts.of(wanted).items():
                if value != wanted[name]:
                    replaced[f"{name} {value_text(value)} for {value_text(wanted[name])}"] = None
        return tuple(replaced)


def _telling(effects: Sequence[MeasuredEffect]) -> list[Settings]:
    return telling_settings([(effect.settings, effect.key) for effect in effects])
