"""Projectors and predictors: perceptrons of any depth, with or without batch norm.

Shapes: B vectors, D dimensions.
"""

from itertools import pairwise

import numpy as np
from torch import nn

from bench.cells.axes import BN
from bench.networks.batchnorm import batch_norm_1d
from bench.networks.encoder import initialise


class Head(nn.Sequential):
    """Linear layers, each with batch norm or not, and ReLU between them; (B, D) to (B, out_dim)."""

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
        in_dim: dimensions of what goes in.
        layers: linear layers; 0 is the identity, whose out_dim is in_dim whatever was asked for.
        hidden_dim: width of all layers but the last; None if there are none.
        out_dim: width of the last layer.
        bn: batch norm behind no layer, behind all but the last, or behind all (SiMo, EqCo
            App. B.1); a layer with batch norm behind it has no bias.
        bn_groups: parts of the batch with statistics of their own.
        generator: draws every weight.

    Raises:
        ValueError: layers < 0, a width < 1, bn_groups < 1.
    """
    hidden = [hidden_dim or 0] * (layers - 1)
    widths = [in_dim, *hidden, out_dim] if layers else [in_dim]
    if layers < 0 or min(widths) < 1:
        raise ValueError(f"needs layers >= 0 and widths >= 1, found {layers} and {widths}")
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
