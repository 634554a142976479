"""Data sets, and the random streams that everything random is drawn from."""
