"""Predict the time and memory of cells from finished cells and probes.

The prediction is the median time per unit of `Cell.work` of finished cells of the same kind. Cells
that differ only in the seed are preferred, then cells with the same evaluations. Shared training of
encoders and other work are predicted separately. A kind that never ran has no prediction; `bench
plan --probe` times a few of its steps.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, NamedTuple

from bench.cells.cell import Cell
from bench.cells.groups import make_stacks
from bench.cells.pretrain import Pretrain
from bench.estimate.history import Machine, Timing, finished_timings, machine_of, probed_timings
from bench.results.digests import TRAINED
from bench.results.store import OVER, CellState, State, Store
from bench.text import counted

ON_ENCODERS = frozenset({"pretrain", "finetune", "detection", "tsne"})
"""Experiments that predict each other's times, because they train the same encoders."""
EVALUATIONS = ("linear", "few_shot", "test_warp")
NO_CELL = "no similar cell has run"


@dataclass(frozen=True, slots=True)
class CellPrediction:
    """Prediction for one cell; seconds of one worker, None if its kind has not run."""

    cell: Cell
    training: str | None  # that cells share and that is still to do
    shared_s: float | None  # of the training, once for all that share it
    own_s: float | None
    source: str  # finished, probe, unknown; done or failed: it will not be computed
    message: str  # the source in words
    is_near: bool = True  # from this machine, or it will not be computed
    peak_memory_gb: float | None = None
    device_peak_gb: float | None = None

    @property
    def is_left(self) -> bool:
        """Whether the cell will be computed."""
        return self.source not in ("done", "failed")


class _Work(NamedTuple):
    """The training of a cell, or the rest, as it is looked up."""

    work: float
    groups: tuple[str, ...]  # of cells, from near to far, its kind last


def _parts(cell: Cell) -> Iterator[_Work]:
    """Yield what a cell does by itself, and the training that it shares, if any."""
    known, kind = cell.known, f"own {cell.kind}"
    evaluated = [known.get(name) for name in EVALUATIONS]
    yield _Work(cell.work, (f"own {cell.but_seed}", f"{kind} {evaluated}", kind))
    if cell.training_id is not None:
        kind = f"training {Pretrain.kind_of(known)}"
        near = f"{kind} {known['method']} {known['dataset']}"
        yield _Work(cell.training_work, (near, kind))


class SecondsTable:
    """Seconds per unit of work by machine and group of cells, and peak memory by kind."""

    def __init__(self, store: Store, machine: Machine, timings: Sequence[Timing]) -> None:
        """Sort timings; only a CPU is predicted from other machines, after this one."""
        self._at, self._peaks = store.root / TRAINED, defaultdict[str, list[Timing]](list)
        self._trained = {path.name for path in self._at.glob("*")}
        of_device = [timing for timing in timings if timing.device == machine.device]
        others = {t.machine for t in of_device if machine.device == "cpu"} - {machine.name}
        self._machines = [machine.name, *sorted(others)]
        self._rates = defaultdict[tuple[str, str, str], list[float]](list)
        self._found = dict[tuple[str, bool], CellPrediction]()  # of a point, trained already or not
        for timing in of_device:
            self._peaks[timing.cell.kind].append(timing)
            source = "probe" if timing.is_probe else "finished"
            seconds_of = (timing.own_s, timing.shared_s)
            for part, seconds in zip(_parts(timing.cell), seconds_of, strict=False):
                if seconds:
                    for group in part.groups:
                        self._rates[source, timing.machine, group].append(seconds / part.work)

    def estimate(self, cell: Cell) -> CellPrediction:
        """Return the prediction for a cell that will be computed."""
        training = cell.training_id
        kept = training is not None and training in self._trained
        if kept and (self._at / str(training) / "summary.json").exists():
            training = None
        point = cell.but_seed, training is None
        if point not in self._found:
            self._found[point] = self._estimate(cell, training)
        return replace(self._found[point], cell=cell, training=training)

    def _estimate(self, cell: Cell, training: str | None) -> CellPrediction:
        parts = list(_parts(cell))[: 1 if training is None else None]
        alike = self._peaks[cell.kind]
        peaks = {
            name: max((getattr(timing, name) or 0.0 for timing in alike), default=0.0) or None
            for name in ("peak_memory_gb", "device_peak_gb")
        }
        for i, machine in enumerate(self._machines):
            found = [f for part in parts if (f := self._find(machine, part)) is not None]
            if len(found) == len(parts):
                seconds = [seconds for seconds, _, _ in found]
                _, source, message = found[-1]
                where = f" on a different machine ({machine or 'unnamed'})" if i else ""
                return CellPrediction(
                    cell, training, sum(seconds[1:]), seconds[0], source, message + where,
                    is_near=not i, **peaks,
                )  # fmt: skip
        return CellPrediction(
            cell, training, None, None, "unknown", NO_CELL, is_near=False, **peaks
        )

    def _find(self, machine: str, part: _Work) -> tuple[float, str, str] | None:
        """Return the seconds of a part, their source, and this in words; None: not known."""
        for source in ("finished", "probe"):
            for group in part.groups:
                if rates := self._rates.get((source, machine, group)):
                    words = counted(len(rates), "finished cell")
                    words = words if source == "finished" else source
                    return part.work * median(rates), source, words
        return None


