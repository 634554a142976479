"""What a person should know while a command goes on: one line each, on standard error."""

import sys

from bench.text import plain_text

_said: set[str] = set()


def tell(text: str) -> None:
    """Print a line, nothing in which a terminal obeys."""
    print(f"bench: {plain_text(text)}", file=sys.stderr)


def tell_once(text: str) -> None:
    """Print a line; the same line once a command."""
    if text not in _said:
        _said.add(text)
        tell(text)


def warn(text: str) -> None:
    """Print a warning; the same one once a command."""
    tell_once(f"warning: {text}")


def forget_warnings() -> None:
    """Begin a command: lines of a former one in this process may be said again."""
    _said.clear()
