"""How long a run will still take, learnt from the cells that it has finished."""

import time
from collections.abc import Sequence

from bench.results.standing import Standing
from bench.results.store import OVER, CellState, State


class TimeLeft:
    """Seconds left of a run, and of each cell that runs."""

    def __init__(self, seconds: Sequence[float | None], slots: int) -> None:
        """Begin to count.

        Args:
            seconds: predicted of each cell, of one worker; None: not known.
            slots: workers.
        """
        known = [s for s in seconds if s]
        usual = sum(known) / len(known) if known else 1.0
        self.weights = [s or usual for s in seconds]
        self.predicted_s = sum(known) / slots if len(known) == len(seconds) and known else None
        self.began = time.monotonic()
        self.over_before: list[bool] | None = None
        self._first_seen: dict[int, tuple[float, float]] = {}  # by cell: when, and at what share

    def run_s(self, states: Sequence[CellState], standings: dict[int, Standing]) -> float | None:
        """Return the seconds that the run has left; None where nothing tells.

        By the pace so far as soon as a cell is finished, before that by what was predicted;
        negative where it takes longer than that.

        Args:
            states: of each cell, in the order of the predictions.
            standings: of those that run, by their place in that order.
        """
        over = [state.state in OVER for state in states]
        if self.over_before is None:
            self.over_before = over
        fresh = [now and not before for now, before in zip(over, self.over_before, strict=True)]
        spent = time.monotonic() - self.began
        shares = {i: (standing.share or 0.0) for i, standing in standings.items()}
        done = sum(w for w, is_new in zip(self.weights, fresh, strict=True) if is_new)
        half_done = sum(self.weights[i] * share for i, share in shares.items())
        left = sum(w for w, is_over in zip(self.weights, over, strict=True) if not is_over)
        if any(new and s.state == State.DONE for new, s in zip(fresh, states, strict=True)):
            return spent * (left - half_done) / (done + half_done)
        return None if self.predicted_s is None else self.predicted_s - spent

    def cell_s(self, i: int, standing: Standing) -> float | None:
        """Return the seconds that a running cell's training has left; None where nothing tells."""
        share, now = standing.share, time.monotonic()
        if share is None:
            return None
        begun, at = self._first_seen.setdefault(i, (now, share))
        if share <= at:
            return None
        return (now - begun) * (1 - share) / (share - at)
