"""Projectors and predictors: multi-layer perceptrons with or without batch norm.

Shapes: B vectors, D dimensions.
"""

from itertools import pairwise

import numpy as np
from torch import nn

from bench.cells.axes import BN
from bench.networks.batchnorm import batch_norm_1d
from bench.networks.encoder import initialise


class Head(nn.Sequential):
    """Linear layers with optional batch norm, and ReLU in between; (B, D) to (B, out_dim)."""

    def __init__(self, *layers: nn.Module, out_dim: int) -> None:
        """Chain `layers`; none is the identity."""
        super().__init__(*layers)
        self.out_dim = out_dim


def make_head(
    in_dim: int,
    *,
    layers: int,
    hidden_dim: int | None,
    out_dim: int,
    bn: BN,
    bn_groups: int,
    generator: np.random.Generator,
) -> Head:
    """Return a perceptron: linear (BN) ReLU ... linear (BN).

    Args:
        in_dim: dimensions of the input.
        layers: number of linear layers; 0 gives the identity, with out_dim equal to in_dim.
        hidden_dim: width of all layers except the last; None if there are none.
        out_dim: width of the last layer.
        bn: batch norm after no layer, after all except the last, or after all (SiMo, EqCo App.
            B.1). A layer followed by batch norm has no bias.
        bn_groups: number of batch parts with separate statistics.
        generator: source of all weights.

    Raises:
        ValueError: layers < 0, a width < 1, or bn_groups < 1.
    """
    hidden = [hidden_dim or 0] * (layers - 1)
    widths = [in_dim, *hidden, out_dim] if layers else [in_dim]
    if layers < 0 or min(widths) < 1:
        raise ValueError(f"a head needs layers >= 0 and widths >= 1, found {layers} and {widths}")
    chain: list[nn.Module] = []
    for i, (width, next_width) in enumerate(pairwise(widths), start=1):
        norm = bn == "all" or (bn == "hidden" and i < layers)
        # On meta, where making a layer draws nothing from the global generator.
        chain.append(nn.Linear(width, next_width, bias=not norm, device="meta"))
        if norm:
            chain.append(batch_norm_1d(next_width, bn_groups))
        if i < layers:
            chain.append(nn.ReLU(inplace=True))
    head = Head(*chain, out_dim=widths[-1])
    initialise(head, generator)
    return head
