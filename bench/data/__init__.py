"""Data sets and random streams."""
