"""Measured speeds of kinds of cells on a machine, kept beside the results and no part of them."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.files.atomic import read_json, to_json, write_whole


@dataclass(frozen=True)
class Speed:
    """What a short probe found of one kind of cell."""

    kind: str
    device: str  # cpu or cuda
    machine: str  # the processor's or the GPU's name
    shared_s: float  # seconds a multiply-add, of a training that cells share
    own_s: float  # seconds a multiply-add, of the rest
    peak_memory_gb: float | None
    device_peak_gb: float | None
    cell: str  # id of the cell that was cut short
    took_s: float


def probe_file(root: Path, kind: str, device: str, machine: str) -> Path:
    """Return where a results folder keeps the speed of a kind."""
    name = hashlib.sha256(f"{kind}\n{device}\n{machine}".encode()).hexdigest()[:16]
    return root / "probes" / f"{name}.json"


def write_speed(root: Path, speed: Speed) -> None:
    """Keep what was found, in the place of what was found before."""
    path = probe_file(root, speed.kind, speed.device, speed.machine)
    write_whole(path, to_json(asdict(speed)))


def read_speed(root: Path, kind: str, device: str, machine: str) -> Speed | None:
    """Return what was found of a kind on a machine; None if nothing was, or in another form."""
    return _speed(probe_file(root, kind, device, machine))


def read_speed_elsewhere(root: Path, kind: str, device: str) -> Speed | None:
    """Return what was found of a kind on any machine with such a device; None if nothing was."""
    found = (_speed(path) for path in sorted((root / "probes").glob("*.json")))
    return next((s for s in found if s and (s.kind, s.device) == (kind, device)), None)


def _speed(path: Path) -> Speed | None:
    record = read_json(path)
    try:
        return None if record is None else Speed(**record)
    except TypeError:
        return None
