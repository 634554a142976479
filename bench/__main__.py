"""Run `bench` with `python -m bench`."""

from bench.cli import main

if __name__ == "__main__":  # not in the processes that a report starts
    main()
