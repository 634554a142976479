"""`python -m bench` is the console script `bench`."""

from bench.cli import main

if __name__ == "__main__":  # not in the processes that a report starts
    main()
