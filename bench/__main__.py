"""`python -m bench` is the console script `bench`."""

from bench.cli import main

main()
