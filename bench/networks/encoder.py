"""Encoders by name, pairs of encoders, and weight initialisation.

All initial weights come from an explicit generator. Shapes: B images, H and W pixels.
"""

import importlib.util
import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from bench.cells.architectures import (
    ALEXNET_POOLED,
    ARCHITECTURES,
    OF_TIMM,
    SMALL_ALEXNET,
    Stem,
    alexnet_channels,
    alexnet_size,
    alexnet_units,
)
from bench.errors import CellFailure, choices
from bench.networks.batchnorm import batch_norm_1d, batch_norm_2d
from bench.networks.resnet import BasicBlock, Bottleneck, ResNet

ALEXNET_STD = 0.02  # of every weight of the small AlexNet
INSTALL = "pip install 'contrastive-bench[timm]'"


class SmallAlexNet(nn.Sequential):
    """The small AlexNet in Wang and Isola's code for STL-10 (arXiv:2005.10242).

    It has five 3x3 convolutions, three with pooling, and two fully connected layers, fc6 and fc7.
    It maps images (B, in_channels, S, S) to the outputs of fc7, (B, `feature_dim`). Each layer has
    no bias and is followed by batch norm and ReLU.
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


class TimmEncoder(nn.Module):
    """A timm network from images (B, 3, S, S) to pooled features (B, `feature_dim`)."""

    def __init__(self, name: str, *, image_size: int, generator: np.random.Generator) -> None:
        """Draw its first values by timm's own rules, from a seed.

        Args:
            name: as timm knows it, such as `vit_tiny_patch16_224`.
            image_size: S; networks that are made for one size, such as ViTs, are made for this.
            generator: gives the seed.

        Raises:
            CellFailure: timm is missing, has no such network, or cannot make it for such images.
        """
        super().__init__()
        timm = checked_timm(name)
        fixed = timm.get_pretrained_cfg(name).fixed_input_size
        size = {"img_size": image_size} if fixed else {}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(generator.integers(2**63)))
            try:
                network = timm.create_model(name, pretrained=False, num_classes=0, **size)
                with torch.no_grad():
                    features = network.eval()(torch.zeros(2, 3, image_size, image_size))
            except Exception as error:
                why = " ".join(str(error).split())
                raise CellFailure(
                    f"arch 'timm:{name}': the network cannot be built for images of "
                    f"{image_size} pixels: {why}"
                ) from error
        if features.ndim != 2:
            raise CellFailure(
                f"arch 'timm:{name}': the network returns features with {features.ndim} "
                "axes instead of 2"
            )
        self.network = network.train()
        self.feature_dim = int(features.shape[1])

    def forward(self, images: Tensor) -> Tensor:
        """Return the pooled features."""
        features: Tensor = self.network(images)
        return features

    def probed_layers(self) -> dict[str, nn.Parameter]:
        """Return the last two weights with at least two axes, by name."""
        return dict([(k, p) for k, p in self.named_parameters() if p.ndim > 1][-2:])


def checked_timm(name: str) -> ModuleType:
    """Import and return timm.

    Raises:
        CellFailure: timm is missing or lacks the network.
    """
    if importlib.util.find_spec("timm") is None:
        raise CellFailure(f"arch 'timm:{name}' needs the package timm: {INSTALL}")
    import timm

    if not timm.is_model(name):
        alike = timm.list_models(f"{name[:4].lower()}*") or ["resnet18", "vit_tiny_patch16_224"]
        raise CellFailure(
            f"arch 'timm:{name}': timm {timm.__version__} has no such network. "
            f"{choices(name, alike)}"
        )
    return timm


Backbone = ResNet | SmallAlexNet | TimmEncoder
"""An encoder of images in one colour space."""
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def make_encoder(  # noqa: PLR0913  # what makes a network, by name
    arch: str,
    *,
    stem: Stem,
    width: int,
    bn_groups: int,
    generator: np.random.Generator,
    zero_init_residual: bool = False,
    in_channels: int = 3,
    image_size: int | None = None,
) -> Backbone:
    """Return an encoder from images (B, 3, H, W) to features (B, feature_dim).

    Args:
        arch: name of the architecture: `resnet18`; `resnet50` (stride at the 3x3 convolution),
            `resnet50-2x` and `-4x` (all channels 2 and 4 times as many, arXiv:2002.05709, App.
            B.8); `resnet20` (CIFAR's of three stages, arXiv:1512.03385, Sec. 4.2, at width 16);
            `small`, three residual blocks of width, 2 width and 4 width channels for small images
            on a CPU; `small-alexnet`, which ignores `stem`; `timm:NAME`, which ignores `stem` and
            `width`.
        stem: `imagenet` (7x7, stride 2, max-pooling), `cifar` (3x3, stride 1, no pooling) or `half`
            (3x3, stride 2, no pooling).
        width: channels of the first stage, before the factors 2x and 4x; other stages scale with
            it. Published networks have 64; `small` is designed for 16.
        bn_groups: number of batch parts with separate statistics; 1 is standard batch norm.
        generator: source of all weights.
        zero_init_residual: whether the last batch-norm scale of each residual branch starts at 0.
        in_channels: channels of the images, 3 for RGB.
        image_size: side of the images in pixels; used by `small-alexnet` and timm networks.

    Raises:
        CellFailure: timm is missing or lacks the network.
    """
    if arch.startswith(OF_TIMM):
        assert image_size is not None
        name = arch.removeprefix(OF_TIMM)
        return TimmEncoder(name, image_size=image_size, generator=generator)
    if arch == SMALL_ALEXNET:
        assert image_size is not None
        alexnet = SmallAlexNet(
            width=width, image_size=image_size, bn_groups=bn_groups, in_channels=in_channels
        )
        initialise(alexnet, generator, std=ALEXNET_STD)
        return alexnet
    encoder = ResNet(
        ARCHITECTURES[arch], stem=stem, width=width, bn_groups=bn_groups, in_channels=in_channels
    )
    initialise(encoder, generator, zero_init_residual=zero_init_residual)
    return encoder


def initialise(
    module: nn.Module,
    generator: np.random.Generator,
    *,
    zero_init_residual: bool = False,
    std: float | None = None,
) -> None:
    """Initialise every parameter of `module`, on the CPU.

    Convolutions are normal with variance 2 / fan_out (arXiv:1502.01852, Eq. 14) and have no bias.
    Linear layers have weights and biases uniform in +/- 1/sqrt(fan_in), like in torch. Batch norm
    has scale 1, shift 0, and running statistics 0 and 1.

    Args:
        module: the module. Its convolutions and linear layers may be on the device `meta`.
        generator: source of all numbers, in the order of the modules.
        zero_init_residual: whether the last batch-norm scale of each block is 0 (arXiv:1706.02677,
            Sec. 5.1).
        std: standard deviation of normal weights, instead of these rules; layers then have no bias.

    Raises:
        ValueError: there is no rule for a layer's type.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d) and layer.bias is None:
            fan_out = layer.out_channels * math.prod(layer.kernel_size)
            drawn = generator.standard_normal(layer.weight.shape, dtype=np.float32)
            layer.weight = _parameter(drawn, std or math.sqrt(2 / fan_out))
        elif isinstance(layer, nn.Linear) and std and layer.bias is None:
            drawn = generator.standard_normal(layer.weight.shape, dtype=np.float32)
            layer.weight = _parameter(drawn, std)
        elif isinstance(layer, nn.Linear):
            for name, parameter in list(layer.named_parameters(recurse=False)):
                drawn = generator.random(parameter.shape, dtype=np.float32) * 2 - 1
                setattr(layer, name, _parameter(drawn, layer.in_features**-0.5))
        elif isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
            layer.reset_parameters()
        elif any(True for _ in layer.parameters(recurse=False)):
            raise ValueError(
                f"the encoder has no rule to initialise a layer of type {type(layer).__name__}"
            )
    if zero_init_residual:
        for block in [m for m in module.modules() if isinstance(m, BasicBlock | Bottleneck)]:
            nn.init.zeros_(block.get_parameter(f"{block.last_bn}.weight"))


def _parameter(drawn: FloatArray, scale: float) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(drawn * np.float32(scale)))


