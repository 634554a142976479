"""Seconds and memory of finished cells and of probes, read from the results folder."""

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
from bench.results.exported import Exported
from bench.results.folder import CellFolder
from bench.results.provenance import flatten, processor
from bench.results.store import Store

T = TypeVar("T")
MOST_SELECTED = 200  # finished cells of a selection that are read, per experiment
MOST_SAMPLED = 100  # finished cells of the rest of the results folder, per experiment


class Machine(NamedTuple):
    """Hardware that computes cells."""

    device: str  # cpu or cuda
    name: str  # the processor's or the GPU's


def machine_of(slots: Sequence[str | None]) -> Machine:
    """Return the machine of workers, each a CUDA device or None for the CPU."""
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
    """Seconds and memory of one cell; a cell of a stack has its share of the stack's seconds."""

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


@dataclass(frozen=True)
class Probed:
    """Predicted seconds of one cell from a few of its steps and its evaluations."""

    kind: str
    device: str  # cpu or cuda
    machine: str  # the processor's or the GPU's name
    shared_s: float  # of the training that cells share; 0 without one
    own_s: float  # of the rest
    peak_memory_gb: float | None
    device_peak_gb: float | None
    cell: dict[str, Any]  # settings
    took_s: float


def write_probe(root: Path, probed: Probed) -> None:
    """Keep a probe in the results folder; it replaces an earlier one of its kind and machine."""
    named = f"{probed.kind}\n{probed.device}\n{probed.machine}"
    name = hashlib.sha256(named.encode()).hexdigest()[:16]
    write_whole(root / "probes" / f"{name}.json", to_json(asdict(probed)))


def probed_timings(root: Path) -> Iterator[Timing]:
    """Yield the probes of a results folder, of any machine; skip those of another version."""
    for path in sorted((root / "probes").glob("*.json")):
        try:
            probed = Probed(**(read_json(path) or {}))
            cell = CELLS[probed.cell["experiment"]].model_validate(probed.cell)
        except (TypeError, KeyError, ValueError, AttributeError):
            continue
        yield Timing(
            cell, probed.shared_s or None, probed.own_s, probed.peak_memory_gb,
            probed.device_peak_gb, probed.device, probed.machine, is_probe=True,
        )  # fmt: skip


def timing_of(cell: Cell, origin: dict[str, Any], *, resumed: bool = False) -> Timing:
    """Return the seconds of a cell by its provenance: processor time where that is known.

    Seconds of a stack are already divided by it. The training of an encoder, recorded in
    `trained`, is subtracted where it happened within the cell's own time.

    Args:
        cell: the cell.
        origin: its provenance, nested or flat.
        resumed: its shared training was stopped and went on, so its time is not known.
    """
    origin = flatten(origin)
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


def selected_timings(cells: Sequence[Cell], store: Store) -> list[Timing]:
    """Return the timings of finished cells: of all of them, or of MOST_SELECTED of them."""
    return _timings(_spread(cells, MOST_SELECTED), store, _Tables(store))


def sampled_timings(
    experiment: str, store: Store, but: Iterable[str], *, most: int | None = MOST_SAMPLED
) -> list[Timing]:
    """Return the timings of finished cells of an experiment.

    Args:
        experiment: its name.
        store: the results.
        but: ids that are left out.
        most: how many are read; None: all.
    """
    tables = _Tables(store)
    try:
        names = set(os.listdir(store.root / experiment))
    except (FileNotFoundError, NotADirectoryError):
        names = set()
    names = (names | tables.names(experiment)).difference(but)
    cells = _cells(experiment, _spread(sorted(names), most or len(names)), store, tables)
    return _timings(cells, store, tables)


class _Tables:
    """The exported tables in a results folder, and those given by --have."""

    def __init__(self, store: Store) -> None:
        self.roots = store.have
        self._of: dict[str, list[Exported]] = {}

    def of(self, experiment: str) -> list[Exported]:
        if experiment not in self._of:
            self._of[experiment] = [Exported(root, experiment) for root in self.roots]
        return self._of[experiment]

    def names(self, experiment: str) -> set[str]:
        with suppress(StoreError):
            return {name for tables in self.of(experiment) for name in tables.tables}
        return set()

    def fields(self, experiment: str, name: str) -> dict[str, Any]:
        """Return the settings of a cell; empty if no table holds it."""
        return next((t.fields(name) for t in self.of(experiment) if name in t.tables), {})

    def provenance(self, cell: Cell) -> dict[str, Any]:
        """Return the flat provenance of a cell; empty if no table holds it."""
        held = (t for t in self.of(cell.experiment) if cell.id in t.tables)
        return next((tables.provenance(cell.id) for tables in held), {})


def _cells(experiment: str, names: Sequence[str], store: Store, tables: _Tables) -> Iterator[Cell]:
    """Yield finished cells; skip those of another version.

    They are not validated again, which takes milliseconds each: their id was made from these
    settings.
    """
    record_type = CELLS[experiment]
    required = {name for name, field in record_type.model_fields.items() if field.is_required()}
    known = {*record_type.model_fields, *record_type.setting_names()}
    version = record_type.model_fields["version"].default
    for name in names:
        folder = CellFolder(store.root / experiment / name)
        try:
            record = folder.fields() if folder.is_done else tables.fields(experiment, name)
        except StoreError:
            continue
        if not isinstance(record, dict) or record.get("version") != version:
            continue
        if required <= set(record) <= known:
            yield record_type.model_construct(**record)


def _timings(cells: Iterable[Cell], store: Store, tables: _Tables) -> list[Timing]:
    found = []
    for cell in cells:
        with suppress(StoreError, TypeError, KeyError, ValueError, AttributeError):
            folder = store.folder(cell)
            origin = folder.provenance() if folder.is_done else tables.provenance(cell)
            resumed = "trained" in origin and _was_resumed(cell, store)
            # A table does not say how often a training was stopped; the cell was, if that was.
            resumed |= "trained.began" in origin and origin.get("attempt", 1) != 1
            if origin:
                found.append(timing_of(cell, origin, resumed=resumed))
    return found


def _was_resumed(cell: Cell, store: Store) -> bool:
    return os.path.exists(f"{store.root}/trained/{cell.training_id}/attempts/0002.json")


def _spread(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most so many items, at equal distances."""
    return items[:: -(-len(items) // max(1, most)) or 1]
