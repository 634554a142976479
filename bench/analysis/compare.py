"""Comparison of published values with measured ones, and the cells that this needs.

A published value or gain is compared with the cells that have its settings. These cells must follow
the published protocol. Otherwise, `compared_effects.py` compares differences.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from bench.analysis.contrasts import cells_of_check, difference
from bench.analysis.doubts import Doubts, doubts_of
from bench.analysis.measured import Measured, seed_numbers
from bench.analysis.room import Room
from bench.analysis.statistics import LEVEL, Interval, t_interval
from bench.analysis.verdicts import Verdict, judge_value
from bench.cells.baseline import ACCURACIES
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.papers.reader import Paper, PublishedValue, Statement
from bench.papers.tolerances import Tolerance, tolerance_of
from bench.record import Json
from bench.results.fitness import Failed, failed_among
from bench.results.reader import Done
from bench.suites.baselines import baseline_cells
from bench.suites.checks import Check
from bench.suites.facts import typed
from bench.suites.others import Counterpart
from bench.suites.printed_effects import is_spoken_of, wanted_settings
from bench.suites.protocol import Departure, departures, stated_settings
from bench.suites.suite import Comparison, Layout, Suite

LARGE = 1 / 3  # of half the interval: a standard error that is not left out
Sets = list[tuple[str, int, frozenset[str]]]
"""A claim's name, a seed, and the ids of the cells that the claim needs with this seed."""


@dataclass(frozen=True)
class Compared:
    """A published value and its measured counterpart, under one interpretation."""

    artifact: str
    row: dict[str, Any]  # the published row's own settings
    metric: str
    reading: str | None
    reading_settings: dict[str, Any]
    published: PublishedValue
    measured: Interval | None  # over seeds
    allowed: Tolerance
    reduced: str = ""  # how the metric is reduced over an axis, if it is
    differences: list[str] = field(default_factory=list)
    verdict: Verdict = Verdict.NOT_MEASURED
    why: str | None = None  # nothing can be told
    cells: tuple[str, ...] = ()  # the ids of those that were measured
    bases: tuple[str, ...] = ()  # of those that a gain is taken over
    doubts: tuple[str, ...] = ()  # why what was measured means nothing
    has_cells: bool = False  # whether the scale has cells for the row, measured or not
    test_error: float | None = None  # of the test images; the verdict takes it in
    room: Room | None = None  # of an accuracy, where baselines tell it
    gain: Interval | None = None  # over the row of the layout's baseline
    others: tuple[Counterpart, ...] = ()  # what other projects measured of it; no verdict reads it

    @property
    def printed(self) -> dict[str, Any]:
        """The settings of the published row, with those of its artifact."""
        return self.published.settings

    @property
    def tolerance(self) -> float:
        """Largest difference that counts as equal, in the unit of the metric."""
        return self.allowed.of(self.published.std, self.published.value)

    @property
    def comparable(self) -> bool:
        """Whether the cells follow the published protocol and their numbers are reliable."""
        return not (self.differences or self.doubts)

    @property
    def departures(self) -> list[str]:
        """Each deviation from the published protocol, with the interpretation that has it."""
        of = ", ".join(f"{k} {v}" for k, v in self.reading_settings.items() if v is not None)
        return [f"{of}: {text}" if of else text for text in self.differences]

    @property
    def what(self) -> str:
        """Name of the measured quantity."""
        return f"{self.reduced} {self.metric}".strip()

    @property
    def reading_text(self) -> str:
        """The interpretation as text; empty if there is only one."""
        parts = [f"{k} {v}" for k, v in self.reading_settings.items() if v is not None]
        return ", ".join(([self.reading] if self.reading else []) + parts)

    @property
    def others_texts(self) -> list[str]:
        """The numbers of other projects, each with its source."""
        return [f"{other.row.value:g} ({other.row.source.id})" for other in self.others]

    def record(self) -> Json:
        """Return one row of `bench compare --json`."""
        m, gain = self.measured, self.gain
        return {
            "artifact": f"{self.published.paper}/{self.artifact}",
            "row": self.row,
            "metric": self.metric,
            "reading": self.reading_text or None,
            "published": self.published.value,
            "published_std": self.published.std,
            "measured": m.mean if m else None,
            "n": m.n if m else 0,
            "std": m.std if m else None,
            "low": m.low if m else None,
            "high": m.high if m else None,
            "level": LEVEL,
            "covers": "training seeds",
            "test_error": self.test_error,
            "gain": {"effect": gain.mean, "low": gain.low, "high": gain.high} if gain else None,
            "room": self.room.record() if self.room else None,
            "tolerance": self.tolerance,
            "tolerance_why": self.allowed.why,
            "comparable": self.comparable,
            "differences": self.differences,
            "doubts": list(self.doubts),
            "cells": [*self.cells, *self.bases],
            "others": [other.record() for other in self.others],
            "verdict": str(self.verdict),
            "why": self.why,
        }