CHANNELS = (1, 2)  # of L and of ab


class Towers(nn.Module):
    """Two encoders for Lab images (B, 3, H, W), with concatenated features (B, feature_dim)."""

    def __init__(self, towers: Sequence[Backbone]) -> None:
        """Take the encoders of L and of ab."""
        super().__init__()
        self.towers = nn.ModuleList(towers)
        self.dims = tuple(tower.feature_dim for tower in towers)
        self.feature_dim = sum(self.dims)

    def forward(self, images: Tensor) -> Tensor:
        """Return the concatenated features of both encoders."""
        parts = zip(self.towers, split_channels(images), strict=True)
        return torch.cat([tower(part) for tower, part in parts], dim=1)

    def probed_layers(self) -> dict[str, nn.Parameter]:
        """Return the probed layers of the first encoder; see `ResNet.probed_layers`."""
        first = self.towers[0]
        assert isinstance(first, Backbone)
        return first.probed_layers()


class SideBySide(nn.Module):
    """One head per tower, for concatenated features."""

    def __init__(self, heads: Sequence[nn.Module], dims: Sequence[int]) -> None:
        """Take the heads, and how many features belong to each."""
        super().__init__()
        self.heads, self.dims = nn.ModuleList(heads), list(dims)

    def forward(self, features: Tensor) -> Tensor:
        """Return the concatenated outputs of all heads."""
        parts = zip(self.heads, features.split(self.dims, dim=1), strict=True)
        return torch.cat([head(part) for head, part in parts], dim=1)


def split_channels(images: Tensor) -> list[Tensor]:
    """Return L (B, 1, H, W) and ab (B, 2, H, W) of Lab images."""
    return list(images.split(CHANNELS, dim=1))


class PartlyStill(nn.Module):
    """Base class of networks with frozen parts.

    Frozen parts stay in evaluation mode, so their batch-norm statistics do not change.
    """

    still: Sequence[nn.Module] = ()

    def keep_still(self, modules: Iterable[nn.Module]) -> None:
        """Set the frozen parts."""
        self.still = list(modules)
        for module in self.still:
            module.requires_grad_(False)

    def train(self, mode: bool = True) -> Self:
        """Set training mode for the trained parts, or evaluation mode for all."""
        super().train(mode)
        for module in self.still:
            module.eval()
        return self
