"""What a run shows while it runs: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from bench.results.store import OVER, CellState, State

SHOWN = (State.DONE, State.RUNNING, State.QUEUED, State.FAILED, State.MISSING)
PLAIN_EVERY_S = 30.0
NEWS_EVERY_S = 5.0


class Progress:
    """Counts of cells by state, the time spent and the time left, on standard error."""

    def __init__(
        self, title: str, already: Counter[State], core_s: float | None, slots: int
    ) -> None:
        """Name the run.

        Args:
            title: the suites.
            already: cells that were over before, by state.
            core_s: the predicted work that is left, None if not known.
            slots: workers.
        """
        self.title, self.already, self.began = title, already, time.monotonic()
        self.expected_s = None if core_s is None else core_s / slots
        self.console = Console(file=sys.stderr)
        self.live = Live(console=self.console, refresh_per_second=4, transient=True)
        self.last_line, self.last_at, self.last_counts = "", 0.0, Counter[State]()

    def __enter__(self) -> Self:
        """Begin to show."""
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the last line standing."""
        if self.console.is_terminal:
            self.live.stop()
        if self.last_line:
            self.console.print(self.last_line, highlight=False, soft_wrap=True)

    def __call__(self, states: Sequence[CellState]) -> bool:
        """Show these states; return whether every cell is done or failed."""
        counts = Counter(state.state for state in states)
        self.last_line = self._line(counts)
        if self.console.is_terminal:
            self.live.update(Text(self.last_line))
        else:
            self._print_news(counts)
        return _over(counts) == counts.total()

    def _print_news(self, counts: Counter[State]) -> None:
        news = _over(counts) != _over(self.last_counts)
        now = time.monotonic()
        waited = now - self.last_at
        if not self.last_at or waited > PLAIN_EVERY_S or (news and waited > NEWS_EVERY_S):
            self.console.print(self.last_line, highlight=False, soft_wrap=True)
            self.last_at, self.last_counts = now, counts

    def _line(self, counts: Counter[State]) -> str:
        shown = counts + self.already
        parts = [f"{shown[state]} {state}" for state in SHOWN if shown[state]]
        spent = time.monotonic() - self.began
        left = ""
        if self.expected_s is not None and _over(counts) < counts.total():
            more = self.expected_s - spent
            left = f", about {duration(more)} left" if more > 0 else ", longer than predicted"
        return f"{self.title}: {', '.join(parts)} ({duration(spent)}{left})"


def _over(counts: Counter[State]) -> int:
    return sum(counts[state] for state in OVER)


def duration(seconds: float) -> str:
    """Return seconds as a person would say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