class Pairing(NamedTuple):
    """The cells that correspond to a published value under one interpretation."""

    comparison: Comparison
    value: PublishedValue
    reading: dict[str, Any]  # the settings that tell the interpretation from others
    cells: list[Cell]
    bases: list[Cell]  # that a gain is taken over
    stated: list[Statement]
    allowed: Tolerance | None  # of the paper's own file

    @property
    def departures(self) -> list[Departure]:
        """Deviations of the cells from the published protocol."""
        if not self.cells:
            return []
        return departures(self.cells[0], self.stated, self.comparison.metric)


def pairings(suite: Suite, cells: Sequence[Cell], paper: Paper) -> Iterator[Pairing]:
    """Yield each published value that the suite compares, with its cells."""
    index = CellIndex(cells)
    for comparison in suite.compare:
        artifact = paper.artifact(comparison.artifact)
        allowed = paper.tolerances.get(artifact.id)
        stated = stated_settings(suite, paper, artifact)
        for value in artifact.values:
            wanted = wanted_settings(value, comparison, suite)
            if not _is_taken(value, comparison, cells):
                continue
            gain = comparison.gain_over
            bases = index.where(wanted | gain) if gain else []
            readings = _readings(index.where(wanted), {*wanted, "seed", comparison.over})
            for reading, group in readings.items():
                own = [b for c in group if (b := _base(c, bases)) is not None]
                yield Pairing(comparison, value, dict(reading), group, own, stated, allowed)


def compare(
    suite: Suite,
    cells: Sequence[Cell],
    done: Done,
    paper: Paper,
    failed: Failed = (),
) -> list[Compared]:
    """Return each published value that the suite compares, with the measured value.

    An unreliable number is shown with the reason and gets no verdict. A number computed from
    several numbers is missing if one of them is unreliable.

    Args:
        suite: the suite, with its comparisons.
        cells: all cells of the selection.
        done: the finished cells with their metrics.
        paper: the paper with the published values.
        failed: the cells that failed.
    """
    measured = Measured(cells, done, failed=failed)
    metrics = {cell.id: kept.metrics for cell, kept in done}
    doubts = {cell.id: doubts_of(cell, kept) for cell, kept in done}
    pairs = list(pairings(suite, cells, paper))
    rows = [_with_doubts(_compared(pair, measured, metrics), doubts) for pair in pairs]
    layouts = {c.artifact: c.layout for c in reversed(suite.compare)}
    bases = _layout_bases(rows, layouts)
    return [
        row if base is None else replace(row, gain=_gain(pair, pairs[base], measured))
        for row, pair, base in zip(rows, pairs, bases, strict=True)
    ]


def _compared(
    pair: Pairing, measured: Measured, metrics: Mapping[str, Mapping[str, float]]
) -> Compared:
    comparison, value, cells = pair.comparison, pair.value, pair.cells
    gain, error = bool(comparison.gain_over), None
    if gain:
        estimate = difference(comparison.metric, [(cells, pair.bases)], measured) if cells else None
        interval = estimate.interval() if estimate else None
    else:
        known = metrics if comparison.over is None else measured.metrics
        numbers = seed_numbers(cells, comparison, known)
        interval = t_interval(numbers) if numbers else None
        if interval and comparison.over is None:
            error = _test_error(interval, cells[0].step_of(comparison.metric))
    of = (value.paper, comparison.artifact, comparison.metric, comparison.over)
    allowed = tolerance_of(*of, gain=gain, own=pair.allowed)
    faults = [d.text for d in pair.departures]
    verdict, why = judge_value(
        value.value,
        allowed.of(value.std, value.value) + value.half_unit,
        interval.widened(error) if interval and error else interval,
        comparable=not faults,
        nothing=allowed.nothing,
    )
    return Compared(
        artifact=comparison.artifact,
        row=value.row_settings,
        metric=comparison.metric,
        reading=comparison.reading,
        reading_settings=pair.reading,
        published=value,
        measured=interval,
        allowed=allowed,
        reduced=_reduction(comparison),
        differences=faults,
        verdict=verdict,
        why=why if interval else failed_among(cells, measured.failed),
        test_error=error,
        cells=tuple(cell.id for cell in cells if cell.id in metrics),
        bases=tuple(cell.id for cell in pair.bases if cell.id in metrics),
        has_cells=bool(cells),
    )


