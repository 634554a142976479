"""Command line of `bench`: one module per command, imported when the command runs."""

import sys

from bench.errors import INTERRUPTED


def main() -> None:
    """Run the command line of `bench`."""
    try:
        from bench.cli.app import main as run
    except KeyboardInterrupt:  # before anything was begun
        sys.exit(INTERRUPTED)
    run()
