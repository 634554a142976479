"""What a multiply-add takes, by how near a finished cell is in settings and machine."""

import os
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench.cells.cell import Cell
from bench.estimate.history import Timing
from bench.estimate.probe_files import Speed, read_speed, read_speed_elsewhere
from bench.results.provenance import processor
from bench.results.store import Store

NEAREST = ((True, "alike"), (True, "kind"))
FARTHER = (
    (True, "family"), (False, "alike"), (False, "kind"), (False, "family"),
    (True, "experiment"), (False, "experiment"),
)  # fmt: skip
"""Where a time is looked for: on this machine or another, and how near; probes stand between."""
_NEARNESS = {
    "alike": "",
    "kind": "",
    "family": " of other sizes",
    "experiment": " of other networks",
}
"""How near finished cells are, in words."""


@dataclass(frozen=True)
class Estimate:
    """What is predicted of one cell; seconds of a worker, None where nothing is known."""

    cell: Cell
    kind: str
    training: str | None  # what cells that are left share; None: nothing, or it is done already
    shared_s: float | None  # of the training, once for all that share it
    own_s: float | None
    peak_memory_gb: float | None
    device_peak_gb: float | None
    source: str  # finished, probe, unknown; done or failed: it will not be computed
    message: str  # the source in words

    @property
    def is_left(self) -> bool:
        """Whether it will be computed."""
        return self.source not in ("done", "failed")

    @property
    def is_near(self) -> bool:
        """Whether it comes of this machine and of cells of its kind."""
        return self.message in ("probe", "finished cells") or not self.is_left


@dataclass
class Totals:
    """Finished cells of one key, added up."""

    seconds: float = 0.0
    work: float = 0.0
    peak_memory_gb: float = 0.0
    device_peak_gb: float = 0.0
    machine: str = ""

    def add(self, timing: Timing, seconds: float, work: float) -> None:
        """Add a part of a finished cell: its seconds and its multiply-adds."""
        self.seconds += seconds
        self.work += work
        self.peak_memory_gb = max(self.peak_memory_gb, timing.peak_memory_gb or 0.0)
        self.device_peak_gb = max(self.device_peak_gb, timing.device_peak_gb or 0.0)
        self.machine = timing.machine


class Rate(NamedTuple):
    """What is known of a part of a cell."""

    seconds: float  # a multiply-add takes
    source: str
    message: str
    peak_memory_gb: float | None
    device_peak_gb: float | None


class TimingTable:
    """What finished cells took a multiply-add, by how near they are, and probes."""

    def __init__(self, store: Store, slots: Sequence[str | None]) -> None:
        """Begin with none; only cells of the slots' kind of device will count."""
        self.store, self.count = store, 0
        self.device, self.machine = machine_of(slots)
        self.totals: dict[tuple[str, bool, str, str], Totals] = defaultdict(Totals)
        self._speeds: dict[str, Speed | None] = {}
        self._trained: dict[str, bool] = {}

    def add(self, timings: Sequence[Timing]) -> None:
        """Take note of finished cells."""
        for timing in timings:
            if timing.device == self.device:
                self.count += 1
                work = timing.cell.work
                self._add("shared", timing, timing.shared_s, work.shared)
                self._add("own", timing, timing.own_s, work.own)

    def _add(self, part: str, timing: Timing, seconds: float | None, work: float) -> None:
        if seconds is None or not work:
            return
        here = timing.machine in (self.machine, processor())  # an old provenance names no GPU
        for level, key in _keys(part, timing.cell).items():
            self.totals[part, here, level, key].add(timing, seconds, work)

    def has_near(self, cell: Cell) -> bool:
        """Return whether a cell of its kind has finished on this machine."""
        parts = ["own"] + (["shared"] if cell.work.shared else [])
        return all(
            (part, here, level, _keys(part, cell)[level]) in self.totals
            for part in parts
            for here, level in NEAREST[1:]
        )

    def estimate(self, cell: Cell) -> Estimate:
        """Return what is predicted of a cell."""
        work, kind, training = cell.work, cell.cost_kind, cell.training_id
        if training is not None and self._is_trained(training):
            training = None
        own = self._rate("own", cell)
        shared = self._rate("shared", cell) if training is not None else own
        if own is None or shared is None:
            message = "nothing like it has run"
            return Estimate(cell, kind, training, None, None, None, None, "unknown", message)
        return Estimate(
            cell,
            kind,
            training,
            shared.seconds * work.shared if training is not None else 0.0,
            own.seconds * work.own,
            shared.peak_memory_gb,
            shared.device_peak_gb,
            shared.source,
            shared.message,
        )

    def _rate(self, part: str, cell: Cell) -> Rate | None:
        """Return the nearest that is known of a part."""
        keys = _keys(part, cell)
        return (
            self._finished(part, keys, NEAREST)
            or self._probed(part, cell.cost_kind)
            or self._finished(part, keys, FARTHER)
        )

    def _finished(
        self, part: str, keys: dict[str, str], levels: Sequence[tuple[bool, str]]
    ) -> Rate | None:
        for here, level in levels:
            total = self.totals.get((part, here, level, keys[level]))
            if total is not None:
                machine = "" if here else f" from another machine ({total.machine or 'unnamed'})"
                return Rate(
                    total.seconds / total.work,
                    "finished",
                    f"finished cells{_NEARNESS[level]}{machine}",
                    total.peak_memory_gb or None,
                    total.device_peak_gb or None,
                )
        return None

    def _probed(self, part: str, kind: str) -> Rate | None:
        if kind not in self._speeds:
            root = self.store.root
            nearest = read_speed(root, kind, self.device, self.machine)
            self._speeds[kind] = nearest or read_speed_elsewhere(root, kind, self.device)
        speed = self._speeds[kind]
        if speed is None:
            return None
        rate_s = speed.shared_s if part == "shared" else speed.own_s
        machine = "" if speed.machine == self.machine else f" on another machine ({speed.machine})"
        message = f"probe{machine}"
        return Rate(rate_s, "probe", message, speed.peak_memory_gb, speed.device_peak_gb)

    def _is_trained(self, training: str) -> bool:
        if training not in self._trained:
            done = f"{self.store.root}/trained/{training}/summary.json"
            self._trained[training] = os.path.exists(done)
        return self._trained[training]


def _keys(part: str, cell: Cell) -> dict[str, str]:
    """Return what finished cells are looked up by, by how near they are."""
    evaluations = f" {cell.evaluation_kind}" if part == "own" else ""
    return {
        "alike": cell.model_dump_json(exclude={"seed"}),
        "kind": cell.cost_kind + evaluations,
        "family": cell.cost_family + evaluations,
        "experiment": cell.experiment,
    }


def machine_of(slots: Sequence[str | None]) -> tuple[str, str]:
    """Return the device of the slots, cpu or cuda, and the name of what computes there."""
    gpu = slots[0]
    if gpu is None:
        return "cpu", processor()
    command = ["nvidia-smi", "-i", gpu, "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return "cuda", processor()
    return "cuda", answer.stdout.strip()
