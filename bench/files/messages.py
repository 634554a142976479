"""What a person should know while a command goes on: one line each, on standard error."""

import sys

_said: set[str] = set()


def warn(text: str) -> None:
    """Print a line; the same line once a command."""
    if text not in _said:
        _said.add(text)
        print(f"bench: warning: {text}", file=sys.stderr)


def forget_warnings() -> None:
    """Begin a command: lines of a former one in this process may be said again."""
    _said.clear()
