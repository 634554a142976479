"""Objectives, their bounds and what is measured of them, as pure functions of tensors.

Shapes: N queries, M negatives of one query, K queued keys or the number of negatives, D dimensions,
`...` any number of stacked cells before them.
"""

from bench.losses.alignment import align, align_uniform, uniformity
from bench.losses.bounds import gradient_norm_bound, mi_lower_bound
from bench.losses.contrastive import (
    dcl,
    dclw,
    dual_temperature,
    eqco_margin,
    in_batch,
    infonce,
    infonce_gradient_in_batch,
)
from bench.losses.probes import histogram, mi_bound, q_b

__all__ = [
    "align",
    "align_uniform",
    "dcl",
    "dclw",
    "dual_temperature",
    "eqco_margin",
    "gradient_norm_bound",
    "histogram",
    "in_batch",
    "infonce",
    "infonce_gradient_in_batch",
    "mi_bound",
    "mi_lower_bound",
    "q_b",
    "uniformity",
]