def _test_error(interval: Interval, step: float | None) -> float | None:
    """Return the binomial standard error of an accuracy on the test images that all seeds share.

    None if it is small next to the seeds'.
    """
    if interval.low is None or interval.high is None or not step:
        return None
    share = min(max(interval.mean / 100, 0.0), 1.0)
    error: float = 100 * (share * (1 - share) * step / 100) ** 0.5
    return error if error > LARGE * (interval.high - interval.low) / 2 else None


def _with_doubts(row: Compared, doubts: Mapping[str, Doubts]) -> Compared:
    """Return the row, not comparable where a number of it means nothing."""
    candidates = (doubts[name].get(row.metric) for name in row.cells)
    reasons = tuple(dict.fromkeys(why for why in candidates if why is not None))
    if not reasons or row.measured is None or row.reduced:
        return row
    judged = row.published.value is not None
    verdict = Verdict.NOT_COMPARABLE if judged else row.verdict
    return replace(row, doubts=reasons, verdict=verdict, why=None)


def _gain(pair: Pairing, base: Pairing, measured: Measured) -> Interval | None:
    if pair.comparison.over or pair.comparison.gain_over or not (pair.cells and base.cells):
        return None
    estimate = difference(pair.comparison.metric, [(pair.cells, base.cells)], measured)
    return estimate.interval() if estimate else None


