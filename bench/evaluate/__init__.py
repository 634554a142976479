"""Numbers taken from frozen encoders."""
