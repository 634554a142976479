"""Reproducibility benchmark suite for contrastive self-supervised learning."""

__version__ = "0.2.0.dev1"
