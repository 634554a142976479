"""Evaluations of frozen encoders."""