def _layout_bases(
    rows: Sequence[Compared], layouts: Mapping[str, Layout | None]
) -> list[int | None]:
    """Return where the row stands that each row's gain is taken over; None: it has none."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault((row.artifact, row.what, row.reading_text), []).append(i)
    bases: list[int | None] = [None] * len(rows)
    for (artifact, *_), places in groups.items():
        layout = layouts[artifact]
        if layout is None or layout.baseline is None:
            continue
        names = [*layout.rows, *([layout.columns] if layout.columns else [])]
        points = [{k: rows[i].printed.get(k) for k in names} for i in places]
        for i, base in zip(places, gain_bases(points, layout.baseline), strict=True):
            bases[i] = None if base is None else places[base]
    return bases


def gain_bases(points: Sequence[dict[str, Any]], over: Any) -> list[int | None]:
    """Return, for each point, the index of the point that differs only in having the value `over`.

    The index is None if the point has this value itself or if no such point exists.
    """
    name = next((k for point in points for k, v in point.items() if typed(v) == typed(over)), None)
    if over is None or name is None:
        return [None] * len(points)
    keys = [tuple(v for k, v in point.items() if k != name) for point in points]
    at = {key: i for i, (key, p) in enumerate(zip(keys, points, strict=True)) if p[name] == over}
    return [
        None if point[name] == over else at.get(key)
        for key, point in zip(keys, points, strict=True)
    ]


def cells_of_value(
    value: PublishedValue, comparison: Comparison, suite: Suite, index: CellIndex
) -> list[Cell]:
    """Return the cells of a published value; empty if the comparison excludes the value."""
    if not _is_taken(value, comparison, index.cells):
        return []
    return index.where(wanted_settings(value, comparison, suite))


def base_of(
    cell: Cell, value: PublishedValue, comparison: Comparison, suite: Suite, index: CellIndex
) -> Cell | None:
    """Return the baseline cell of a gain; None if there is no unique one.

    The baseline has the seed of `cell`. Settings in `gain_over` replace those of the row. All other
    settings that vary among such cells equal those of `cell`.
    """
    wanted = wanted_settings(value, comparison, suite) | comparison.gain_over
    return _base(cell, index.where(wanted))


def _base(cell: Cell, bases: Sequence[Cell]) -> Cell | None:
    of_seed = [base for base in bases if base.seed == cell.seed]
    varied = {
        k: v for k, v in cell.settings.items() if len({b.settings.get(k) for b in of_seed}) > 1
    }
    alike = [base for base in of_seed if all(base.settings.get(k) == v for k, v in varied.items())]
    return alike[0] if len(alike) == 1 else None


def _is_taken(value: PublishedValue, comparison: Comparison, cells: Sequence[Cell]) -> bool:
    known = {name for cell in cells[:1] for name in cell.metrics}
    return is_spoken_of(value, comparison, known)


def _readings(
    cells: Sequence[Cell], known: set[str | None]
) -> dict[tuple[tuple[str, Any], ...], list[Cell]]:
    """Group cells by every setting that varies among them and that the row leaves open."""
    if not cells:
        return {(): []}
    first = cells[0].settings
    varied = [
        name
        for name in first
        if name not in known and any(cell.settings.get(name) != first[name] for cell in cells)
    ]
    groups: dict[tuple[tuple[str, Any], ...], list[Cell]] = {}
    for cell in cells:
        key = tuple((name, cell.settings.get(name)) for name in varied)
        groups.setdefault(key, []).append(cell)
    return groups


def _reduction(comparison: Comparison) -> str:
    if comparison.argmax:
        return f"{comparison.argmax} of the largest"
    if gain := comparison.gain_over:
        over = ", ".join(f"{k} {'not used' if v is None else v}" for k, v in gain.items())
        return f"gain over {over} of"
    return f"standard deviation over {comparison.std_over} of" if comparison.std_over else ""


def needed_by_claims(suite: Suite, scale: str, cells: Sequence[Cell]) -> Sets:
    """Return the cells that each claim of the suite needs for each seed.

    A check on an accuracy also needs the baselines of its cells, if the scale has any. Checks
    without an effect among these cells need nothing. A claim with only such checks gets an empty
    set.

    Args:
        suite: the suite.
        scale: one of its scales.
        cells: the cells of the scale that the claims use.
    """
    settings = suite.scales[scale].baselines

    def needed(check: Check, cells_of_seed: Sequence[Cell]) -> list[Cell]:
        tested = cells_of_check(check, cells_of_seed)
        if settings is None or check.metric not in ACCURACIES:
            return tested
        return [*tested, *baseline_cells(tested, settings)]

    return [
        (
            claim,
            seed,
            frozenset(cell.id for check in checks for cell in needed(check, cells_of_seed)),
        )
        for claim, checks in suite.claims.items()
        for seed, cells_of_seed in _by_seed(cells)
    ]


def needed_by_printed(suite: Suite, cells: Sequence[Cell], paper: Paper) -> Sets:
    """Return the cells that each published value needs for each seed.

    Args:
        suite: the suite, with its comparisons. A gain needs two cells; a reduction needs all cells
            of an axis.
        cells: all cells of the selection.
        paper: the paper with the published values.
    """
    index = CellIndex(cells)
    needed: Sets = []
    for comparison in suite.compare:
        for i, value in enumerate(paper.artifact(comparison.artifact).values):
            name = f"{comparison.artifact} {comparison.metric} {i}"
            for seed, cells_of_seed in _by_seed(cells_of_value(value, comparison, suite, index)):
                if comparison.over is not None:
                    needed.append((name, seed, frozenset(cell.id for cell in cells_of_seed)))
                elif comparison.gain_over:
                    pairs = (
                        (c, base_of(c, value, comparison, suite, index)) for c in cells_of_seed
                    )
                    needed += [(name, seed, frozenset([c.id, b.id])) for c, b in pairs if b]
                else:
                    needed += [(name, seed, frozenset([cell.id])) for cell in cells_of_seed]
    return needed


def _by_seed(cells: Sequence[Cell]) -> Iterator[tuple[int, list[Cell]]]:
    for seed in dict.fromkeys(cell.seed for cell in cells):
        yield seed, [cell for cell in cells if cell.seed == seed]
