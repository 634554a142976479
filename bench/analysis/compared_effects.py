"""Comparison of published effects with measured ones.

At a reduced scale, differences can be compared but values cannot.

`bench/suites/printed_effects.py` pairs the rows of a paper's table. The same difference is computed
from the cells of a scale, with one effect per group of cells that agree in all other settings. An
effect gets a verdict only if the published numbers are on the same data set; effects on other data
sets are listed separately. An effect without published values has no verdict.

A published value of a setting corresponds to the same value at the reduced scale. If the scale
lacks it, one of two rules applies, and the replacement is reported next to the number:

- The scale has one value of the setting: it replaces all published values. A value that only the
  suite sets replaces nothing. For instance, a scale without label noise omits the runs with noise.
- The scale has as many numbers as the paper has rows: they correspond in order of size. For
  instance, 10 and 20 epochs replace 100 and 200.

A published value without a counterpart is not measured at the scale.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Any

from bench.analysis.contrasts import Known, difference, groups_among, telling_settings
from bench.analysis.grounds import Footing
from bench.analysis.measured import Measured
from bench.analysis.room import Rooms
from bench.analysis.statistics import LEVEL, Estimate, Interval
from bench.analysis.verdicts import Verdict, judge_effect
from bench.cells.cell import Cell
from bench.papers.reader import Paper, Statement
from bench.papers.vocabulary import value_name
from bench.record import Json
from bench.results.reader import Done
from bench.suites.checks import Exceeds, Where
from bench.suites.facts import facts
from bench.suites.others import EffectBeside
from bench.suites.printed_effects import (
    PrintedEffect,
    printed_effects,
    printed_points,
    wanted_settings,
)
from bench.suites.protocol import stated_of, stated_settings
from bench.suites.suite import Scalar, Settings, Suite, axis_values
from bench.text import value_text

ScalarSet = set[Scalar]


class Counterparts:
    """For one artifact, the settings at a scale that replace the published ones."""

    def __init__(
        self,
        artifact: Sequence[Settings],
        suite: Sequence[Settings],
        cells: Sequence[dict[str, Any]],
        in_row: Mapping[str, ScalarSet] = MappingProxyType({}),
    ) -> None:
        """Look up which values there are.

        Args:
            artifact: the settings of its published rows that have effects, and of their partners.
            suite: those of all artifacts of the suite, which share the scale's axes.
            cells: the settings of the scale's cells; none if nothing may stand for another.
            in_row: by setting, the suite's own values, which stand for themselves alone.
        """
        self._of = {
            name: _pairs(
                _values(name, artifact),
                _values(name, suite),
                _values(name, cells),
                in_row.get(name, set()),
            )
            for name in {name for row in artifact for name in row}
        }

    def of(self, settings: Settings) -> Settings:
        """Return the settings of the scale's cells; values without a counterpart are unchanged."""
        return {n: self._of[n].get(v, v) if n in self._of else v for n, v in settings.items()}


def _pairs(
    here: ScalarSet, everywhere: ScalarSet, measured: ScalarSet, in_row: ScalarSet
) -> dict[Scalar, Scalar]:
    """Return the counterparts of published values: of an artifact's alone, or of all."""
    if len(measured) == 1 and not (here | in_row) & measured:
        return dict.fromkeys(here, *measured)
    if not _are_numbers(everywhere | measured) or len(everywhere) != len(measured):
        return {}
    pairs = dict(zip(sorted(everywhere), sorted(measured), strict=True))  # type: ignore[type-var]
    return pairs if all(pairs[value] == value for value in everywhere & measured) else {}


def _are_numbers(values: ScalarSet) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _values(name: str, rows: Iterable[dict[str, Any]]) -> ScalarSet:
    return {row[name] for row in rows if row.get(name) is not None}


@dataclass(frozen=True)
class MeasuredEffect:
    """The difference between two groups of cells that differ only in the compared settings."""

    key: Known  # what tells it from the other effects of the same sides
    settings: Known  # those of the cells that the effect is of
    data: str | None  # the data set
    estimate: Estimate | None  # None where no seed of both is finished
    why: str | None  # it says nothing
    cells: tuple[str, ...]  # their ids
    done: tuple[str, ...]  # the ids of the finished ones


def measured_effects(
    metric: str, side: Where, base: Where, measured: Measured
) -> list[MeasuredEffect]:
    """Return the difference between two sides, for each group of cells.

    Each group is estimated separately from its finished seeds. Other groups may be unfinished.

    Args:
        metric: name of the metric.
        side: settings of the cells on the first side.
        base: settings of the cells on the second side. A group with a cell on both sides has no
            effect.
        measured: all cells of a suite at a scale and the metrics of the finished ones.
    """
    check = Exceeds(check="exceeds", metric=metric, where=side, than=base)
    groups = groups_among(check, measured.index)
    if any({c.id for c in ours} & {c.id for c in theirs} for ours, theirs in groups.values()):
        return []
    return [_measured_effect(check, *group, measured) for group in groups.items()]


