"""Headroom of an accuracy: the range from a trivial baseline to supervised training.

Accuracies distinguish methods only within this range. The trivial baseline is the better of raw
inputs and the untrained network. The upper end is the same network trained with labels for equally
many epochs. All use the same evaluation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.statistics import Interval, t_interval
from bench.cells.baseline import ACCURACIES
from bench.cells.cell import Cell
from bench.cells.speech import ACCURACIES as OF_SPEECH
from bench.results.reader import Done
from bench.suites.baselines import baseline_cells, point_of
from bench.suites.suite import Settings
from bench.text import value_text

RAW, UNTRAINED, LABELS = "raw pixels", "untrained network", "with labels"
RAW_SPEECH = "log-mel statistics"


def raw_inputs(metric: str) -> str:
    """Return the name of the raw inputs of an accuracy."""
    return RAW_SPEECH if metric in OF_SPEECH else RAW


SettingsPoint = tuple[tuple[str, Any], ...]  # data, network, epochs and evaluation of cells


@dataclass(frozen=True)
class Room:
    """Baseline accuracies of cells, each a mean over seeds, in percent."""

    metric: str
    point: SettingsPoint
    raw: Interval  # of one seed, for raw inputs have none
    untrained: Interval
    labels: Interval

    @property
    def floor(self) -> float:
        """The larger accuracy of raw inputs and the untrained network, in percent."""
        return max(self.raw.mean, self.untrained.mean)

    @property
    def floor_is(self) -> str:
        """Name of the larger trivial baseline."""
        return self.raw_is if self.raw.mean >= self.untrained.mean else UNTRAINED

    @property
    def raw_is(self) -> str:
        """Name of the raw inputs."""
        return raw_inputs(self.metric)

    @property
    def ceiling(self) -> float:
        """Accuracy of the network trained with labels, in percent."""
        return self.labels.mean

    @property
    def room(self) -> float:
        """Headroom: supervised accuracy minus trivial baseline, in percentage points."""
        return self.ceiling - self.floor

    @property
    def in_words(self) -> str:
        """The accuracies as text."""
        parts = [(self.raw_is, self.raw), (UNTRAINED, self.untrained), (LABELS, self.labels)]
        text = ", ".join(f"{name} {interval.mean:.1f}" for name, interval in parts)
        return f"{text}: headroom {self.room:.1f}"

    def record(self) -> dict[str, Any]:
        """Return the accuracies for `--json`."""
        return {
            "metric": self.metric,
            "raw": self.raw.mean,
            "untrained": self.untrained.mean,
            "labels": self.labels.mean,
            "floor": self.floor,
            "ceiling": self.ceiling,
            "room": self.room,
        }


class Rooms:
    """Headroom of a scale's accuracies, from its finished baselines with all seeds."""

    def __init__(self, settings: Settings | None = None, baselines: Done | None = None) -> None:
        """Take what a scale says of its baselines (None: it has none) and the finished ones.

        Those of which no mean is made count as not done.
        """
        self._settings = settings
        self._measured: dict[str, list[dict[str, float]]] = {}  # by baselines but for their seed
        for cell, finished in baselines or []:
            if finished.unfit is not None:
                continue
            self._measured.setdefault(cell.but_seed, []).append(finished.metrics)
        self._needed: dict[SettingsPoint, dict[str, str]] = {}
        self._points: dict[str, SettingsPoint | None] = {}  # by `but_seed`
        self._rooms: dict[tuple[str, SettingsPoint], Room | None] = {}

    def of(self, metric: str, cells: Iterable[Cell]) -> list[Room]:
        """Return the headroom of a metric for each data set, network and evaluation of the cells.

        Combinations with an unfinished baseline, or one without this metric, are omitted.
        """
        if self._settings is None:
            return []
        rooms = dict.fromkeys(self.of_cell(metric, cell) for cell in cells)
        return [room for room in rooms if room is not None]

    def of_cell(self, metric: str, cell: Cell) -> Room | None:
        """Return the headroom of a metric in a cell; None if it is unknown."""
        point = self._point(metric, cell)
        if point is None:
            return None
        if (metric, point) not in self._rooms:
            self._rooms[metric, point] = self._of_point(metric, point)
        return self._rooms[metric, point]

    def _of_point(self, metric: str, point: SettingsPoint) -> Room | None:
        known = {kind: self._measured.get(k, []) for kind, k in self._needed[point].items()}
        values = {
            kind: [metrics[metric] for metrics in k if metric in metrics]
            for kind, k in known.items()
        }
        if not all(values.values()):
            return None
        return Room(
            metric,
            point,
            **{kind: t_interval(numbers) for kind, numbers in values.items()},
        )

    def are_missing(self, metric: str, cells: Iterable[Cell]) -> bool:
        """Return whether a baseline that a metric of these cells needs is unfinished."""
        if self._settings is None:
            return False
        points = dict.fromkeys(self._point(metric, cell) for cell in cells)
        needed = [key for p in points if p is not None for key in self._needed[p].values()]
        return any(key not in self._measured for key in needed)

    def _point(self, metric: str, cell: Cell) -> SettingsPoint | None:
        """Return what the baselines of a cell are made of; None: they have no such metric."""
        if self._settings is None or metric not in ACCURACIES:
            return None
        if cell.but_seed not in self._points:
            self._points[cell.but_seed] = self._point_of(cell, self._settings)
        return self._points[cell.but_seed]

    def _point_of(self, cell: Cell, of_scale: Settings) -> SettingsPoint | None:
        if (settings := point_of(cell, of_scale)) is None:
            return None
        point = tuple((name, value) for name, value in settings.items() if name != "seed")
        if point not in self._needed:
            baselines = baseline_cells([cell], of_scale)
            self._needed[point] = {b.baseline: b.but_seed for b in baselines}
        return point


def apart(rooms: Sequence[Room]) -> list[str]:
    """Return the settings that distinguish headrooms with different numbers."""
    if len({(room.metric, room.in_words) for room in rooms}) == len(
        {room.metric for room in rooms}
    ):
        return []
    return [k for k, v in rooms[0].point if any(dict(room.point)[k] != v for room in rooms)]


def room_lines(rooms: Sequence[Room]) -> list[str]:
    """Return one line per headroom of a metric, with the settings that distinguish it."""
    names = apart(rooms) if rooms else []
    if not names:
        return [room.in_words for room in rooms[:1]]
    points = [{k: v for k, v in room.point if k in names} for room in rooms]
    return [f"{value_text(p)}: {room.in_words}" for p, room in zip(points, rooms, strict=True)]
