"""Encoders by name, and the first values of any network, from one explicit generator."""

import math
from typing import get_args

import numpy as np
import torch
from torch import nn

from bench.cells.architectures import SMALL_ALEXNET, Stem, architecture
from bench.networks.alexnet import INIT_STD, SmallAlexNet
from bench.networks.resnet import BasicBlock, Bottleneck, ResNet

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
) -> ResNet | SmallAlexNet:
    """Return an encoder of images of shape (B, 3, H, W) to features of shape (B, feature_dim).

    Args:
        arch: `resnet18`; `resnet50` (stride at the 3x3 convolution), `resnet50-2x` and `-4x` (all
            channels 2 and 4 times as many, arXiv:2002.05709, App. B.8); `resnet20` (CIFAR's of
            three stages, arXiv:1512.03385, Sec. 4.2, at width 16); `small`, three residual
            blocks of width, 2 width and 4 width channels for small images on a CPU;
            `small-alexnet`, which has one stem, whatever is given.
        stem: `imagenet` (7x7, stride 2, max-pooling), `cifar` (3x3, stride 1, no pooling) or
            `half` (3x3, stride 2, no pooling).
        width: channels of the first stage before 2x and 4x, all others in proportion; the
            published networks have 64, `small` is meant for 16.
        bn_groups: parts of the batch with statistics of their own; 1 is plain batch norm.
        generator: draws every weight.
        zero_init_residual: begin with the last scale of each residual branch at 0.
        in_channels: of the images, 3 in RGB.
        image_size: pixels a side; `small-alexnet` is made for one size.

    Raises:
        ValueError: no such architecture or stem, width or bn_groups below 1, or no image_size
            where one is needed.
    """
    if stem not in get_args(Stem):
        raise ValueError(f"stem must be one of {', '.join(get_args(Stem))}, found {stem!r}")
    if width < 1:
        raise ValueError(f"width must be at least 1, found {width}")
    if arch == SMALL_ALEXNET:
        if image_size is None:
            raise ValueError("small-alexnet needs image_size")
        alexnet = SmallAlexNet(
            width=width, image_size=image_size, bn_groups=bn_groups, in_channels=in_channels
        )
        initialise(alexnet, generator, std=INIT_STD)
        return alexnet
    encoder = ResNet(
        architecture(arch), stem=stem, width=width, bn_groups=bn_groups, in_channels=in_channels
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
    """Give every parameter of `module` its first value, on the CPU.

    Convolutions: normal with variance 2 / fan_out (arXiv:1502.01852, Eq. 14), no bias. Linear
    layers: weight and bias uniform in +/- 1/sqrt(fan_in), as torch. Batch norm: scale 1, shift 0,
    running statistics 0 and 1.

    Args:
        module: its convolutions and linear layers may stand on the device `meta`.
        generator: gives all numbers, in the order of the modules.
        zero_init_residual: scale 0 in the last batch norm of each block (arXiv:1706.02677,
            Sec. 5.1).
        std: of all weights, normal and without a bias, in place of these rules.

    Raises:
        ValueError: a layer of a kind for which no rule is known.
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
            raise ValueError(f"no rule for the first values of {type(layer).__name__}")
    if zero_init_residual:
        for block in [m for m in module.modules() if isinstance(m, BasicBlock | Bottleneck)]:
            nn.init.zeros_(block.get_parameter(f"{block.last_bn}.weight"))


def _parameter(drawn: FloatArray, scale: float) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(drawn * np.float32(scale)))