def _measured_effect(
    check: Exceeds, key: Any, sides: list[list[Cell]], measured: Measured
) -> MeasuredEffect:
    ours, theirs = sides
    estimate = difference(check.metric, [(ours, theirs)], measured)
    ids = [cell.id for side in sides for cell in side]
    done = [name for name in ids if check.metric in measured.metrics.get(name, {})]
    why = None
    if estimate is not None:
        finished = [[cell for cell in side if cell.id in done] for side in sides]
        narrow = check.model_copy(
            update={"where": check.where | dict(key), "than": (check.than or {}) | dict(key)}
        )
        why = Footing(narrow, finished, measured).grounds(estimate.smallest_effect).in_words
    data = facts(ours[0]).get("dataset")
    return MeasuredEffect(dict(key), ours[0].known, data, estimate, why, tuple(ids), tuple(done))


@dataclass(frozen=True)
class ComparedEffect:
    """An effect at one scale: published, measured or both."""

    paper: str
    artifact: str
    scale: str
    metric: str  # the paper's
    stand_in: str | None  # the metric measured in its place
    of: Settings  # in which settings its cells differ from the baseline's
    over: Settings  # what the baseline has in their place
    at: Settings  # what tells it from the other effects of `of` over `over`
    here: Settings  # the same settings with the values of the cells
    printed: PrintedEffect | None
    measured: Interval | None = None
    smallest_effect: float | None = None  # whose interval would exclude 0 four times in five
    replaced: tuple[str, ...] = ()  # settings of the published row in whose place others stand
    cells: tuple[str, ...] = ()  # the ids of those that were measured
    why: str | None = None  # it says nothing
    data: tuple[str | None, str | None] = (None, None)  # published on, and measured on
    others: tuple[EffectBeside, ...] = ()  # what other projects' numbers give for the printed one

    @property
    def on_other_data(self) -> bool:
        """Whether the measured data set differs from the published one."""
        return self.measured is not None and self.data[0] != self.data[1]

    @property
    def contrast(self) -> str:
        """The two compared sides, as text."""
        sides = (self.of, self.over), (self.over, self.of)
        parts = [
            {n: v for n, v in side.items() if v is not None and v != other.get(n)}
            for side, other in sides
        ]
        names = list(dict.fromkeys([*parts[0], *parts[1]]))
        if len(names) == 1 and all(parts):
            name, (value, base) = names[0], (_value_words(side[names[0]]) for side in parts)
            return f"{name} {value} over {base}"
        texts = [", ".join(f"{n} {_value_words(v)}" for n, v in side.items()) for side in parts]
        return " over ".join(texts)

    @property
    def judged(self) -> tuple[Verdict | None, str | None]:
        """The verdict with its reason; None without a published effect on the same data set."""
        if self.printed is None or self.on_other_data:
            return None, self.why
        if self.why is not None:
            return Verdict.CANNOT_TELL, self.why
        return judge_effect(self.printed.number, self.printed.half_unit, self.measured)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the published effect."""
        return self.judged[0]

    def record(self) -> Json:
        """Return one row of `bench compare --effects --json`."""
        m, (verdict, why) = self.measured, self.judged
        printed = None if self.on_other_data else self.printed
        return {
            "artifact": f"{self.paper}/{self.artifact}",
            "artifacts": [f"{self.paper}/{self.artifact}"],
            "row": printed.value.row_settings if printed else None,
            "scale": self.scale,
            "metric": self.stand_in or self.metric,
            "stand_in_for": self.metric if self.stand_in else None,
            "of": self.of,
            "over": self.over,
            "at": self.at,
            "data": self.data[1] if m else self.data[0],
            "on_other_data": self.on_other_data,
            "published": printed.number if printed else None,
            "measured": m.mean if m else None,
            "low": m.low if m else None,
            "high": m.high if m else None,
            "level": LEVEL,
            "n": m.n if m else 0,
            "smallest_effect": self.smallest_effect,
            "replaced": list(self.replaced),
            "verdict": str(verdict) if verdict else None,
            "why": why,
            "cells": list(self.cells),
            "others": [other.record() for other in (self.others if printed else ())],
        }


@dataclass(frozen=True)
class OtherEffect:
    """An effect measured on a data set that the paper does not use."""

    effect: ComparedEffect
    artifacts: tuple[str, ...]  # of the suite, with effects of the same contrast

    def record(self) -> Json:
        """Return one row of `bench compare --effects --json`, without artifact and verdict."""
        names = [f"{self.effect.paper}/{name}" for name in self.artifacts]
        return self.effect.record() | {"artifact": None, "artifacts": names, "replaced": []}


def on_other_data(effects: Iterable[ComparedEffect]) -> list[OtherEffect]:
    """Return the effects measured on data sets that the paper does not use.

    Each effect appears once, with the artifacts that it cannot be compared with.
    """
    found: dict[tuple[str, tuple[str, ...]], list[ComparedEffect]] = {}
    for effect in effects:
        if effect.on_other_data:
            key = effect.stand_in or effect.metric, effect.cells
            found.setdefault(key, []).append(effect)
    return [
        OtherEffect(
            replace(own[0], at=own[0].here), tuple(dict.fromkeys(effect.artifact for effect in own))
        )
        for key, own in found.items()
    ]


def compare_effects(
    suite: Suite,
    scale: str,
    cells: Sequence[Cell],
    done: Done,
    paper: Paper,
    rooms: Rooms | None = None,
) -> list[ComparedEffect]:
    """Return the suite's published effects with those measured at a scale.

    Effects are sorted by artifact, metric and contrast. They include effects measured on other data
    sets, which `same_data` and `on_other_data` separate.

    Args:
        suite: the suite.
        scale: one of its scales.
        cells: the cells of the suite at the scale.
        done: the finished cells.
        paper: the suite's paper.
        rooms: headroom of the accuracies at the scale. An effect without headroom is not
            interpreted.
    """
    printed = printed_effects(suite, paper)
    families: dict[str, list[PrintedEffect]] = {}
    for effect in printed:
        c = effect.comparison
        families.setdefault(repr((c.artifact, c.metric, c.where, effect.of)), []).append(effect)
    measured, of_scale = Measured(cells, done, rooms), suite.scales[scale]
    known = [cell.known for cell in cells] if of_scale.protocol == "reduced" else []
    fixed = {n: values for n, values in axis_values(suite).items() if n not in of_scale.shared}
    rows_of = _printed_settings(suite, paper, printed)
    rows: list[ComparedEffect] = []
    for family in families.values():
        artifact = paper.artifact(family[0].comparison.artifact)
        every = [settings for part in rows_of.values() for settings in part]
        counterparts = Counterparts(rows_of[artifact.id], every, known, fixed)
        stated = stated_settings(suite, paper, artifact)
        rows += _Family(suite, scale, measured, family, counterparts, stated).compared()
    return rows


def same_data(effects: Iterable[ComparedEffect]) -> list[ComparedEffect]:
    """Return the effects for an artifact; those measured on other data count as not measured.

    Each published effect appears once, whether measured or not.
    """
    rows: list[ComparedEffect] = []
    for effect in effects:
        if not effect.on_other_data:
            rows.append(effect)
        elif effect.printed is not None:
            missing = {"measured": None, "smallest_effect": None, "cells": (), "why": None}
            at = {n: v for n, v in effect.printed.settings.items() if n not in effect.printed.over}
            rows.append(replace(effect, **missing, at=at, replaced=()))  # type: ignore[arg-type]
    return [row for i, row in enumerate(rows) if row.measured or row not in rows[:i]]


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
    """Published effects of one contrast in one artifact, and the effects that a scale has of it."""

    def __init__(
        self,
        suite: Suite,
        scale: str,
        measured: Measured,
        printed: Sequence[PrintedEffect],
        counterparts: Counterparts,
        stated: Sequence[Statement],
    ) -> None:
        """Take effects that share artifact, metric, the cells looked at and the two sides."""
        self.measured, self.printed, self.counterparts = measured, printed, counterparts
        self.stated, self.scale, of_scale = stated, scale, suite.scales[scale]
        metric = printed[0].comparison.metric
        self.no_verdict = of_scale.no_verdict
        self.stand_in = of_scale.stand_in.metrics.get(metric) if of_scale.stand_in else None
        self.metric = self.stand_in or metric

    def compared(self) -> list[ComparedEffect]:
        """Return each published effect with those measured of it, then those measured alone."""
        rows: list[ComparedEffect] = []
        taken: list[MeasuredEffect] = []
        for printed in self.printed:
            effects = self._measured(printed.settings, printed.over)
            if len(effects) > 1 and self._is_one_of_several(printed):
                effects = []  # nothing says which row they belong to
            at = {n: v for n, v in printed.settings.items() if n not in printed.over}
            if len(effects) > 1:  # interpretations of the row
                rows += [
                    self._row(printed, apart | at, group)
                    for apart, group in zip(_telling(effects), effects, strict=True)
                ]
            else:
                rows.append(self._row(printed, at, *effects))
            taken += effects
        return rows + self._alone(taken)

    def _is_one_of_several(self, printed: PrintedEffect) -> bool:
        """Whether other published rows have the same counterpart."""
        side = self.counterparts.of(printed.settings)
        return sum(self.counterparts.of(other.settings) == side for other in self.printed) > 1

    def _measured(self, side: Settings, over: Settings) -> list[MeasuredEffect]:
        """Return the effects of cells with some settings over those that have others instead."""
        side, base = self.counterparts.of(side), self.counterparts.of(side | over)
        return measured_effects(self.metric, side, base, self.measured)

    def _alone(self, taken: Sequence[MeasuredEffect]) -> list[ComparedEffect]:
        """Return the effects at values that the paper does not print, but of published gains."""
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
        self, printed: PrintedEffect | None, at: Settings, group: MeasuredEffect | None = None
    ) -> ComparedEffect:
        first = self.printed[0]
        estimate = group.estimate if group else None
        return ComparedEffect(
            paper=first.value.paper,
            artifact=first.comparison.artifact,
            scale=self.scale,
            metric=first.comparison.metric,
            stand_in=self.stand_in,
            of=first.of,
            over=first.over,
            at=at,
            here=self.counterparts.of(at),
            printed=printed,
            measured=estimate.interval() if estimate else None,
            smallest_effect=estimate.smallest_effect if estimate else None,
            replaced=self._replaced(printed) if printed and group else (),
            cells=group.done if group else (),
            why=(group.why or self.no_verdict) if group and estimate else None,
            data=self._data(printed or first, group),
        )

    def _data(
        self, printed: PrintedEffect, group: MeasuredEffect | None
    ) -> tuple[str | None, str | None]:
        """Return the data sets that an effect was published on and measured on."""
        stated = printed.settings.get("dataset") or stated_of(printed.settings, self.stated).get(
            "dataset"
        )
        mine = group.data if group else None
        if isinstance(stated, list):
            stated = mine if mine in stated else stated[0]
        return (None if stated is None else str(stated)), mine

    def _replaced(self, printed: PrintedEffect) -> tuple[str, ...]:
        """Return which settings of the scale replace which settings of the published rows."""
        replaced: dict[str, None] = {}
        for wanted in (printed.settings, printed.over):
            for name, value in self.counterparts.of(wanted).items():
                if value != wanted[name]:
                    words = f"{name} {value_text(value)} instead of {value_text(wanted[name])}"
                    replaced[words] = None
        return tuple(replaced)


def _value_words(value: Any) -> str:
    return value_name(value) if isinstance(value, str) else value_text(value)


def _telling(effects: Sequence[MeasuredEffect]) -> list[Settings]:
    return telling_settings([(effect.settings, effect.key) for effect in effects])


def shown_effects(effects: Iterable[ComparedEffect]) -> list[ComparedEffect]:
    """Return the measured effects of an artifact and its unmeasured published effects.

    The list is empty if no effect is measured. It groups the scales of one published effect.
    """
    groups: dict[tuple[str, str], list[ComparedEffect]] = {}
    for effect in effects:
        groups.setdefault((effect.metric, effect.contrast), []).append(effect)
    rows: list[ComparedEffect] = []
    for alike in groups.values():
        measured = [row for row in alike if row.measured]
        places = {_key(row) for row in measured}
        missing: dict[str, ComparedEffect] = {}
        for row in alike:
            if _key(row) not in places:
                missing.setdefault(_key(row), row)
        rows += _ordered([*measured, *missing.values()])
    return rows if any(row.measured for row in rows) else []


def varied_settings(rows: Sequence[ComparedEffect]) -> list[str]:
    """Return the settings that distinguish the rows."""
    names = dict.fromkeys(name for row in rows for name in row.at)
    known = {name: {repr(row.at[name]) for row in rows if name in row.at} for name in names}
    return [name for name, values in known.items() if len(values) > 1]


def _key(row: ComparedEffect) -> str:
    return repr(sorted(row.at.items()))


def _ordered(rows: Sequence[ComparedEffect]) -> list[ComparedEffect]:
    """Return the rows by their settings: numbers by size, words in their order."""
    names = varied_settings(rows)
    words = list(dict.fromkeys(repr(row.at.get(name)) for name in names for row in rows))

    def sort_key(row: ComparedEffect) -> list[tuple[float, int]]:
        values = [row.at.get(name) for name in names]
        return [
            (v, -1) if isinstance(v, int | float) else (inf, words.index(repr(v))) for v in values
        ]

    return sorted(rows, key=sort_key)
