"""How far a long report is, on standard error."""

from collections.abc import Iterable
from typing import TypeVar

from rich.console import Console
from rich.progress import track

Step = TypeVar("Step")


def followed(steps: Iterable[Step], total: int, what: str) -> Iterable[Step]:
    """Yield the steps, with a bar on standard error while they last if that is a terminal.

    Args:
        steps: what is iterated.
        total: number of steps.
        what: words beside the bar.
    """
    error = Console(stderr=True)
    hidden = not error.is_terminal
    return track(steps, what, total, console=error, transient=True, disable=hidden)
