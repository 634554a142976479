"""Objectives, bounds and monitored quantities as pure functions of tensors.

Shapes: N queries, M negatives of one query, K queued keys or the number of negatives, D dimensions,
`...` leading dimensions of stacked cells.
"""

from bench.losses.alignment import align, align_uniform, uniformity
from bench.losses.bounds import gradient_norm_bound, histogram, mi_lower_bound, q_b
from bench.losses.contrastive import (
    dcl,
    dclw,
    dual_temperature,
    eqco_margin,
    in_batch,
    infonce,
    infonce_gradient_in_batch,
)
from bench.losses.gradient_form import gradient_form
from bench.losses.instance import ir, la, neighbour_gain
from bench.losses.siamese import (
    barlow_twins,
    correlation,
    cosine_distance,
    directpred,
    eigenspace_alignment,
    moving_average,
    predictor_matrix,
    principal_component_ratio,
    unigrad,
    vicreg,
)

__all__ = [
    "align",
    "align_uniform",
    "barlow_twins",
    "correlation",
    "cosine_distance",
    "dcl",
    "dclw",
    "directpred",
    "dual_temperature",
    "eigenspace_alignment",
    "eqco_margin",
    "gradient_form",
    "gradient_norm_bound",
    "histogram",
    "in_batch",
    "infonce",
    "infonce_gradient_in_batch",
    "ir",
    "la",
    "mi_lower_bound",
    "moving_average",
    "neighbour_gain",
    "predictor_matrix",
    "principal_component_ratio",
    "q_b",
    "uniformity",
    "unigrad",
    "vicreg",
]
