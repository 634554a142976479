"""The finished cells of a suite at a scale, as the checks of claims read them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from statistics import fmean

from bench.analysis.doubts import believed
from bench.analysis.room import Rooms
from bench.analysis.spread import Spread, spread_of, unequal_spread
from bench.analysis.statistics import How, Pools, pooled
from bench.analysis.train_times import train_times
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.results.reader import Done, Finished, History
from bench.suites.checks import At, Below, Check

Metrics = dict[str, dict[str, float]]  # by cell id


class Measured:
    """All cells of a suite at a scale, and what the finished ones measured."""

    def __init__(
        self, scale: str, cells: Sequence[Cell], done: Done, rooms: Rooms | None = None
    ) -> None:
        """Name the cells; `done` are those of them that are finished. No rooms: none is known.

        Numbers that mean nothing are left out.
        """
        self.scale, self.cells, self.rooms = scale, cells, rooms or Rooms()
        self.finished: dict[str, Finished] = {c.id: kept for c, kept in believed(done)}
        times = train_times(self.finished)
        self.metrics: Metrics = {
            name: kept.metrics | times.get(name, {}) for name, kept in self.finished.items()
        }
        self._pools: dict[str, Pools] = {}

    @cached_property
    def index(self) -> CellIndex:
        """The cells by their settings."""
        return CellIndex(self.cells)

    def numbers(self, check: Check, needed: Sequence[Cell]) -> Metrics:
        """Return the metrics that a check reads: last values, or one number of each history."""
        if check.at is None:
            return self.metrics
        finished = [cell.id for cell in needed if cell.id in self.finished]
        values = {
            name: number_at(self.finished[name].history, check.metric, check.at)
            for name in finished
        }
        return {k: {} if number is None else {check.metric: number} for k, number in values.items()}

    def how(self, check: Check, needed: Sequence[Cell]) -> How:
        """Return how the spread of the check's effects is estimated."""
        spread = self._spread(check, needed)
        return "separate" if spread is None else spread.how

    def alike(self, cell: Cell, check: Check) -> Hashable:
        """Return what names the cells that share the cell's variance; None: it shares none."""
        spread = self._spread(check, [cell])
        return None if spread is None or spread.how != "pooled" else self._name(cell, spread)

    def pools(self, check: Check, needed: Sequence[Cell]) -> Pools:
        """Return the shared variances of the check's metric, over all cells of the scale.

        None where the seeds of the cells refute that they share one.
        """
        spread = self._spread(check, needed)
        if spread is None or spread.how != "pooled":
            return {}
        if check.metric not in self._pools:
            self._pools[check.metric] = self._pooled(check.metric, spread)
        return self._pools[check.metric]

    def _pooled(self, metric: str, spread: Spread) -> Pools:
        points: dict[Hashable, dict[Hashable, list[float]]] = {}
        for cell in self.cells:
            number = self.metrics.get(cell.id, {}).get(metric)
            if number is not None and cell.experiment == spread.experiment:
                alike = points.setdefault(self._name(cell, spread), {})
                alike.setdefault(cell.but_seed, []).append(number)
        step = max((cell.step_of(metric) or 0.0 for cell in self.cells), default=0.0)
        variances = {
            name: pooled(samples.values())
            for name, samples in points.items()
            if not unequal_spread(samples.values(), step)
        }
        return {name: v for name, v in variances.items() if v is not None}

    def _spread(self, check: Check, needed: Sequence[Cell]) -> Spread | None:
        if check.at is not None or isinstance(check, Below):  # numbers with a spread of their own
            return None
        experiments = {cell.experiment for cell in needed}
        if len(experiments) != 1:
            return None
        return spread_of(experiments.pop(), self.scale, check.metric)

    def _name(self, cell: Cell, spread: Spread) -> Hashable:
        return tuple(cell.known.get(name) for name in spread.apart)


def number_at(history: History, metric: str, at: At) -> float | None:
    """Return one number of a metric's history; None where it was not recorded.

    Args:
        history: the records of one cell.
        metric: which metric.
        at: at which epoch, since which, or over which part.
    """
    points = [(r["epoch"], r[metric]) for r in history if metric in r and "epoch" in r]
    if not points:
        return None
    if (end := at.epoch or at.since) is not None:
        before = [value for epoch, value in points if epoch <= end]
        if not before:
            return None
        return before[-1] if at.epoch is not None else points[-1][1] - before[-1]
    if at.reaches is not None:
        return next((e for e, value in points if value >= at.reaches), points[-1][0])
    return fmean(value for _, value in points)
