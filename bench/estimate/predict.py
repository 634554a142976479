"""Look up how long cells will take, and how much memory, among finished cells and probes.

A cell takes the median seconds per unit of `Cell.work` of the nearest cells that have finished:
equal ones with other seeds, else its kind, else the nearest kind of the same network. The training
of an encoder, which cells share, and the rest are looked up apart.
"""

import heapq
import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from bench.cells.cell import Cell
from bench.cells.groups import make_stacks
from bench.cells.pretrain import Pretrain
from bench.estimate.history import (
    Machine,
    Timing,
    machine_of,
    probed_timings,
    sampled_timings,
    selected_timings,
)
from bench.results.store import OVER, CellState, State, Store
from bench.text import counted

ON_ENCODERS = frozenset({"pretrain", "finetune", "detection", "tsne"})
"""Experiments that tell each other's times: they train the same encoders."""
EVALUATIONS = ("linear", "few_shot", "test_warp")
NO_CELL = "nothing comparable has run"


@dataclass(frozen=True)
class Estimate:
    """Prediction for one cell; seconds of a worker, None where nothing comparable has run."""

    cell: Cell
    kind: str
    training: str | None  # that cells share and that is still to do
    shared_s: float | None  # of the training, once for all that share it
    own_s: float | None
    peak_memory_gb: float | None
    device_peak_gb: float | None
    source: str  # finished, probe, unknown; done or failed: it will not be computed
    message: str  # the source in words
    is_near: bool = True  # from its own kind on this machine, or it will not be computed

    @property
    def is_left(self) -> bool:
        """Whether it will be computed."""
        return self.source not in ("done", "failed")


class _Part(NamedTuple):
    """The training of a cell, or the rest, as it is looked up."""

    work: float
    keys: tuple[str, ...]  # groups of cells, from near to far, its kind last
    family: str  # kinds that differ in sizes alone
    sizes: tuple[float, ...]


class _Found(NamedTuple):
    seconds: float
    source: str
    message: str
    is_kind: bool  # whether cells of the same kind were found


class Lookup:
    """Seconds per unit of work of finished cells and probes, by how near they are."""

    def __init__(self, timings: Sequence[Timing], where: str) -> None:
        """Sort timings of one machine, added to messages as `where`."""
        self.where = where
        self._rates: dict[str, list[float]] = defaultdict(list)  # seconds per unit, by group
        self._probed: set[str] = set()  # kinds of which no cell has finished
        self._kinds: dict[str, dict[tuple[float, ...], str]] = defaultdict(dict)  # of a family
        for timing in sorted(timings, key=lambda t: t.is_probe):
            for part, seconds in zip(
                _parts(timing.cell), (timing.own_s, timing.shared_s), strict=False
            ):
                kind = part.keys[-1]
                if not seconds or (timing.is_probe and kind in self._rates):
                    continue
                for key in part.keys:
                    self._rates[key].append(seconds / part.work)
                self._kinds[part.family][part.sizes] = kind
                self._probed |= {kind} if timing.is_probe else set()

    def find(self, part: _Part) -> _Found | None:
        """Return the seconds of a part; None if no cell of its network has run."""
        key = next((key for key in part.keys if key in self._rates), None)
        kind, of = part.keys[-1], ""
        if key is None:
            if not (kinds := self._kinds.get(part.family)):
                return None
            nearest = min(kinds, key=lambda s: (_distance(s, part.sizes), [-size for size in s]))
            key = kind = kinds[nearest]
            of = f" of {kind.split(' ', 2)[2]}"
        rates = self._rates[key]
        source = "probe" if kind in self._probed else "finished"
        words = "probe" if source == "probe" else counted(len(rates), "finished cell")
        message = f"{words}{of}{self.where}"
        return _Found(part.work * median(rates), source, message, is_kind=not of)


def _parts(cell: Cell) -> Iterator[_Part]:
    """Yield what a cell does by itself, and the training that it shares, if any."""
    known = cell.known
    evaluated = [known.get(name) for name in EVALUATIONS]
    family, sizes = _family(known, cell.sizes)
    kind = f"own {cell.kind}"
    keys: tuple[str, ...] = (f"own {cell.but_seed}", f"{kind} {evaluated}", kind)
    yield _Part(cell.work, keys, f"own {cell.experiment} {family}", sizes)
    if cell.training_id is not None:
        family, sizes = _family(known, Pretrain.sizes)
        kind = f"shared training {Pretrain.kind_of(known)}"
        keys = (f"{kind} {known['method']} {known['dataset']}", kind)
        yield _Part(cell.training_work, keys, f"training {family}", sizes)


