"""Predictions from finished cells and probes, else from the model of a GPU."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from bench.cells.cell import Cell
from bench.cells.costs import Costs, Terms
from bench.estimate.devices import Device, device_named
from bench.estimate.estimate import Estimate
from bench.estimate.fit import CostModel, Measured
from bench.estimate.history import Timing
from bench.estimate.machine import Machine
from bench.estimate.memory import MemoryTable
from bench.results.provenance import processor
from bench.results.store import Store
from bench.text import counted

LIKE = 4.0  # networks of one architecture whose multiply-adds differ by no larger factor


class Part(NamedTuple):
    """What takes the time of a part of a cell, and what that is like, from far to near."""

    terms: Terms
    keys: tuple[str, str, str]

    @property
    def kind(self) -> str:
        """Cells of one kind differ in settings that hardly move their time."""
        return self.keys[1]


def parts_of(cell: Cell, costs: Costs) -> dict[str, Part]:
    """Return the parts of a cell: `shared`, the training that cells share, if any, and `own`."""
    family, alike = cell.cost_family, cell.but_seed
    asked = ", ".join(sorted(costs.own))
    own = f"own {family if costs.shared else cell.cost_kind} {asked}"
    parts = {"own": Part(costs.own, (f"own {family}", own, f"own {alike}"))}
    if costs.shared:
        shared = f"shared {cell.cost_kind}"
        parts["shared"] = Part(costs.shared, (f"shared {family}", shared, f"shared {alike}"))
    return parts


class Known:
    """Timings of one group of cells, on this machine or on others, and the model fitted to them."""

    def __init__(self, timings: Sequence[Timing], where: str) -> None:
        """Fit.

        Args:
            timings: at least one.
            where: the machine in words.
        """
        self.where = where
        self.finished = sum(not timing.is_probe for timing in timings)
        self.cells: dict[str, int] = defaultdict(int)  # finished, by kind and by network
        self.probed: set[str] = set()  # kinds of which nothing has finished
        self.sizes: dict[str, set[float]] = defaultdict(set)  # of each network
        measured = []
        for timing in sorted(timings, key=lambda t: t.is_probe):  # those that finished first
            costs = timing.cell.costs
            self.sizes[costs.network].add(costs.size)
            self.cells[costs.network] += not timing.is_probe
            for part, seconds in _measured_parts(timing, costs):
                if timing.is_probe and self.cells.get(part.kind):
                    continue
                self.cells[part.kind] += not timing.is_probe
                if timing.is_probe:
                    self.probed.add(part.kind)
                measured.append(Measured(part.terms, seconds, part.keys))
        self.model = CostModel(measured) if measured else None

    def lacks(self, costs: Costs, parts: Sequence[Part]) -> list[str]:
        """Return what of a cell has never run; its time is known if that is nothing."""
        sizes = self.sizes.get(costs.network, ())
        near = any(map(self.is_near, parts))
        near = near or any(1 / LIKE <= size / costs.size <= LIKE for size in sizes)
        lacking = [] if near else [_named(costs) + " of this size" * bool(sizes)]
        if self.model is None:
            return lacking or ["its kind"]
        unknown = [name for part in parts for name in self.model.unknown(part.terms)]
        return lacking or list(dict.fromkeys(unknown))

    def source(self, costs: Costs, part: Part) -> tuple[str, str]:
        """Return what the seconds of a part come from, in a word and in words."""
        if count := self.cells.get(part.kind):
            return "finished", f"{counted(count, 'finished cell')} of {self.where}"
        if part.kind in self.probed:
            return "probe", f"probe of {self.where}"
        if count := self.cells.get(costs.network):
            return "finished", f"{counted(count, 'finished cell')} of other sizes of {self.where}"
        return "probe", f"probes of other sizes of {self.where}"

    def is_near(self, part: Part) -> bool:
        """Return whether cells of this kind have run or were probed."""
        return bool(self.cells.get(part.kind)) or part.kind in self.probed


def _measured_parts(timing: Timing, costs: Costs) -> Iterator[tuple[Part, float]]:
    for name, part in parts_of(timing.cell, costs).items():
        seconds = timing.shared_s if name == "shared" else timing.own_s
        if seconds:
            first = {"start of a worker": 1.0} if timing.is_first else {}
            yield part._replace(terms=part.terms | first), seconds


class Estimator:
    """What finished cells, probes and the table of GPUs say of other cells."""

    def __init__(self, store: Store, machine: Machine, timings: Sequence[Timing]) -> None:
        """Fit to what is known of the machine's kind of device.

        Args:
            store: the results, whose finished trainings cost nothing.
            machine: what will compute.
            timings: finished cells and probes, of any machine.
        """
        self.store, self.machine = store, machine
        self.device = device_named(machine.name) if machine.device == "cuda" else None
        self.timings = [t for t in timings if self._counts(t)]
        self.host, self.on_device = MemoryTable(), MemoryTable()
        groups: dict[tuple[str, bool], list[Timing]] = defaultdict(list)
        for timing in self.timings:
            here = timing.machine in (machine.name, processor())  # an old provenance names no GPU
            groups[timing.cell.costs.group, here].append(timing)
            self.host.add(timing.cell, timing.peak_memory_gb)
            self.on_device.add(timing.cell, timing.device_peak_gb)
        self._known = {
            key: Known(group, _where(group, here=key[1])) for key, group in groups.items()
        }
        self._trained: dict[str, bool] = {}
        self._used: dict[tuple[str, bool], bool] = {}  # by group: whether a probe was used

    @property
    def based_on(self) -> int:
        """Finished cells that the estimates so far stand on."""
        return sum(self._known[key].finished for key in self._used)

    @property
    def basis(self) -> list[str]:
        """What these stand on, in words."""
        cells: dict[str, int] = defaultdict(int)
        for key in self._used:
            cells[self._known[key].where] += self._known[key].finished
        texts = [f"{counted(n, 'finished cell')} of {where}" for where, n in cells.items() if n]
        probes = {self._known[key].where for key, probed in self._used.items() if probed}
        return texts + [f"probes of {where}" for where in sorted(probes)]

    def _counts(self, timing: Timing) -> bool:
        """Whether it is of this kind of device; of GPUs in the table, of the same one."""
        if timing.device != self.machine.device:
            return False
        here = timing.machine in (self.machine.name, processor())
        return here or self.device is None or device_named(timing.machine) == self.device

    def estimate(self, cell: Cell) -> Estimate:
        """Return what is predicted of a cell."""
        costs, training = cell.costs, cell.training_id
        if training is not None and self._is_trained(training):
            training = None
        parts = parts_of(cell, costs)
        if training is None:
            parts.pop("shared", None)
        lacking = [_named(costs)]
        for here in (True, False):
            known = self._known.get((costs.group, here))
            if known is None:
                continue
            lacking = known.lacks(costs, list(parts.values()))
            if not lacking and known.model is not None:
                predicted = self._from_known(cell, costs, training, known, here=here)
                by_probe = predicted.source == "probe"
                self._used[costs.group, here] = by_probe or self._used.get(
                    (costs.group, here), False
                )
                return predicted
        if self.device is not None and costs.group == "images":
            return self._from_table(cell, costs, training, self.device)
        message = f"nothing comparable has run: {', '.join(lacking)}"
        return self._made(cell, training, None, None, "unknown", message, is_near=False)

    def _from_known(
        self, cell: Cell, costs: Costs, training: str | None, known: Known, *, here: bool
    ) -> Estimate:
        parts = parts_of(cell, costs)
        if training is None:
            parts.pop("shared", None)
        assert known.model is not None
        seconds = {name: known.model.seconds(*part) for name, part in parts.items()}
        source, message = known.source(costs, parts.get("shared", parts["own"]))
        near = here and all(map(known.is_near, parts.values()))
        shared_s = seconds.get("shared", 0.0)
        return self._made(cell, training, shared_s, seconds["own"], source, message, is_near=near)

    def _from_table(
        self, cell: Cell, costs: Costs, training: str | None, device: Device
    ) -> Estimate:
        shared_s = device.seconds(costs.shared) if training is not None else 0.0
        own_s, basis = device.seconds(costs.own), f"model of {device.in_words}"
        made = self._made(cell, training, shared_s, own_s, "model", basis, is_near=False)
        kept = max(costs.own_bytes, costs.shared_bytes if training is not None else 0.0)
        if made.device_peak_gb is not None or not kept:
            return made
        return replace(made, device_peak_gb=kept / 1e9)

    def _made(
        self, cell: Cell, training: str | None, shared_s: float | None, own_s: float | None,
        source: str, message: str, *, is_near: bool,
    ) -> Estimate:  # fmt: skip
        return Estimate(
            cell, cell.cost_kind, training, shared_s, own_s, self.host.peak_gb(cell),
            self.on_device.peak_gb(cell), source, message, is_near,
        )  # fmt: skip

    def _is_trained(self, training: str) -> bool:
        if training not in self._trained:
            done = f"{self.store.root}/trained/{training}/summary.json"
            self._trained[training] = os.path.exists(done)
        return self._trained[training]


def _named(costs: Costs) -> str:
    return f"network {costs.network}" if costs.group == "images" else costs.network


def _where(timings: Sequence[Timing], *, here: bool) -> str:
    if here:
        return "this machine"
    names = sorted({timing.machine or "unnamed" for timing in timings})
    return f"another machine ({', '.join(names)})"
