"""Time and memory of finished cells and probes, read from the results folder."""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.files.atomic import read_json, to_json, write_whole
from bench.results.provenance import processor
from bench.results.reader import Results
from bench.results.store import Store

T = TypeVar("T")
MOST_SELECTED = 200  # finished cells of a selection that are read, per experiment
MOST_SAMPLED = 100  # finished cells of the rest of the results folder, per experiment


class Machine(NamedTuple):
    """Hardware that computes cells."""

    device: str  # cpu or cuda
    name: str  # the processor's or the GPU's


def machine_of(slots: Sequence[str | None]) -> Machine:
    """Return the machine of these workers, each a CUDA device or None for the CPU."""
    gpu = slots[0]
    if gpu is None:
        return Machine("cpu", processor())
    command = ["nvidia-smi", "-i", gpu, "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return Machine("cuda", processor())
    return Machine("cuda", answer.stdout.strip())


@dataclass(frozen=True)
class Timing:
    """Time in seconds and memory of one cell; a stack's time is divided among its cells."""

    cell: Cell
    shared_s: float | None  # of the training that cells share; None: not known, or there is none
    own_s: float | None  # of the rest; None: not known
    peak_memory_gb: float | None
    device_peak_gb: float | None
    device: str  # cpu or cuda
    machine: str  # the processor's or the GPU's name
    device_total_gb: float | None = None  # of the GPU
    device_busy: float | None = None  # share of the time, by one worker
    is_probe: bool = False  # a few steps were timed; the cell has not finished


def write_probe(root: Path, probed: Timing) -> None:
    """Store a probe in the results folder, replacing one of the same kind and machine."""
    named = f"{probed.cell.kind}\n{probed.device}\n{probed.machine}"
    name = hashlib.sha256(named.encode()).hexdigest()[:16]
    record = asdict(probed) | {"cell": probed.cell.model_dump(mode="json")}
    write_whole(root / "probes" / f"{name}.json", to_json(record))


def probed_timings(root: Path) -> Iterator[Timing]:
    """Yield the probes of a results folder from all machines, of the current version only."""
    for path in sorted((root / "probes").glob("*.json")):
        with suppress(TypeError, KeyError, ValueError, AttributeError):
            record = read_json(path) or {}
            cell = CELLS[record["cell"]["experiment"]].model_validate(record["cell"])
            yield Timing(**record | {"cell": cell})


def timing_of(cell: Cell, origin: dict[str, Any], *, resumed: bool = False) -> Timing:
    """Return the time of a cell from its provenance, as processor time if it is known.

    The provenance already divides a stack's time among its cells. The encoder's training time,
    recorded in `trained`, is subtracted if the cell's own time includes it.

    Args:
        cell: the cell.
        origin: flat provenance of the cell.
        resumed: whether the shared training was resumed; its time is then unknown.
    """
    device, stack = str(origin.get("device", "cpu")), int(origin.get("stack", 1))
    is_trained = "trained.wall_s" in origin
    by_cpu = "cpu_s" in origin and (not is_trained or "trained.cpu_s" in origin)
    seconds = "cpu_s" if by_cpu else "wall_s"
    total = float(origin.get(seconds, 0.0)) * stack
    shared_s, inside_s = None, 0.0
    if is_trained:
        training_s = float(origin[f"trained.{seconds}"])
        shared_s = None if resumed or origin.get("trained.ranks", 1) > 1 else training_s
        inside_s = training_s * _share_inside(origin, stack)
    # A later attempt went on from before, and ranks share what one worker takes.
    whole = (is_trained or origin.get("attempt", 1) == 1) and origin.get("ranks", 1) == 1
    own_s = (total - inside_s) / stack
    cpu, busy = str(origin.get("machine.processor", "")), origin.get("device_busy")
    return Timing(
        cell, shared_s, own_s if whole and own_s > 0 else None,
        origin.get("peak_memory_gb"), origin.get("device_peak_gb"),
        device, str(origin.get("device_name") or cpu) if device != "cpu" else cpu,
        origin.get("device_total_gb"),
        None if busy is None else float(busy) / int(origin.get("packed", 1)),
    )  # fmt: skip


def _share_inside(origin: dict[str, Any], stack: int) -> float:
    """Return the share of the training that happened within the time of the stack."""
    wall_s, began = float(origin["trained.wall_s"]), origin["trained.began"]
    end = origin["began"] + float(origin.get("wall_s", 0.0)) * stack
    inside_s = min(began + wall_s, end) - max(began, origin["began"])
    return max(0.0, inside_s) / wall_s if wall_s else 0.0


def finished_timings(
    experiment: str, store: Store, first: Iterable[str] = (), *, most: int | None = MOST_SAMPLED
) -> list[Timing]:
    """Return the timings of finished cells of an experiment, including exported ones.

    Args:
        first: ids of finished cells to read first, at most MOST_SELECTED.
        most: maximum number of other cells to read; None means all.
    """
    chosen = sorted(first)
    others = sorted(store.names(experiment).difference(chosen))
    names = [*_spread(chosen, MOST_SELECTED), *_spread(others, most or len(others))]
    folders = [Results(root) for root in store.have if root.is_dir()]
    pairs = ((_timing(experiment, name, folder) for folder in folders) for name in names)
    found = (next(filter(None, timings), None) for timings in pairs)
    return [timing for timing in found if timing is not None]


def _timing(experiment: str, name: str, results: Results) -> Timing | None:
    """Return what a cell took; None if it is not finished here, or of another version.

    Its settings are not validated again, which takes milliseconds: its id was made from them.
    """
    with suppress(StoreError, TypeError, KeyError, ValueError, AttributeError):
        cell_type, kept = CELLS[experiment], results.kept(experiment, name)
        record, known = results.fields(experiment, name), cell_type.model_fields
        required = {name for name, field in known.items() if field.is_required()}
        same_version = record.get("version") == known["version"].default
        fits = required <= record.keys() and (
            record.get("loss_file") is not None or record.keys() <= known.keys()
        )
        if kept is None or not same_version or not fits:
            return None
        cell, origin = cell_type.model_construct(**record), kept.provenance
        # A table does not say how often a training was stopped; the cell was, if that was.
        resumed = origin.get("attempt", 1) != 1
        if not kept.of_table:
            attempts = results.root / "trained" / str(cell.training_id) / "attempts"
            resumed = os.path.exists(attempts / "0002.json")
        return timing_of(cell, origin, resumed=resumed)
    return None


def _spread(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most so many items, at equal distances."""
    return items[:: -(-len(items) // max(1, most)) or 1]
