"""Objectives and bounds as pure functions of tensors.

Shapes: N queries, M negatives of one query, `...` any number of stacked cells before them.
"""

from bench.losses.bounds import gradient_norm_bound, mi_lower_bound
from bench.losses.contrastive import eqco_margin, in_batch, infonce, infonce_gradient_in_batch

__all__ = [
    "eqco_margin",
    "gradient_norm_bound",
    "in_batch",
    "infonce",
    "infonce_gradient_in_batch",
    "mi_lower_bound",
]
