"""Several processes that compute one cell together: who they are, what they exchange, their start.

A rank is one of them. Each encodes its contiguous share of every batch; what comes of it is
gathered, and from there on every rank holds the whole batch and computes the whole loss. W ranks.
"""

from bench.distributed.ranks import ALONE, Ranks

__all__ = ["ALONE", "Ranks"]
