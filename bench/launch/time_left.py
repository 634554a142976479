"""Remaining time of a run: predictions, corrected by measured times.

The remaining time of a running stack comes from its own steps. With few steps, its prediction has
more weight. Measured times of other stacks correct the predictions of their kind. Between two
records, a cell's remaining time decreases by the elapsed time. The displayed time follows the
estimate without jumps (`Steady`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import NamedTuple

from bench.estimate.predict import last_end, sum_known
from bench.results.standing import Standing
from bench.results.store import OVER, CellState, State

OVERDUE = 0.1  # of the time left at the last record: what is left of a stack that should be over
TELLING = 0.1  # of a stack: so much of it, seen to pass, tells its pace without the prediction
PATIENCE = 0.1  # of a time left: the time in which most of a new estimate is taken over
LEAST_PATIENCE_S = 20.0


class Expected(NamedTuple):
    """Prediction for a cell or stack; seconds of a worker, None if unknown."""

    kind: str
    training_s: float | None  # of a cell, its equal part where cells share a training
    rest_s: float | None  # evaluations

    @property
    def seconds(self) -> float | None:
        """Total seconds."""
        return sum_known([self.training_s, self.rest_s])


@dataclass
class _Stack:
    """Cells that are computed together."""

    cells: Sequence[int]
    expected: Expected
    began: float | None = None  # when it was first seen to run; None: it does not, or did not here
    ended: float | None = None
    looks: list[tuple[float, float]] = field(default_factory=list)  # when which share was new

    def note(self, standing: Standing, now: float) -> None:
        """Take note of how much of it is done, by what is predicted of its evaluations."""
        share = standing.share or 0.0
        if self.expected.seconds:
            share *= (self.expected.training_s or 0.0) / self.expected.seconds
        if not self.looks or share > self.looks[-1][1]:
            self.looks.append((now, share))

    def paced_s(self) -> float | None:
        """Return the seconds that it takes in all by its own steps; None before two looks.

        Steps seen from the first one on leave out the start: loading data, compiling. Of a stack in
        few steps the first one counts.
        """
        looks = self.looks
        if looks and looks[0][1] == 0 and (len(looks) > 2 or looks[-1][1] < TELLING):
            looks = looks[1:]
        if len(looks) < 2:
            return None
        (first, before), (last, share) = looks[0], looks[-1]
        return (last - first) / (share - before)

    def whole_s(self, predicted_s: float | None) -> float | None:
        """Return the seconds that it takes in all: by its steps, by the prediction, or a mean."""
        paced_s, trust = self.paced_s(), self.trust
        if paced_s is None or predicted_s is None:
            return paced_s or predicted_s
        return float(predicted_s ** (1 - trust) * paced_s**trust)

    @property
    def trust(self) -> float:
        """How far its own steps decide, 0 to 1: by the part of it that was seen to pass."""
        if len(self.looks) < 2:
            return 0.0
        (first, before), (last, share) = self.looks[0], self.looks[-1]
        expected_s = self.expected.seconds or 0.0
        overrun = (last - first) / expected_s if expected_s else 1.0
        return min(1.0, max((share - before) / TELLING, overrun))

    def left_s(self, whole_s: float, now: float) -> float:
        """Return what is left since the last look if it takes so long in all."""
        began = now if self.began is None else self.began
        last, share = self.looks[-1] if self.looks else (began, 0.0)
        left_s = whole_s * (1 - share)
        return max(left_s - (now - last), OVERDUE * left_s)

    def shown_s(self, now: float) -> float | None:
        """Return the seconds that it takes in all, as far as it has shown them."""
        if self.began is None:
            return None
        if self.ended is not None:
            return self.ended - self.began
        spent, paced_s, predicted_s = now - self.began, self.paced_s(), self.expected.seconds
        if paced_s is not None and self.looks[0][1] == 0 and self.trust == 1:
            return spent + self.left_s(paced_s, now)
        return spent if predicted_s is not None and spent > predicted_s else None


class Steady:
    """A displayed remaining time that follows an estimate smoothly.

    Most of a change in the estimate is adopted within the share PATIENCE of the remaining time.
    """

    def __init__(self) -> None:
        """Begin with the first estimate as it is."""
        self._shown: tuple[float, float] | None = None  # when, and seconds

    def __call__(self, left_s: float | None) -> float | None:
        """Return the seconds to show for an estimate made now."""
        now = time.monotonic()
        if left_s is not None and left_s > 0 and self._shown is not None:
            at, before = self._shown
            fallen = max(before - (now - at), OVERDUE * before)
            patience_s = max(LEAST_PATIENCE_S, PATIENCE * (fallen * left_s) ** 0.5)
            left_s = fallen * (left_s / fallen) ** (1 - exp((at - now) / patience_s))
        self._shown = None if not left_s else (now, left_s)
        return left_s


class TimeLeft:
    """Remaining seconds of a run and of each running cell."""

    def __init__(
        self,
        expected: Sequence[Expected],
        slots: int,
        stacks: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Begin to count.

        Args:
            expected: of each cell.
            slots: workers.
            stacks: places of cells that are computed together; default: each by itself.
        """
        self._stacks = []
        for cells in stacks or [[i] for i in range(len(expected))]:
            kinds, training_s, rest_s = zip(*(expected[i] for i in cells), strict=True)
            together = Expected(kinds[0], sum_known(training_s), sum_known(rest_s))
            self._stacks.append(_Stack(cells, together))
        self._of = {i: stack for stack in self._stacks for i in stack.cells}
        self._slots = slots
        self._last_look: float | None = None

    def run_s(self, states: Sequence[CellState], standings: dict[int, Standing]) -> float | None:
        """Return the remaining seconds of the run; None if unknown.

        Args:
            states: state of each cell, in the order of the predictions.
            standings: progress of running cells, by their index in that order.
        """
        now = time.monotonic()
        for stack in self._stacks:
            self._follow(stack, [states[i].state for i in stack.cells], now)
        for i, standing in standings.items():
            self._of[i].note(standing, now)
        self._last_look = now
        workers, waiting = list[float](), list[float]()
        for stack in self._stacks:
            if stack.ended is None:
                whole_s = stack.whole_s(self._whole_s(stack.expected, now))
                if whole_s is None:
                    return None
                runs = stack.began is not None
                (workers if runs else waiting).append(stack.left_s(whole_s, now))
        return last_end(workers + [0.0] * (self._slots - len(workers)), waiting)

    def cell_s(self, i: int, standing: Standing) -> float | None:
        """Return a running cell's remaining seconds from its own steps; None before two steps."""
        now, stack = time.monotonic(), self._of[i]
        stack.note(standing, now)
        paced_s = stack.paced_s()
        return None if paced_s is None else stack.left_s(paced_s, now)

    def _follow(self, stack: _Stack, states: Sequence[State], now: float) -> None:
        """Take note of when it begins and ends; one that failed, or was over before, tells none."""
        if all(state in OVER for state in states):
            if stack.ended is None:
                began = stack.began if stack.began is not None else self._last_look
                stack.ended, stack.began = now, began if State.DONE in states else None
        elif State.RUNNING in states:
            stack.began = now if stack.began is None else stack.began
        else:  # not begun, or stopped: a worker will go on
            stack.began, stack.looks = None, []

    def _whole_s(self, expected: Expected, now: float) -> float | None:
        """Return what a stack takes in all: by its kind if any shows it, else by all that do."""
        shown = [(s.expected, took) for s in self._stacks if (took := s.shown_s(now)) is not None]
        shown = [pair for pair in shown if pair[0].kind == expected.kind] or shown
        if expected.seconds is None:
            return sum(took for _, took in shown) / len(shown) if shown else None
        predicted = [(e.seconds, took) for e, took in shown if e.seconds]
        pace = sum(took for _, took in predicted) / sum(s for s, _ in predicted) if predicted else 1
        return expected.seconds * pace