@dataclass(frozen=True)
class Prediction:
    """Predicted time and peak memory of cells; None if no similar cell has run."""

    estimates: list[CellPrediction]
    machine: Machine
    places: Sequence[str | None]  # one entry a worker, its GPU or None
    sharing: Counter[str] = field(default_factory=Counter)  # cells left, by training

    @property
    def left(self) -> list[CellPrediction]:
        """Predictions of the cells that will be computed."""
        return [e for e in self.estimates if e.is_left]

    @property
    def gpus(self) -> bool:
        """Whether GPUs are used."""
        return self.machine.device == "cuda"

    @property
    def core_s(self) -> float | None:
        """Seconds of one worker for all remaining cells, each shared training once."""
        return total_s(self.left)

    def parts(self, estimate: CellPrediction) -> tuple[float | None, float | None]:
        """Return a cell's equal share of a shared training, and its other seconds."""
        cells, shared_s = self.sharing[estimate.training or ""], estimate.shared_s
        return None if shared_s is None else shared_s / max(1, cells), estimate.own_s

    def seconds(self, estimate: CellPrediction) -> float | None:
        """Return a cell's seconds, including its equal share of a shared training."""
        return sum_known(self.parts(estimate))

    def record(self) -> dict[str, Any]:
        """Return the prediction as JSON, with the wall time in total and for each kind."""
        known = [e for e in self.left if e.source != "unknown"]
        kinds: dict[str, list[CellPrediction]] = defaultdict(list)
        for estimate in self.left:
            kinds[estimate.cell.kind].append(estimate)
        return {
            **self._totals(self.left),
            "slots": len(self.places),
            "machine": self.machine.name,
            "gpus": len(set(self.places)) if self.gpus else 0,
            "known": self._totals(known),
            "cells_unknown": len(self.left) - len(known),
            "by_kind": [
                {
                    "kind": kind,
                    "cells": len(alike),
                    "cell_s": _rounded(total_s(alike), 3, len(alike)),
                    **self._totals(alike),
                    "from": alike[0].source,
                    "message": ", ".join(dict.fromkeys(e.message for e in alike)),
                }
                for kind, alike in kinds.items()
            ],
        }

    def _totals(self, left: Sequence[CellPrediction]) -> dict[str, Any]:
        work = total_s(left)
        return {
            "wall_s": None if work is None else _rounded(wall_s(left, len(self.places)), 1),
            "core_s": _rounded(work, 1),
            "gpu_hours": _rounded(work, 4, 3600) if self.gpus else None,
            "peak_memory_gb": _largest([e.peak_memory_gb for e in left]),
            "device_peak_gb": _largest([e.device_peak_gb for e in left]),
        }


def sum_known(seconds: Sequence[float | None]) -> float | None:
    """Return the sum; None if a summand is None."""
    known = [s for s in seconds if s is not None]
    return sum(known) if len(known) == len(seconds) else None


def total_s(estimates: Sequence[CellPrediction]) -> float | None:
    """Return the seconds of one worker for these cells, each shared training once."""
    shared = {e.training: e.shared_s for e in estimates if e.training is not None}
    return sum_known([*(e.own_s for e in estimates), *shared.values()])


def wall_s(estimates: Sequence[CellPrediction], slots: int) -> float:
    """Return the wall time with this many workers, the longest stack first."""
    by_id = {e.cell.id: e for e in estimates}
    stacks = make_stacks([e.cell for e in estimates], slots)
    seconds_of = [total_s([by_id[cell.id] for cell in stack]) or 0.0 for stack in stacks]
    return last_end([0.0] * slots, sorted(seconds_of, reverse=True))


def last_end(ends: list[float], waiting: Iterable[float]) -> float:
    """Return when the last worker finishes if each takes the next waiting task when free.

    Args:
        ends: end time of each worker's current task, in seconds.
        waiting: durations of waiting tasks in seconds, in order.
    """
    heapq.heapify(ends)
    for seconds in waiting:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


def predict(
    cells: Sequence[Cell],
    states: Sequence[CellState],
    store: Store,
    slots: Sequence[str | None],
    *,
    leave: Sequence[State] = OVER,
    machine: Machine | None = None,
) -> Prediction:
    """Predict time and memory of the remaining cells from finished cells and probes.

    It reads finished cells of the selection and a sample of the results folder, including exported
    tables. Cells from this machine are preferred.

    Args:
        cells: the selection.
        states: state of each cell.
        store: the results folder.
        slots: GPU of each worker, or None.
        leave: states of cells that will not be computed.
        machine: the machine that will compute; default: the machine of `slots`.
    """
    pairs = list(zip(cells, (state.state for state in states), strict=True))
    asked = {cell.experiment for cell, state in pairs if state not in leave}
    asked |= ON_ENCODERS if asked & ON_ENCODERS else set()
    timings = [t for t in probed_timings(store.root) if t.cell.experiment in asked]
    for name in sorted(asked):
        done = [cell.id for cell, s in pairs if s == State.DONE and cell.experiment == name]
        timings += finished_timings(name, store, done)
    machine = machine or machine_of(slots)
    table = SecondsTable(store, machine, timings)
    estimates = [
        table.estimate(cell)
        if state not in leave
        else CellPrediction(cell, None, 0.0, 0.0, str(state), str(state))
        for cell, state in pairs
    ]
    sharing = Counter(e.training for e in estimates if e.training is not None)
    return Prediction(estimates, machine, slots, sharing)


def _largest(peaks: Sequence[float | None]) -> float | None:
    """Return the largest; None if one of them is not known, or there is none."""
    known = [peak for peak in peaks if peak is not None]
    return max(known) if known and len(known) == len(peaks) else None


def _rounded(seconds: float | None, digits: int, parts: int = 1) -> float | None:
    return None if seconds is None else round(seconds / parts, digits)
