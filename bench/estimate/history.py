"""What finished cells took, read from a sample of the results folder."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.results.folder import CellFolder
from bench.results.store import Store

T = TypeVar("T")
MOST_SELECTED = 200  # finished cells of a selection whose times are read, per experiment
MOST_SAMPLED = 100  # of the rest of the results folder, per experiment


@dataclass(frozen=True)
class Timing:
    """What one finished cell took; shares of a stack's time are the cell's own."""

    cell: Cell
    shared_s: float | None  # its training, where it shares one; None: not known, or there is none
    own_s: float | None  # the rest; None: not known
    peak_memory_gb: float | None
    device_peak_gb: float | None
    device: str  # cpu or cuda
    machine: str  # the processor's or the GPU's name
    device_total_gb: float | None = None  # of the GPU
    device_busy: float | None = None  # share of the time, by one worker


def timing_of(cell: Cell, origin: dict[str, Any], *, resumed: bool = False) -> Timing:
    """Return what a cell took, from its provenance.

    `wall_s` of a stack is already divided by it. The training of an encoder, which stands in
    `trained`, is taken off where it lies within the cell's own time; else it was there before.

    Args:
        cell: the cell.
        origin: its provenance.
        resumed: its shared training was stopped and went on, so that its time is not known.
    """
    device, stack = str(origin.get("device", "cpu")), int(origin.get("stack", 1))
    total = float(origin.get("wall_s", 0.0)) * stack
    trained = origin.get("trained") or {}
    shared_s, inside = None, 0.0
    if "wall_s" in trained:
        began, ended = trained["began"], trained["began"] + trained["wall_s"]
        inside = min(ended, origin["began"] + total) - max(began, origin["began"])
        shared_s = None if resumed else float(trained["wall_s"])
    whole = bool(trained) or origin.get("attempt", 1) == 1  # a later attempt went on from before
    processor = str(origin.get("machine", {}).get("processor", ""))
    return Timing(
        cell,
        shared_s,
        (total - max(0.0, inside)) / stack if whole and total > 0 else None,
        origin.get("peak_memory_gb"),
        origin.get("device_peak_gb"),
        device,
        str(origin.get("device_name") or processor) if device != "cpu" else processor,
        origin.get("device_total_gb"),
        _alone(origin),
    )


def _alone(origin: dict[str, Any]) -> float | None:
    """Return the share of the time that a GPU is busy by one worker, if it was measured."""
    busy = origin.get("device_busy")
    return None if busy is None else float(busy) / int(origin.get("packed", 1))


def selected_timings(cells: Sequence[Cell], store: Store) -> list[Timing]:
    """Return what finished cells took: of all of them, or of MOST_SELECTED at equal distances."""
    return _timings(_spread(cells, MOST_SELECTED), store)


def sampled_timings(experiment: str, store: Store, but: Iterable[str]) -> list[Timing]:
    """Return what finished cells of an experiment took, those with the ids `but` left out."""
    try:
        names = set(os.listdir(store.root / experiment)).difference(but)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return _timings(_cells(experiment, _spread(sorted(names), MOST_SAMPLED), store), store)


def _timings(cells: Iterable[Cell], store: Store) -> list[Timing]:
    return [timing for cell in cells if (timing := _read(cell, store)) is not None]


def _cells(experiment: str, names: Sequence[str], store: Store) -> Iterator[Cell]:
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
            record = folder.fields() if folder.is_done else None
        except StoreError:
            continue
        if not isinstance(record, dict) or record.get("version") != version:
            continue
        if required <= set(record) <= known:
            yield record_type.model_construct(**record)


def _read(cell: Cell, store: Store) -> Timing | None:
    """Return what a cell took; None if its provenance does not say."""
    try:
        origin = store.folder(cell).provenance()
        training = cell.training_id if "trained" in origin else None
        second_attempt = f"{store.root}/trained/{training}/attempts/0002.json"
        resumed = training is not None and os.path.exists(second_attempt)
        return timing_of(cell, origin, resumed=resumed) if origin else None
    except (StoreError, TypeError, KeyError, ValueError, AttributeError):
        return None


def _spread(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most so many items, at equal distances."""
    return items[:: -(-len(items) // most) or 1]
