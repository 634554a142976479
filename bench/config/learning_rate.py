"""Learning-rate rules in the number of queries, written out in the cell."""

import math
from typing import Literal

Rule = Literal["none", "linear", "sqrt"]


def scaled_lr(base_lr: float, N: int, rule: Rule, per: int = 256) -> float:
    """Return the learning rate at N queries a step, from one that holds at `per` queries.

    `none` keeps it; `linear` is base_lr N / per (arXiv:1706.02677); `sqrt` is
    base_lr sqrt(N / per), so that SimCLR's 0.075 sqrt(N) (arXiv:2002.05709, App. B.1) is
    base_lr = 0.075 at per = 1.

    Raises:
        ValueError: N or per is not above 0, or there is no such rule.
    """
    if N <= 0 or per <= 0:
        raise ValueError(f"N and per must be above 0, found {N} and {per}")
    if rule not in ("none", "linear", "sqrt"):
        raise ValueError(f"rule must be one of none, linear, sqrt, found {rule!r}")
    if rule == "none":
        return base_lr
    return base_lr * (N / per if rule == "linear" else math.sqrt(N / per))
