"""How long cells will take, from finished cells of their kind."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.config.record import Cell
from bench.store.store import CellState, State, Store

SAMPLE = 40  # finished cells asked for their times, an experiment


@dataclass(frozen=True)
class Prediction:
    """Seconds of work and peak memory of some cells; None where nothing like them has run."""

    core_s: float | None
    peak_memory_gb: float | None
    based_on: int  # finished cells

    def record(self, slots: int) -> dict[str, float | int | None]:
        """Return it as JSON, with the wall time on so many slots."""
        wall = None if self.core_s is None else round(self.core_s / slots, 1)
        core = None if self.core_s is None else round(self.core_s, 1)
        return {
            "wall_s": wall,
            "core_s": core,
            "slots": slots,
            "peak_memory_gb": self.peak_memory_gb,
            "based_on_cells": self.based_on,
        }


def predict(cells: Sequence[Cell], states: Sequence[CellState], store: Store) -> Prediction:
    """Predict the cells that are not done from those that are, by their multiply-adds."""
    rates: dict[str, float] = {}
    peaks: list[float] = []
    based_on = 0
    for experiment in {cell.experiment for cell in cells}:
        done = [
            cell
            for cell, state in zip(cells, states, strict=True)
            if state.state == State.DONE and cell.experiment == experiment
        ]
        sample = done[:: max(1, len(done) // SAMPLE)]
        origins = [store.folder(cell).provenance() for cell in sample]
        seconds = sum(origin.get("wall_s", 0.0) for origin in origins)
        work = sum(cell.multiply_adds for cell in sample)
        if work and seconds:
            rates[experiment] = seconds / work
            peaks += [origin["peak_memory_gb"] for origin in origins if "peak_memory_gb" in origin]
            based_on += len(sample)
    left = [cell for cell, state in zip(cells, states, strict=True) if state.state != State.DONE]
    known = all(cell.experiment in rates for cell in left)
    core_s = sum(cell.multiply_adds * rates[cell.experiment] for cell in left) if known else None
    return Prediction(core_s, max(peaks, default=None), based_on)
