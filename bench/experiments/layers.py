"""The layers of an encoder that features are taken from.

Shapes: B images of H x W pixels, F features.
"""

from collections.abc import Hashable
from typing import Protocol

from torch import nn


class Layers(Hashable, Protocol):
    """What evaluations take features from; `Online` is one."""

    @property
    def backbone(self) -> nn.Module:
        """From images (B, 3, H, W) to features (B, F)."""

    @property
    def embedding(self) -> nn.Module:
        """From images to what is behind the projector."""


class Frozen(nn.Module):
    """An encoder without a head."""

    def __init__(self, backbone: nn.Module) -> None:
        """Take what maps images (B, 3, H, W) to features (B, F)."""
        super().__init__()
        self.backbone = self.embedding = backbone


def encoder_of(layer: str, online: Layers) -> nn.Module:
    """Return what maps images to the features of a layer: the backbone or the projector."""
    return online.backbone if layer == "backbone" else online.embedding
