"""The command line: one file per verb, which is loaded when the verb is called."""


def main() -> None:
    """Run the command line of `bench`."""
    from bench.cli.app import main as run

    run()
