"""How long a run will still take: what was predicted, corrected by what its cells take.

Cells that are finished, and those that run by their own steps, say how far off the predictions of
their kind are. Between two records of a cell its time left falls by the time that has passed.
"""

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.results.standing import Standing
from bench.results.store import OVER, CellState, State

FEW = 0.1  # of a usual stack: the weight of what was predicted against what is measured
OVERDUE = 0.1  # of the time spent: what is left of a stack that should be over


class Expected(NamedTuple):
    """What is predicted of a cell or a stack; seconds of a worker, None: not known."""

    kind: str
    training_s: float | None  # of a cell, its equal part where cells share a training
    rest_s: float | None  # evaluations

    @property
    def seconds(self) -> float | None:
        """In all."""
        if self.training_s is None or self.rest_s is None:
            return None
        return self.training_s + self.rest_s


def sum_of(expected: Sequence[Expected]) -> Expected:
    """Return what is predicted of cells together."""
    training = [e.training_s for e in expected if e.training_s is not None]
    rest = [e.rest_s for e in expected if e.rest_s is not None]
    known = len(training) == len(rest) == len(expected)
    sums = (sum(training), sum(rest)) if known else (None, None)
    return Expected(expected[0].kind, *sums)


@dataclass
class _Stack:
    """Cells that are computed together."""

    cells: list[int]
    expected: Expected
    began: float | None = None  # when it was first seen to run; None: it does not, or did not here
    ended: float | None = None
    looks: list[tuple[float, float]] = field(default_factory=list)  # when which share was new
    trained: float | None = None  # when its training was first seen to be over

    def note(self, standing: Standing, now: float) -> None:
        """Take note of how far its training has come."""
        share = standing.share or 0.0
        if standing.is_trained:
            self.trained = self.trained or now
        elif not self.looks or share > self.looks[-1][1]:
            self.looks.append((now, share))

    def training_left_s(self, now: float) -> float | None:
        """Return what its own steps say that its training has left; None before two looks."""
        if self.trained is not None:
            return 0.0
        if len(self.looks) < 2:
            return None
        (first, before), (last, share) = self.looks[0], self.looks[-1]
        return max(0.0, (last - first) * (1 - share) / (share - before) - (now - last))

    def shown_s(self, now: float) -> float | None:
        """Return the seconds that it takes in all, as far as it has shown them."""
        if self.began is None:
            return None
        if self.ended is not None:
            return self.ended - self.began
        spent, predicted_s = now - self.began, self.expected.seconds
        left_s = self.training_left_s(now)
        if left_s is not None and self.trained is None and self.looks[0][1] == 0:
            training_s = self.expected.training_s
            return (spent + left_s) * ((predicted_s or 1) / training_s if training_s else 1)
        return spent if predicted_s is not None and spent > predicted_s else None


class TimeLeft:
    """Seconds left of a run, and of each cell that runs."""

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
        alone = [[i] for i in range(len(expected))]
        self._stacks = [
            _Stack(list(ids), sum_of([expected[i] for i in ids])) for ids in stacks or alone
        ]
        self._of = {i: stack for stack in self._stacks for i in stack.cells}
        known = [s for stack in self._stacks if (s := stack.expected.seconds)]
        self._usual_s = sum(known) / len(known) if known else 0.0
        self._slots = slots
        self._last_look: float | None = None

    def run_s(self, states: Sequence[CellState], standings: dict[int, Standing]) -> float | None:
        """Return the seconds that the run has left; None where nothing tells.

        Args:
            states: of each cell, in the order of the predictions.
            standings: of those that run, by their place in that order.
        """
        now = time.monotonic()
        for stack in self._stacks:
            self._follow(stack, [states[i].state for i in stack.cells], now)
        for i, standing in standings.items():
            self._of[i].note(standing, now)
        self._last_look = now
        left = [stack for stack in self._stacks if stack.ended is None]
        ends = [self._left_s(stack, now) for stack in left if stack.began is not None]
        waiting = [self._whole_s(stack, now) for stack in left if stack.began is None]
        if None in ends or None in waiting:
            return None
        free = [0.0] * (self._slots - len(ends))
        workers = [s for s in ends if s is not None] + free
        heapq.heapify(workers)
        for seconds in waiting:
            heapq.heapreplace(workers, workers[0] + (seconds or 0.0))
        return max(workers)

    def cell_s(self, i: int, standing: Standing) -> float | None:
        """Return the seconds that a running cell has left by its own steps; None before two."""
        now, stack = time.monotonic(), self._of[i]
        stack.note(standing, now)
        left_s = stack.training_left_s(now)
        return None if left_s is None or stack.trained else left_s + self._rest_s(stack, now)

    def _follow(self, stack: _Stack, states: Sequence[State], now: float) -> None:
        """Take note of when it begins and ends; one that failed, or was over before, tells none."""
        if all(state in OVER for state in states):
            if stack.ended is None:
                began = stack.began if stack.began is not None else self._last_look
                stack.ended, stack.began = now, began if State.DONE in states else None
        elif State.RUNNING in states:
            stack.began = now if stack.began is None else stack.began
        else:  # not begun, or stopped: a worker will go on
            stack.began, stack.looks, stack.trained = None, [], None

    def _pace(self, kind: str | None, now: float) -> float:
        """Return how long a predicted second takes: of a kind, or of all (None)."""
        predicted = FEW * self._usual_s
        measured = predicted * (1.0 if kind is None else self._pace(None, now))
        for stack in self._stacks:
            seconds, shown_s = stack.expected.seconds, stack.shown_s(now)
            if seconds and shown_s is not None and kind in (None, stack.expected.kind):
                measured, predicted = measured + shown_s, predicted + seconds
        return measured / predicted if predicted else 1.0

    def _whole_s(self, stack: _Stack, now: float) -> float | None:
        """Return what a stack takes in all: where nothing is predicted, what others take."""
        kind = stack.expected.kind
        if stack.expected.seconds is not None:
            return stack.expected.seconds * self._pace(kind, now)
        others = [(s.expected.kind, s.shown_s(now)) for s in self._stacks]
        known = [(of, seconds) for of, seconds in others if seconds is not None]
        alike = [seconds for of, seconds in known if of == kind] or [s for _, s in known]
        return sum(alike) / len(alike) if alike else None

    def _rest_s(self, stack: _Stack, now: float) -> float:
        return (stack.expected.rest_s or 0.0) * self._pace(stack.expected.kind, now)

    def _left_s(self, stack: _Stack, now: float) -> float | None:
        """Return what a running stack has left: by its own steps, else by what is expected."""
        assert stack.began is not None
        overdue = OVERDUE * (now - stack.began)
        training_s = stack.training_left_s(now)
        if stack.trained is not None:
            rest_s = self._rest_s(stack, now)
            return max(rest_s - (now - stack.trained), OVERDUE * rest_s)
        if training_s is not None:
            return training_s + self._rest_s(stack, now)
        whole_s = self._whole_s(stack, now)
        return None if whole_s is None else max(whole_s - (now - stack.began), overdue)
