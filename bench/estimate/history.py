"""What finished cells took, read from a sample of the results folder."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.results.exported import Exported
from bench.results.folder import CellFolder
from bench.results.provenance import flatten
from bench.results.store import Store

T = TypeVar("T")
MOST_SELECTED = 200  # finished cells of a selection whose times are read, per experiment
MOST_SAMPLED = 100  # of the rest of the results folder, per experiment


@dataclass(frozen=True)
class Timing:
    """What one cell took; shares of a stack's time are the cell's own."""

    cell: Cell
    shared_s: float | None  # its training, where it shares one; None: not known, or there is none
    own_s: float | None  # the rest; None: not known
    peak_memory_gb: float | None
    device_peak_gb: float | None
    device: str  # cpu or cuda
    machine: str  # the processor's or the GPU's name
    device_total_gb: float | None = None  # of the GPU
    device_busy: float | None = None  # share of the time, by one worker
    is_first: bool = False  # that its worker computed: libraries loaded meanwhile
    is_probe: bool = False  # a few steps were timed; it has not finished


def timing_of(cell: Cell, origin: dict[str, Any], *, resumed: bool = False) -> Timing:
    """Return what a cell took, from its provenance: processor time where that is known.

    Seconds of a stack are already divided by it. The training of an encoder, which stands in
    `trained`, is taken off where it lies within the cell's own time; else it was there before.

    Args:
        cell: the cell.
        origin: its provenance, nested or flat.
        resumed: its shared training was stopped and went on, so that its time is not known.
    """
    origin = flatten(origin)
    device, stack = str(origin.get("device", "cpu")), int(origin.get("stack", 1))
    seconds = "cpu_s" if _is_known("cpu_s", origin) else "wall_s"
    total = float(origin.get(seconds, 0.0)) * stack
    is_trained = "trained.wall_s" in origin
    shared_s, inside_s = None, 0.0
    if is_trained:
        training_s = float(origin[f"trained.{seconds}"])
        shared_s = None if resumed or origin.get("trained.ranks", 1) > 1 else training_s
        inside_s = training_s * _share_inside(origin, stack)
    # A later attempt went on from before, and ranks share what one worker takes.
    whole = (is_trained or origin.get("attempt", 1) == 1) and origin.get("ranks", 1) == 1
    own_s = (total - inside_s) / stack
    processor = str(origin.get("machine.processor", ""))
    return Timing(
        cell,
        shared_s,
        own_s if whole and own_s > 0 else None,
        origin.get("peak_memory_gb"),
        origin.get("device_peak_gb"),
        device,
        str(origin.get("device_name") or processor) if device != "cpu" else processor,
        origin.get("device_total_gb"),
        _alone(origin),
        origin.get("earlier") == 0,
    )


def _is_known(seconds: str, origin: dict[str, Any]) -> bool:
    """Return whether these seconds are recorded of the cell and of its training."""
    return seconds in origin and ("trained.wall_s" not in origin or f"trained.{seconds}" in origin)


def _share_inside(origin: dict[str, Any], stack: int) -> float:
    """Return which share of the training lies within the time of the stack."""
    wall_s, began = float(origin["trained.wall_s"]), origin["trained.began"]
    end = origin["began"] + float(origin.get("wall_s", 0.0)) * stack
    inside_s = min(began + wall_s, end) - max(began, origin["began"])
    return max(0.0, inside_s) / wall_s if wall_s else 0.0


def _alone(origin: dict[str, Any]) -> float | None:
    """Return the share of the time that a GPU is busy by one worker, if it was measured."""
    busy = origin.get("device_busy")
    return None if busy is None else float(busy) / int(origin.get("packed", 1))


def selected_timings(cells: Sequence[Cell], store: Store) -> list[Timing]:
    """Return what finished cells took: of all of them, or of MOST_SELECTED at equal distances."""
    tables = _Tables(store)
    return _timings(_spread(cells, MOST_SELECTED), store, tables)


def sampled_timings(
    experiment: str, store: Store, but: Iterable[str], *, most: int | None = MOST_SAMPLED
) -> list[Timing]:
    """Return what finished cells of an experiment took.

    Args:
        experiment: its name.
        store: the results.
        but: ids that are left out.
        most: how many are read, at equal distances; None: all.
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
    """The exported tables that stand in a results folder or are given beside it."""

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


def _timings(cells: Iterable[Cell], store: Store, tables: _Tables) -> list[Timing]:
    return [timing for cell in cells if (timing := _read(cell, store, tables)) is not None]


def _cells(experiment: str, names: Sequence[str], store: Store, tables: _Tables) -> Iterator[Cell]:
    """Yield the cells of finished folders; what is no cell of this version is passed over.

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


def _read(cell: Cell, store: Store, tables: _Tables) -> Timing | None:
    """Return what a cell took; None if its provenance does not say."""
    try:
        folder = store.folder(cell)
        origin = folder.provenance() if folder.is_done else tables.provenance(cell)
        resumed = "trained" in origin and _was_resumed(cell, store)
        # A table does not say how often a training was stopped; the cell was, if that was.
        resumed |= "trained.began" in origin and origin.get("attempt", 1) != 1
        return timing_of(cell, origin, resumed=resumed) if origin else None
    except (StoreError, TypeError, KeyError, ValueError, AttributeError):
        return None


def _was_resumed(cell: Cell, store: Store) -> bool:
    return os.path.exists(f"{store.root}/trained/{cell.training_id}/attempts/0002.json")


def _spread(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most so many items, at equal distances."""
    return items[:: -(-len(items) // max(1, most)) or 1]
