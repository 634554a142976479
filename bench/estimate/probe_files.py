"""What probes measured of cells on a machine, kept beside the results and no part of them."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.estimate.history import Timing
from bench.files.atomic import read_json, to_json, write_whole


@dataclass(frozen=True)
class Probed:
    """What a short probe found of one cell: what its steps and evaluations will take."""

    kind: str
    device: str  # cpu or cuda
    machine: str  # the processor's or the GPU's name
    shared_s: float  # of the training that cells share; 0 without one
    own_s: float  # of the rest
    peak_memory_gb: float | None
    device_peak_gb: float | None
    cell: dict[str, Any]  # the settings of the cell that was cut short
    took_s: float


def write_probe(root: Path, probed: Probed) -> None:
    """Keep what was found, in the place of what was found before of the kind on the machine."""
    named = f"{probed.kind}\n{probed.device}\n{probed.machine}"
    name = hashlib.sha256(named.encode()).hexdigest()[:16]
    write_whole(root / "probes" / f"{name}.json", to_json(asdict(probed)))


def probed_timings(root: Path) -> Iterator[Timing]:
    """Yield what probes found, of any machine; what is of another form is passed over."""
    for path in sorted((root / "probes").glob("*.json")):
        try:
            probed = Probed(**(read_json(path) or {}))
            cell = _cell(probed.cell)
        except (TypeError, KeyError, ValueError, AttributeError):
            continue
        yield Timing(
            cell,
            probed.shared_s or None,
            probed.own_s,
            probed.peak_memory_gb,
            probed.device_peak_gb,
            probed.device,
            probed.machine,
            is_probe=True,
        )


def _cell(record: dict[str, Any]) -> Cell:
    return CELLS[record["experiment"]].model_validate(record)