def _family(known: dict[str, Any], names: Sequence[str]) -> tuple[str, tuple[float, ...]]:
    """Return the sizes that are words, as one text, and the others, as numbers."""
    values = [known[name] for name in names]
    words = [str(value) for value in values if not isinstance(value, int | float)]
    return " ".join(words), tuple(float(v) for v in values if isinstance(v, int | float))


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    return round(sum(abs(math.log(a / b)) for a, b in zip(one, other, strict=True)), 6)


class Table:
    """Lookups on this machine and on others, and the peaks of memory by kind."""

    def __init__(self, store: Store, machine: Machine, timings: Sequence[Timing]) -> None:
        """Sort timings by the machine that will compute and others."""
        self.store = store
        self.peaks: dict[str, list[Timing]] = defaultdict(list)
        here: list[Timing] = []
        elsewhere: list[Timing] = []
        for timing in timings:
            if timing.device == machine.device:
                (here if timing.machine == machine.name else elsewhere).append(timing)
                self.peaks[timing.cell.kind].append(timing)
        self.lookups = [Lookup(here, "")]
        for name in sorted({t.machine for t in elsewhere} if machine.device == "cpu" else ()):
            of = [timing for timing in elsewhere if timing.machine == name]
            self.lookups.append(Lookup(of, f" on another machine ({name or 'unnamed'})"))

    def estimate(self, cell: Cell) -> Estimate:
        """Return the prediction for a cell that will be computed."""
        training = cell.training_id
        if training is not None and os.path.exists(
            f"{self.store.root}/trained/{training}/summary.json"
        ):
            training = None
        own, *shared = _parts(cell)
        parts = [own, *(shared if training is not None else [])]
        alike = self.peaks[cell.kind]
        host = max((t.peak_memory_gb or 0.0 for t in alike), default=0.0) or None
        device = max((t.device_peak_gb or 0.0 for t in alike), default=0.0) or None
        for i, lookup in enumerate(self.lookups):
            found = [f for part in parts if (f := lookup.find(part)) is not None]
            if len(found) == len(parts):
                seconds = found[1].seconds if training is not None else 0.0
                near = i == 0 and all(f.is_kind for f in found)
                _, source, message, _ = found[-1]
                return Estimate(
                    cell, cell.kind, training, seconds, found[0].seconds, host, device, source,
                    message, near,
                )  # fmt: skip
        return Estimate(
            cell, cell.kind, training, None, None, host, device, "unknown", NO_CELL, is_near=False
        )


@dataclass(frozen=True)
class Prediction:
    """Seconds of work and peak memory of some cells; None where nothing like them has run."""

    estimates: list[Estimate]
    machine: Machine
    places: Sequence[str | None]  # one entry a worker, its GPU or None
    sharing: Counter[str] = field(default_factory=Counter)  # cells left, by training

    @property
    def slots(self) -> int:
        """Number of workers."""
        return len(self.places)

    @property
    def gpus(self) -> bool:
        """Whether GPUs compute."""
        return self.machine.device == "cuda"

    @property
    def core_s(self) -> float | None:
        """Seconds of one worker for all that is left, each shared training once."""
        return total_s([e for e in self.estimates if e.is_left])

    def parts(self, estimate: Estimate) -> tuple[float | None, float | None]:
        """Return a cell's equal part of a shared training, and the seconds of the rest."""
        if estimate.own_s is None or estimate.shared_s is None:
            return None, None
        return estimate.shared_s / max(1, self.sharing[estimate.training or ""]), estimate.own_s

    def seconds(self, estimate: Estimate) -> float | None:
        """Return a cell's seconds, its equal part of a shared training among them."""
        shared_s, own_s = self.parts(estimate)
        return None if shared_s is None or own_s is None else shared_s + own_s

    def record(self) -> dict[str, Any]:
        """Return it as JSON, with the wall time on the slots, in all and for each kind."""
        left = [e for e in self.estimates if e.is_left]
        known = [e for e in left if e.source != "unknown"]
        kinds: dict[str, list[Estimate]] = defaultdict(list)
        for estimate in left:
            kinds[estimate.kind].append(estimate)
        return {
            **self._totals(left),
            "slots": self.slots,
            "machine": self.machine.name,
            "gpus": len(set(self.places)) if self.gpus else 0,
            "known": self._totals(known),
            "cells_unknown": len(left) - len(known),
            "by_kind": [
                {
                    "kind": kind,
                    "cells": len(estimates),
                    "cell_s": _rounded(total_s(estimates), len(estimates)),
                    **self._totals(estimates),
                    "from": estimates[0].source,
                    "message": ", ".join(dict.fromkeys(e.message for e in estimates)),
                }
                for kind, estimates in kinds.items()
            ],
        }

    def _totals(self, left: Sequence[Estimate]) -> dict[str, Any]:
        work = total_s(left)
        return {
            "wall_s": None if work is None else _rounded(wall_s(left, self.slots)),
            "core_s": _rounded(work),
            "gpu_hours": None if work is None or not self.gpus else round(work / 3600, 4),
            "peak_memory_gb": _largest([e.peak_memory_gb for e in left]),
            "device_peak_gb": _largest([e.device_peak_gb for e in left]),
        }


