"""File input and output: complete writes and strict reads."""
