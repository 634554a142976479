"""The small AlexNet of Wang and Isola's code for STL-10 (arXiv:2005.10242).

Shapes: B images, H and W pixels.
"""

from collections import OrderedDict
from itertools import pairwise

from torch import nn

from bench.cells.architectures import (
    ALEXNET_POOLED,
    alexnet_channels,
    alexnet_size,
    alexnet_units,
)
from bench.networks.batchnorm import batch_norm_1d, batch_norm_2d

INIT_STD = 0.02  # of every weight


class SmallAlexNet(nn.Sequential):
    """Five 3x3 convolutions, three of them pooled, and two full layers, fc6 and fc7.

    Takes images of shape (B, in_channels, S, S) to features of shape (B, `feature_dim`), fc7's.
    Each layer is followed by batch norm and ReLU and has no bias.
    """

    def __init__(
        self, *, width: int, image_size: int, bn_groups: int, in_channels: int = 3
    ) -> None:
        """Build the layers; their weights get values from `initialise`.

        Args:
            width: 64 is the published; all channels and the 4096 of fc6 and fc7 are in proportion.
            image_size: S, at least 15 pixels; 64 in the published.
            bn_groups: parts of the batch with statistics of their own.
            in_channels: of the images.
        """
        channels = alexnet_channels(width)
        layers = OrderedDict[str, nn.Module]()
        for i, (before, after) in enumerate(pairwise((in_channels, *channels)), start=1):
            # On meta, where making a layer draws nothing from the global generator.
            layers[f"conv{i}"] = nn.Conv2d(before, after, 3, padding=1, bias=False, device="meta")
            layers[f"bn{i}"] = batch_norm_2d(after, bn_groups)
            layers[f"relu{i}"] = nn.ReLU(inplace=True)
            if i in ALEXNET_POOLED:
                layers[f"pool{i}"] = nn.MaxPool2d(3, 2)
        layers["flatten"] = nn.Flatten()
        units, flat = alexnet_units(width), channels[-1] * alexnet_size(image_size) ** 2
        for i, before in ((6, flat), (7, units)):
            layers[f"fc{i}"] = nn.Linear(before, units, bias=False, device="meta")
            layers[f"bn{i}"] = batch_norm_1d(units, bn_groups)
            layers[f"relu{i}"] = nn.ReLU(inplace=True)
        super().__init__(layers)
        self.feature_dim = units

    def probed_layers(self) -> dict[str, nn.Parameter]:
        """Return the weights of the last two convolutions, by name."""
        return {name: self.get_parameter(f"{name}.weight") for name in ("conv4", "conv5")}
