"""Messages to the user during a command: one line each, on standard error."""

import sys

from bench.text import plain_text

_said: set[str] = set()


def tell(text: str) -> None:
    """Print a line without terminal control characters."""
    print(f"bench: {plain_text(text)}", file=sys.stderr)


def tell_once(text: str) -> None:
    """Print a line, at most once per command."""
    if text not in _said:
        _said.add(text)
        tell(text)


def warn(text: str) -> None:
    """Print a warning, at most once per command."""
    tell_once(f"warning: {text}")


def forget_warnings() -> None:
    """Start a command: lines of earlier commands in this process may be printed again."""
    _said.clear()
