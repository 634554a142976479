"""How long cells will take and how much memory, from finished cells, else from probes."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.cells.cell import Cell
from bench.cells.stacks import make_stacks
from bench.estimate.devices import SPAN
from bench.estimate.estimate import Estimate
from bench.estimate.estimator import Estimator
from bench.estimate.history import Timing, sampled_timings, selected_timings
from bench.estimate.machine import Machine, machine_of
from bench.estimate.memory import largest
from bench.estimate.probe_files import probed_timings
from bench.results.store import OVER, CellState, State, Store

TOGETHER = ("pretrain", "supervised", "baseline", "tsne")
"""Experiments whose cells tell each other's times."""


@dataclass(frozen=True)
class Prediction:
    """Seconds of work and peak memory of some cells; None where nothing like them has run."""

    estimates: list[Estimate]
    based_on: int  # finished cells
    basis: list[str]  # in words
    machine: Machine
    places: Sequence[str | None]  # one entry a worker, its GPU or None
    sharing: Counter[str] = field(default_factory=Counter)  # cells left, by training

    @property
    def slots(self) -> int:
        """Workers."""
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
        if not estimate.is_left:
            return 0.0, 0.0
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
        modelled = dict.fromkeys(e.message for e in left if e.source == "model")
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
            "based_on_cells": self.based_on,
            "basis": [*self.basis, *modelled],
            "by_kind": [
                {
                    "kind": kind,
                    "cells": len(estimates),
                    "cell_s": _each(total_s(estimates), len(estimates)),
                    **self._totals(estimates),
                    "from": estimates[0].source,
                    "message": ", ".join(dict.fromkeys(e.message for e in estimates)),
                }
                for kind, estimates in kinds.items()
            ],
        }

    def _totals(self, left: Sequence[Estimate]) -> dict[str, Any]:
        work = total_s(left)
        modelled = any(e.source == "model" for e in left)
        return {
            "wall_s": None if work is None else _rounded(wall_s(left, self.slots)),
            "core_s": _rounded(work),
            "span": SPAN if modelled else 1.0,
            "gpu_hours": None if work is None or not self.gpus else round(work / 3600, 4),
            "peak_memory_gb": largest([e.peak_memory_gb for e in left]),
            "device_peak_gb": largest([e.device_peak_gb for e in left]),
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

    Finished are cells of the selection and a sample of the whole results folder, exported tables
    among them; those of this machine count before those of others.

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
    table = Estimator(store, machine, _timings(left, done, store))
    estimates = [
        table.estimate(cell)
        if state.state not in leave
        else Estimate(cell, "", None, 0.0, 0.0, None, None, str(state.state), str(state.state))
        for cell, state in pairs
    ]
    sharing = Counter(e.training for e in estimates if e.training is not None)
    return Prediction(estimates, table.based_on, table.basis, machine, slots, sharing)


def _timings(left: Sequence[Cell], done: Sequence[Cell], store: Store) -> list[Timing]:
    """Return what is known of the experiments of the cells left, and of those told by them."""
    asked = {cell.experiment for cell in left}
    if asked & set(TOGETHER):
        asked |= set(TOGETHER)
    timings: list[Timing] = []
    for experiment in sorted(asked):
        finished = [cell for cell in done if cell.experiment == experiment]
        timings += selected_timings(finished, store)
        timings += sampled_timings(experiment, store, {cell.id for cell in finished})
    return timings + [t for t in probed_timings(store.root) if t.cell.experiment in asked]


def _each(seconds: float | None, cells: int) -> float | None:
    return None if seconds is None else round(seconds / cells, 3)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
