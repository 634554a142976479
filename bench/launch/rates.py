"""What a multiply-add takes, by how near a finished cell is in settings and machine."""

import os
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench.config.record import Cell
from bench.launch.finished import Took
from bench.launch.kinds import evaluations_of, keys_of, kind_of, training_of, work_of
from bench.store.probes import Speed, read_speed, read_speed_elsewhere
from bench.store.provenance import processor
from bench.store.store import Store

NEAREST = ((True, "alike"), (True, "kind"))
FARTHER = (
    (True, "family"), (False, "alike"), (False, "kind"), (False, "family"),
    (True, "experiment"), (False, "experiment"),
)  # fmt: skip
"""Where a time is looked for: on this machine or another, and how near; probes stand between."""
_TOLD = {
    "alike": "",
    "kind": "",
    "family": " of other sizes",
    "experiment": " of other networks",
}


@dataclass(frozen=True)
class Estimate:
    """What is predicted of one cell; seconds of a worker, None where nothing is known."""

    cell: Cell
    kind: str
    training: str | None  # what cells that are left share; None: nothing, or it is there already
    shared_s: float | None  # of the training, once for all that share it
    own_s: float | None
    peak_memory_gb: float | None
    device_peak_gb: float | None
    source: str  # finished, probe, unknown; done or failed: it will not be computed
    told: str  # the source in words

    @property
    def is_left(self) -> bool:
        """Whether it will be computed."""
        return self.source not in ("done", "failed")

    @property
    def is_near(self) -> bool:
        """Whether it comes of this machine and of cells of its kind."""
        return self.told in ("probe", "finished cells") or not self.is_left


@dataclass
class _Sum:
    """Finished cells of one key, added up."""

    seconds: float = 0.0
    work: float = 0.0
    peak_memory_gb: float = 0.0
    device_peak_gb: float = 0.0
    machine: str = ""


class _Found(NamedTuple):
    rate: float  # seconds a multiply-add
    source: str
    told: str
    peak_memory_gb: float | None
    device_peak_gb: float | None


class Known:
    """What finished cells took a multiply-add, by how near they are, and probes."""

    def __init__(self, store: Store, slots: Sequence[str | None]) -> None:
        """Begin with none; only cells of the slots' kind of device will count."""
        self.store, self.count = store, 0
        self.device, self.machine = machine_of(slots)
        self.sums: dict[tuple[str, bool, str, str], _Sum] = defaultdict(_Sum)
        self._speeds: dict[str, Speed | None] = {}
        self._trained: dict[str, bool] = {}

    def add(self, finished: Sequence[Took]) -> None:
        """Take note of finished cells."""
        for took in finished:
            if took.device == self.device:
                self.count += 1
                work = work_of(took.cell)
                self._add("shared", took, took.shared_s, work.shared)
                self._add("own", took, took.own_s, work.own)

    def _add(self, part: str, took: Took, seconds: float | None, work: float) -> None:
        if seconds is None or not work:
            return
        mine = took.machine in (self.machine, processor())  # an old provenance names no GPU
        for level, key in self._keys(part, took.cell).items():
            total = self.sums[part, mine, level, key]
            total.seconds += seconds
            total.work += work
            total.peak_memory_gb = max(total.peak_memory_gb, took.peak_memory_gb or 0.0)
            total.device_peak_gb = max(total.device_peak_gb, took.device_peak_gb or 0.0)
            total.machine = took.machine

    @staticmethod
    def _keys(part: str, cell: Cell) -> dict[str, str]:
        keys = keys_of(cell)._asdict()
        if part == "own":
            keys |= {k: f"{keys[k]} {evaluations_of(cell)}" for k in ("kind", "family")}
        return keys

    def has_near(self, cell: Cell) -> bool:
        """Return whether a cell of its kind has finished on this machine."""
        parts = ["own"] + (["shared"] if work_of(cell).shared else [])
        return all(
            (part, mine, level, self._keys(part, cell)[level]) in self.sums
            for part in parts
            for mine, level in NEAREST[1:]
        )

    def estimate(self, cell: Cell) -> Estimate:
        """Return what is predicted of a cell."""
        work, training = work_of(cell), training_of(cell)
        if training is not None and self._is_trained(training):
            training = None
        own = self._find("own", cell)
        shared = self._find("shared", cell) if training is not None else own
        if own is None or shared is None:
            told = "nothing like it has run"
            return Estimate(cell, kind_of(cell), training, None, None, None, None, "unknown", told)
        return Estimate(
            cell,
            kind_of(cell),
            training,
            shared.rate * work.shared if training is not None else 0.0,
            own.rate * work.own,
            shared.peak_memory_gb,
            shared.device_peak_gb,
            shared.source,
            shared.told,
        )

    def _find(self, part: str, cell: Cell) -> _Found | None:
        """Return the nearest that is known of a part."""
        keys = self._keys(part, cell)
        return (
            self._finished(part, keys, NEAREST)
            or self._probed(part, kind_of(cell))
            or self._finished(part, keys, FARTHER)
        )

    def _finished(
        self, part: str, keys: dict[str, str], where: Sequence[tuple[bool, str]]
    ) -> _Found | None:
        for mine, level in where:
            total = self.sums.get((part, mine, level, keys[level]))
            if total is not None:
                other = "" if mine else f" from another machine ({total.machine or 'unnamed'})"
                return _Found(
                    total.seconds / total.work,
                    "finished",
                    f"finished cells{_TOLD[level]}{other}",
                    total.peak_memory_gb or None,
                    total.device_peak_gb or None,
                )
        return None

    def _probed(self, part: str, kind: str) -> _Found | None:
        if kind not in self._speeds:
            root = self.store.root
            here = read_speed(root, kind, self.device, self.machine)
            self._speeds[kind] = here or read_speed_elsewhere(root, kind, self.device)
        speed = self._speeds[kind]
        if speed is None:
            return None
        rate = speed.shared_s if part == "shared" else speed.own_s
        other = "" if speed.machine == self.machine else f" on another machine ({speed.machine})"
        return _Found(rate, "probe", f"probe{other}", speed.peak_memory_gb, speed.device_peak_gb)

    def _is_trained(self, training: str) -> bool:
        if training not in self._trained:
            done = f"{self.store.root}/trained/{training}/summary.json"
            self._trained[training] = os.path.exists(done)
        return self._trained[training]


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
