"""Measured beside published: printed rows joined with cells by their settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.analysis.doubts import Doubts, doubts_of
from bench.analysis.intervals import TRAINING, interval_of
from bench.analysis.room import Room
from bench.analysis.seed_numbers import numbers_of_seeds
from bench.analysis.statistics import Interval
from bench.analysis.verdicts import Verdict, judge_value
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.papers.reader import Paper, PublishedValue, Statement
from bench.papers.tolerances import Tolerance, tolerance_of
from bench.results.reader import Done
from bench.suites.printed_rows import is_spoken_of, wanted_settings
from bench.suites.protocol import differences, stated_settings
from bench.suites.suite import Comparison, Suite


@dataclass(frozen=True)
class Compared:
    """One printed value beside what was measured for it, under one reading."""

    artifact: str
    row: dict[str, Any]  # the printed row's own settings
    metric: str
    reading: str | None
    reading_settings: dict[str, Any]
    published: PublishedValue
    measured: Interval | None
    allowed: Tolerance
    reduced: str = ""  # how the metric is reduced over an axis, if it is
    differences: list[str] = field(default_factory=list)
    verdict: Verdict = Verdict.MISSING
    cells: tuple[str, ...] = ()  # the ids of those that were measured
    doubts: tuple[str, ...] = ()  # why what was measured means nothing
    has_cells: bool = False  # whether the scale has cells for the row, measured or not
    covers: str = TRAINING  # what moves the interval
    room: Room | None = None  # of an accuracy, where baselines tell it

    @property
    def tolerance(self) -> float:
        """How far off still counts as the same, in the metric's unit."""
        return self.allowed.of(self.published.std, self.published.value)

    @property
    def comparable(self) -> bool:
        """Whether the cells follow the published protocol and their numbers mean something."""
        return not (self.differences or self.doubts)

    @property
    def departures(self) -> list[str]:
        """Each difference from the published protocol, with the reading that has it."""
        of = ", ".join(f"{k} {v}" for k, v in self.reading_settings.items() if v is not None)
        return [f"{of}: {difference}" if of else difference for difference in self.differences]

    @property
    def what(self) -> str:
        """What is measured."""
        return f"{self.reduced} {self.metric}".strip()

    @property
    def reading_text(self) -> str:
        """The reading in words, empty if there is only one."""
        parts = [f"{k} {v}" for k, v in self.reading_settings.items() if v is not None]
        return ", ".join(([self.reading] if self.reading else []) + parts)

    def record(self) -> dict[str, Any]:
        """Return the row of `bench compare --json`."""
        m = self.measured
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
            "covers": self.covers,
            "room": self.room.record() if self.room else None,
            "tolerance": self.tolerance,
            "tolerance_why": self.allowed.why,
            "comparable": self.comparable,
            "differences": self.differences,
            "doubts": list(self.doubts),
            "verdict": str(self.verdict),
        }


def compare(suite: Suite, cells: Sequence[Cell], done: Done, paper: Paper) -> list[Compared]:
    """Return every printed value that the suite speaks of, beside what was measured.

    A number that means nothing is shown, with the reason, and judged by nobody; where it would be
    one of several that make another number, that is missing.

    Args:
        suite: the suite, with its comparisons.
        cells: all cells of the selection.
        done: the finished ones with their metrics.
        paper: the paper with the printed values.
    """
    measured, index = {cell.id: kept.metrics for cell, kept in done}, CellIndex(cells)
    doubts = {cell.id: doubts_of(cell, kept) for cell, kept in done}
    sound = {
        k: {m: v for m, v in numbers.items() if m not in doubts[k]}
        for k, numbers in measured.items()
    }
    known = {name for cell in cells[:1] for name in cell.metrics}
    rows: list[Compared] = []
    for comparison in suite.compare:
        artifact = paper.artifact(comparison.artifact)
        stated = stated_settings(suite, paper, artifact)
        metrics = sound if comparison.gain_over or comparison.over else measured
        for value in artifact.values:
            if is_spoken_of(value, comparison, known):
                rows += _compare_value(value, comparison, suite, index, metrics, stated)
    return [_with_doubts(row, doubts) for row in rows]


def _with_doubts(row: Compared, doubts: Mapping[str, Doubts]) -> Compared:
    """Return the row, not comparable where a number of it means nothing."""
    candidates = (doubts[name].get(row.metric) for name in row.cells)
    reasons = tuple(dict.fromkeys(why for why in candidates if why is not None))
    if not reasons or row.measured is None or row.reduced:
        return row
    judged = row.published.value is not None
    verdict = Verdict.NOT_COMPARABLE if judged else row.verdict
    return replace(row, doubts=reasons, verdict=verdict)


def cells_of_value(
    value: PublishedValue, comparison: Comparison, suite: Suite, index: CellIndex
) -> list[Cell]:
    """Return the cells that belong to a printed value; none if the comparison leaves it out.

    Args:
        value: the printed value.
        comparison: the block of the suite that says which cells belong to which rows.
        suite: the suite.
        index: the cells to look among.
    """
    known = {name for cell in index.cells[:1] for name in cell.metrics}
    if not is_spoken_of(value, comparison, known):
        return []
    return index.where(wanted_settings(value, comparison, suite))


def _compare_value(
    value: PublishedValue,
    comparison: Comparison,
    suite: Suite,
    index: CellIndex,
    metrics: dict[str, dict[str, float]],
    stated: list[Statement],
) -> list[Compared]:
    """Return one row per reading of the cells that belong to the printed value."""
    wanted = wanted_settings(value, comparison, suite)
    matching = index.where(wanted)
    gain = bool(comparison.gain_over)
    bases = index.where(wanted | comparison.gain_over) if gain else []
    of = (value.paper, comparison.artifact, comparison.metric, comparison.over)
    allowed = tolerance_of(*of, gain=gain)
    result = []
    for reading, group in _readings(matching, {*wanted, "seed", comparison.over}).items():
        settings = dict(reading)
        numbers = numbers_of_seeds(group, comparison, metrics, bases)
        measured, covers = interval_of(numbers, group, comparison)
        faults = differences(group[0], stated, comparison.metric) if group else []
        result.append(
            Compared(
                artifact=comparison.artifact,
                row=value.row_settings,
                metric=comparison.metric,
                reading=comparison.reading,
                reading_settings=settings,
                published=value,
                measured=measured,
                allowed=allowed,
                reduced=_reduction(comparison),
                differences=faults,
                verdict=judge_value(
                    value.value,
                    value.half_unit,
                    allowed.of(value.std, value.value),
                    measured,
                    comparable=not faults,
                    nothing=allowed.nothing,
                ),
                covers=covers,
                cells=tuple(cell.id for cell in group if cell.id in metrics),
                has_cells=bool(group),
            )
        )
    return result


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
        groups.setdefault(tuple((name, cell.settings.get(name)) for name in varied), []).append(
            cell
        )
    return groups


def _reduction(comparison: Comparison) -> str:
    if comparison.argmax:
        return f"{comparison.argmax} of the largest"
    if comparison.gain_over:
        over = ", ".join(
            f"{k} {'not used' if v is None else v}" for k, v in comparison.gain_over.items()
        )
        return f"gain over {over} of"
    return f"standard deviation over {comparison.std_over} of" if comparison.std_over else ""
