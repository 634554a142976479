"""Finished cells of a suite at a scale, with one number per seed.

The table `paired.yaml` fixes in advance on which metrics effects are paired by seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from math import log2
from pathlib import Path
from statistics import fmean, stdev

from pydantic import TypeAdapter, ValidationError

from bench.analysis.doubts import believed, doubts_of
from bench.analysis.room import Rooms
from bench.analysis.statistics import How
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.errors import PublishedError
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml
from bench.record import Record
from bench.results.fitness import Failed
from bench.results.reader import Done, Finished
from bench.results.tables import TrainingHistory
from bench.suites.checks import At, Check
from bench.suites.suite import Comparison, Scalar
from bench.text import counted

Metrics = dict[str, dict[str, float]]  # by cell id

PAIRED = Path(__file__).parent / "paired.yaml"

TRAIN_TIME = "log2_train_hours"
HOUR_S = 3600
MACHINE = (
    "trained.machine.system", "trained.machine.processor", "trained.machine.cores",
    "trained.device", "trained.threads", "trained.ranks", "device_name", "packed",
)  # fmt: skip
"""Settings that must be equal before times are compared."""


class Paired(Record):
    """Metrics on which effects between certain cells are computed seed by seed."""

    experiment: str
    where: dict[str, Scalar] = {}  # settings of the cells
    metrics: list[str]
    why: str

    def concerns(self, metric: str, cells: Iterable[Cell]) -> bool:
        """Return whether the metric and all of the cells are of the kind that the row names."""
        return metric in self.metrics and all(
            cell.experiment == self.experiment and self.where.items() <= cell.settings.items()
            for cell in cells
        )


class Measured:
    """All cells of a suite at a scale and the metrics of the finished ones."""

    def __init__(
        self,
        cells: Sequence[Cell],
        done: Done,
        rooms: Rooms | None = None,
        failed: Failed = (),
    ) -> None:
        """Name the cells, finished and failed ones; leave out numbers that mean nothing."""
        self.cells, self.rooms, self.failed = cells, rooms or Rooms(), failed
        self.finished: dict[str, Finished] = {c.id: kept for c, kept in believed(done)}
        self.doubts = {cell.id: doubts for cell, kept in done if (doubts := doubts_of(cell, kept))}
        times = train_times(self.finished)
        self.metrics: Metrics = {
            name: kept.metrics | times.get(name, {}) for name, kept in self.finished.items()
        }

    @cached_property
    def index(self) -> CellIndex:
        """The cells, indexed by their settings."""
        return CellIndex(self.cells)

    def numbers(self, check: Check, needed: Sequence[Cell]) -> Metrics:
        """Return the metrics that a check reads: last values, or one number per history."""
        if check.at is None:
            return self.metrics
        finished = [cell.id for cell in needed if cell.id in self.finished]
        values = {
            name: number_at(self.finished[name].history, check.metric, check.at)
            for name in finished
        }
        return {k: {} if number is None else {check.metric: number} for k, number in values.items()}

    def why_left_out(self, metric: str, cells: Sequence[Cell]) -> str | None:
        """Return why a metric is unreliable in some of these cells, and in how many.

        None if all of them are reliable.
        """
        reasons = [why for c in cells if (why := self.doubts.get(c.id, {}).get(metric))]
        if not reasons:
            return None
        why = "; ".join(dict.fromkeys(reasons))
        return f"{len(reasons)} of {counted(len(cells), 'cell')} were left out: {why}"

    @staticmethod
    def how(metric: str, cells: Sequence[Cell]) -> How:
        """Return how the standard error of a contrast between these cells is estimated."""
        return "paired" if is_paired(metric, cells) else "separate"

    def how_of(self, check: Check, cells: Sequence[Cell]) -> How:
        """Return how the standard error of a check is estimated."""
        plain = check.at is None and len(check.metrics) == 1
        return self.how(check.metric, cells) if plain else "separate"


def number_at(history: TrainingHistory, metric: str, at: At) -> float | None:
    """Return one number of a metric's history; None if it was not recorded."""
    points = [(r["epoch"], r[metric]) for r in history if metric in r and "epoch" in r]
    if not points:
        return None
    if at.since is None:
        return fmean(value for _, value in points)
    before = [value for epoch, value in points if epoch <= at.since]
    return points[-1][1] - before[-1] if before else None


def seed_numbers(
    cells: Sequence[Cell], comparison: Comparison, metrics: Mapping[str, Mapping[str, float]]
) -> list[float]:
    """Return one number per seed: the metric or its reduction over an axis.

    Args:
        cells: cells with all seeds, for one interpretation of a published value.
        comparison: selects the metric or reduction.
        metrics: metrics of the finished cells, by cell id.

    Raises:
        ValueError: a seed occurs twice.
    """
    values = [(c, metrics[c.id].get(comparison.metric)) for c in cells if c.id in metrics]
    pairs = [(value, cell) for cell, value in values if value is not None]
    if comparison.over is None:
        seeds = [cell.seed for _, cell in pairs]
        if len(set(seeds)) < len(seeds):
            raise ValueError(
                f"{comparison.artifact}: a mean over seeds has the same seed twice: {seeds}"
            )
        return [value for value, _ in pairs]
    numbers = []
    for seed in dict.fromkeys(cell.seed for cell in cells):
        of_seed = [(value, cell) for value, cell in pairs if cell.seed == seed]
        if not of_seed or len(of_seed) < sum(cell.seed == seed for cell in cells):
            continue  # the axis is not done as a whole
        if comparison.argmax:
            best = max(of_seed, key=lambda pair: pair[0])[1]
            numbers.append(float(best.settings[comparison.over]))
        elif len(of_seed) > 1:
            numbers.append(stdev(value for value, _ in of_seed))
    return numbers


TABLE: TypeAdapter[list[Paired]] = TypeAdapter(list[Paired])


def read_paired(path: Path) -> list[Paired]:
    """Read a file of metrics whose effects are paired by seed.

    Raises:
        PublishedError: the file is invalid.
    """
    try:
        return TABLE.validate_python(load_yaml(path, PublishedError))
    except ValidationError as error:
        raise explain(PublishedError, error, path) from None


@cache
def _shipped() -> list[Paired]:
    return read_paired(PAIRED)


def is_paired(metric: str, cells: Sequence[Cell]) -> bool:
    """Return whether an effect on a metric between these cells is computed seed by seed."""
    return any(row.concerns(metric, cells) for row in _shipped())


def train_times(finished: Mapping[str, Finished]) -> dict[str, dict[str, float]]:
    """Return log2 of the hours that training each cell's encoder took, by cell id.

    A difference of 1 means twice as long. Resumed trainings are omitted, because their total time
    is unknown. The result is empty if the cells ran on different machines.
    """
    timed = {
        name: kept.provenance
        for name, kept in finished.items()
        if kept.provenance.get("trained.resumed_at") == 0
        and kept.provenance.get("trained.wall_s", 0.0) > 0
    }
    if len({tuple(origin.get(key) for key in MACHINE) for origin in timed.values()}) > 1:
        return {}
    return {
        name: {TRAIN_TIME: log2(origin["trained.wall_s"] / HOUR_S)}
        for name, origin in timed.items()
    }
