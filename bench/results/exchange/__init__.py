"""Finished cells as archives, in and out."""
