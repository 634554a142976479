"""Progress of a run: live lines on a terminal, plain lines elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from bench.cells.cell import Cell
from bench.cells.groups import labels
from bench.estimate.predict import Prediction
from bench.launch.time_left import Expected, Steady, TimeLeft
from bench.results.standing import Standing, standing_of
from bench.results.store import OVER, CellState, State, Store
from bench.text import counted

SHOWN = (State.DONE, State.RUNNING, State.QUEUED, State.FAILED, State.MISSING)
PLAIN_EVERY_S = 30.0
NEWS_EVERY_S = 5.0
ACCURACIES = {"knn_top1": "kNN", "test_top1": "test accuracy", "": "accuracy"}
MOST_CELLS = 8  # lines of running cells


@dataclass(frozen=True)
class Followed:
    """The cells whose progress a run shows, in display order."""

    cells: Sequence[Cell]
    store: Store
    expected: Sequence[Expected]  # of each
    stacks: Sequence[Sequence[int]] | None = None  # places of those that are computed together
    watches: bool = False  # what others compute: no worker of this run starts

    @cached_property
    def labels(self) -> list[str]:
        """A short name for each cell."""
        return labels(self.cells)


def expected_of(prediction: Prediction) -> dict[str, Expected]:
    """Return the predictions for the cells, by id."""
    expected = {}
    for estimate in prediction.estimates:
        parts = prediction.parts(estimate)
        if estimate.cell.training_id is None:  # its own time is that of its training
            parts = parts[::-1]
        expected[estimate.cell.id] = Expected(estimate.cell.kind, *parts)
    return expected


NOTHING = Followed((), Store(Path()), ())


class Progress:
    """Counts of cells by state, remaining time and progress of running cells, on standard error."""

    def __init__(
        self, title: str, already: Counter[State], slots: int, followed: Followed = NOTHING
    ) -> None:
        """Name the run.

        Args:
            title: the suites.
            already: cells that were over before, by state.
            slots: workers.
            followed: the cells whose states are shown; by default they are only counted.
        """
        self.title, self.already, self.slots = title, already, slots
        self.followed, self.began = followed, time.monotonic()
        self.time_left = TimeLeft(followed.expected, slots, followed.stacks)
        self.steady = Steady()
        self.console = Console(file=sys.stderr)
        self.live = Live(console=self.console, refresh_per_second=4, transient=True)
        self.last_line, self.last_at, self.last_counts = "", 0.0, Counter[State]()
        self.any_begun = self.is_over = False
        self.printed = ""  # the last line that a pipe got

    def __enter__(self) -> Self:
        """Begin to show."""
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the last line standing, unless it stands there already."""
        if self.console.is_terminal:
            self.live.stop()
        if self.last_line and self.last_line != self.printed:
            self._print(self.last_line)

    def __call__(self, states: Sequence[CellState]) -> bool:
        """Show these states; return whether every cell is done or failed."""
        counts = Counter(state.state for state in states)
        over = _over(counts) == counts.total()
        if over and self.is_over:  # workers are ending; the line about the cells stands
            return True
        self.is_over = over
        due = self.console.is_terminal or self._is_due(counts)
        standings = self._standings(states) if due or over else {}
        left_s = None
        if self.followed.cells:
            left_s = self.steady(self.time_left.run_s(states, standings))
        if due or over:
            self.last_line = self._line(counts, left_s)
        lines = [self.last_line, *self._cell_lines(standings)]
        if self.console.is_terminal:
            self.live.update(Text("\n".join(lines)))
        elif due:
            self._print("\n".join(lines))
            self.printed, self.last_at, self.last_counts = lines[0], time.monotonic(), counts
        return over

    def _is_due(self, counts: Counter[State]) -> bool:
        news = _over(counts) != _over(self.last_counts)
        waited = time.monotonic() - self.last_at
        return not self.last_at or waited > PLAIN_EVERY_S or (news and waited > NEWS_EVERY_S)

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True, markup=False)

    def _standings(self, states: Sequence[CellState]) -> dict[int, Standing]:
        """Return how far each running cell has come, by its place among the states."""
        running = [i for i, state in enumerate(states) if state.state == State.RUNNING]
        self.any_begun = self.any_begun or bool(running)
        cells, store = self.followed.cells, self.followed.store
        return {i: standing_of(store, cells[i]) for i in running if i < len(cells)}

    def _line(self, counts: Counter[State], left_s: float | None) -> str:
        shown = counts + self.already
        parts = [f"{shown[state]} {state}" for state in SHOWN if shown[state]]
        spent = time.monotonic() - self.began
        more = ""
        if _over(counts) < counts.total() and left_s is not None:
            more = f", about {duration(left_s)} left"
        starts = bool(self.followed.cells) and not self.followed.watches
        if starts and not self.any_begun and not _over(counts):
            more = f"; {counted(self.slots, 'worker')} starting (loading PyTorch){more}"
        return f"{self.title}: {', '.join(parts)} ({duration(spent)}{more})"

    def _cell_lines(self, standings: Mapping[int, Standing]) -> list[str]:
        alike: dict[str, list[int]] = {}  # of a stack all cells have come equally far
        for i, standing in standings.items():
            text = standing_text(standing, self.time_left.cell_s(i, standing))
            alike.setdefault(text, []).append(i)
        lines = [
            f"  {self._name(cells)}: {text}" for text, cells in list(alike.items())[:MOST_CELLS]
        ]
        more = sum(map(len, list(alike.values())[MOST_CELLS:]))
        return lines + ([f"  ... and {more} more running"] if more > 0 else [])

    def _name(self, places: Sequence[int]) -> str:
        first = self.followed.labels[places[0]]
        return (
            first if len(places) == 1 else f"{first} (and {counted(len(places) - 1, 'more cell')})"
        )


def standing_text(standing: Standing, left_s: float | None = None) -> str:
    """Return the progress of a running cell: epoch, loss, accuracy and remaining time."""
    if standing.is_trained:
        return "trained, evaluating"
    at = standing.step if standing.epoch is None else standing.epoch
    if at is None:
        return "nothing measured yet"
    unit = "step" if standing.epoch is None else "epoch"
    parts = [f"{unit} {at:g}" + (f" of {standing.of}" if standing.of else "")]
    if standing.loss is not None:
        parts.append(f"loss {standing.loss:.3g}")
    if standing.accuracy is not None:
        parts.append(f"{ACCURACIES[standing.accuracy_of or '']} {standing.accuracy:.1f} %")
    if left_s is not None:
        parts.append(f"about {duration(left_s)} left")
    return ", ".join(parts)


def _over(counts: Counter[State]) -> int:
    return sum(counts[state] for state in OVER)


def duration(seconds: float) -> str:
    """Return seconds as readable text."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