def total_s(estimates: Sequence[Estimate]) -> float | None:
    """Return the seconds of one worker for these cells, each shared training once."""
    trainings: dict[str, float] = {}
    seconds = 0.0
    for e in estimates:
        if e.own_s is None or e.shared_s is None:
            return None
        seconds += e.own_s
        if e.training is not None:
            trainings[e.training] = e.shared_s
    return seconds + sum(trainings.values())


def wall_s(estimates: Sequence[Estimate], slots: int) -> float:
    """Return when the last of so many workers ends, the longest stack first."""
    by_id = {e.cell.id: e for e in estimates}
    stacks = [
        [by_id[c.id] for c in stack] for stack in make_stacks([e.cell for e in estimates], slots)
    ]
    ends = [0.0] * slots
    for seconds in sorted((total_s(stack) or 0.0 for stack in stacks), reverse=True):
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
    """Predict the cells that will be computed from finished ones and from probes.

    It reads finished cells of the selection and a sample of the whole results folder, exported
    tables among them; those of this machine count before those of others.

    Args:
        cells: the selection.
        states: of each cell.
        store: the results.
        slots: one entry a worker, its GPU or None.
        leave: states of cells that will not be computed.
        machine: what will compute; default: what the slots are of.
    """
    pairs = list(zip(cells, states, strict=True))
    left = [cell for cell, state in pairs if state.state not in leave]
    machine = machine or machine_of(slots)
    done = [cell for cell, state in pairs if state.state == State.DONE]
    table = Table(store, machine, _timings(left, done, store))
    estimates = [
        table.estimate(cell)
        if state.state not in leave
        else Estimate(cell, "", None, 0.0, 0.0, None, None, str(state.state), str(state.state))
        for cell, state in pairs
    ]
    sharing = Counter(e.training for e in estimates if e.training is not None)
    return Prediction(estimates, machine, slots, sharing)


def _timings(left: Sequence[Cell], done: Sequence[Cell], store: Store) -> list[Timing]:
    """Return timings of the experiments of the cells left, and of those that tell their times."""
    asked = {cell.experiment for cell in left}
    asked |= ON_ENCODERS if asked & ON_ENCODERS else set()
    timings: list[Timing] = []
    for experiment in sorted(asked):
        finished = [cell for cell in done if cell.experiment == experiment]
        timings += selected_timings(finished, store)
        timings += sampled_timings(experiment, store, {cell.id for cell in finished})
    return timings + [t for t in probed_timings(store.root) if t.cell.experiment in asked]


def _largest(peaks: Sequence[float | None]) -> float | None:
    """Return the largest; None if one of them is not known, or there is none."""
    known = [peak for peak in peaks if peak is not None]
    return max(known) if known and len(known) == len(peaks) else None


def _rounded(seconds: float | None, cells: int = 0) -> float | None:
    """Return seconds rounded; of each of so many cells, if given."""
    if seconds is None:
        return None
    return round(seconds / cells, 3) if cells else round(seconds, 1)
