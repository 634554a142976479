"""Measured results beside the published ones: frame, statistics, verdicts, claims."""
