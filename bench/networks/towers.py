"""Two networks side by side: one for the L channel of Lab images, one for their ab channels."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bench.networks.alexnet import SmallAlexNet
from bench.networks.resnet import ResNet

CHANNELS = (1, 2)  # of L and of ab


class Towers(nn.Module):
    """Two encoders; of a Lab image (B, 3, H, W) their features side by side (B, feature_dim)."""

    def __init__(self, towers: Sequence[ResNet | SmallAlexNet]) -> None:
        """Take the encoders of L and of ab."""
        super().__init__()
        self.towers = nn.ModuleList(towers)
        self.dims = tuple(tower.feature_dim for tower in towers)
        self.feature_dim = sum(self.dims)

    def forward(self, images: Tensor) -> Tensor:
        """Return the features of both."""
        parts = zip(self.towers, split_channels(images), strict=True)
        return torch.cat([tower(part) for tower, part in parts], dim=1)

    def probed_layers(self) -> dict[str, nn.Parameter]:
        """Return the first tower's; see `ResNet.probed_layers`."""
        first = self.towers[0]
        assert isinstance(first, ResNet | SmallAlexNet)
        return first.probed_layers()


class SideBySide(nn.Module):
    """A head a tower, for features side by side."""

    def __init__(self, heads: Sequence[nn.Module], dims: Sequence[int]) -> None:
        """Take the heads, and how many features belong to each."""
        super().__init__()
        self.heads, self.dims = nn.ModuleList(heads), list(dims)

    def forward(self, features: Tensor) -> Tensor:
        """Return the outputs of all heads side by side."""
        parts = zip(self.heads, features.split(self.dims, dim=1), strict=True)
        return torch.cat([head(part) for head, part in parts], dim=1)


def split_channels(images: Tensor) -> list[Tensor]:
    """Return L (B, 1, H, W) and ab (B, 2, H, W) of Lab images."""
    return list(images.split(CHANNELS, dim=1))
