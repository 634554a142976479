"""How much memory a cell takes: by its network, and by its batch in a straight line."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bench.cells.cell import Cell

Peaks = dict[int, float]
"""The largest peak by batch size, in GB; 0: of cells without batches."""


class MemoryTable:
    """Peaks of finished cells; of a network that has not run, nothing is known."""

    def __init__(self) -> None:
        """Begin with none."""
        self._peaks: dict[str, Peaks] = defaultdict(dict)

    def add(self, cell: Cell, peak_gb: float | None) -> None:
        """Take note of a cell's peak, in GB."""
        if peak_gb is not None:
            peaks, batch = self._peaks[_network(cell)], _batch(cell)
            peaks[batch] = max(peaks.get(batch, 0.0), peak_gb)

    def peak_gb(self, cell: Cell) -> float | None:
        """Return what the cell takes, in GB; None if neither its batch nor two others have run."""
        peaks, batch = self._peaks.get(_network(cell), {}), _batch(cell)
        if batch in peaks:
            return peaks[batch]
        return _on_line(peaks, batch) if len(peaks) > 1 else None


def _network(cell: Cell) -> str:
    return cell.cost_family if "batch_size" in cell.settings else cell.cost_kind


def _batch(cell: Cell) -> int:
    return int(cell.settings.get("batch_size") or 0)


def _on_line(peaks: Peaks, batch: int) -> float:
    """Return the peak at a batch size on the line through those of others, which never falls."""
    sizes, gigabytes = np.array(list(peaks), dtype=float), np.array(list(peaks.values()))
    slope = max(0.0, float(np.polyfit(sizes, gigabytes, 1)[0]))
    return round(float(gigabytes.mean() + slope * (batch - sizes.mean())), 3)


def largest(peaks: Sequence[float | None]) -> float | None:
    """Return the largest; None if one of them is not known, or there is none."""
    known = [peak for peak in peaks if peak is not None]
    return max(known) if known and len(known) == len(peaks) else None
