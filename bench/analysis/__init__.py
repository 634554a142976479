"""Measured results next to the published ones: frame, statistics, verdicts, claims."""
