"""Residual networks (arXiv:1512.03385) for images of any size, pooled to one vector.

Shapes: B images, 3 colours, H and W pixels, D feature dimensions. Parameter names are those of
torchvision. With equal weights, outputs agree with torchvision.
"""

from collections import OrderedDict
from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, pad, relu

from bench.cells.architectures import Architecture, Stem
from bench.networks.batchnorm import batch_norm_2d

NARROW = 16  # channels


class SubsampledConv(nn.Conv2d):
    """1x1 convolution with stride 2, computed as stride 1 on every other pixel.

    This avoids a bug in oneDNN (uxlfoundation/oneDNN#6035): the weight gradient at stride 2 writes
    out of bounds for channels-last images with fewer than 8 (AVX2) or 16 (AVX-512) channels.
    """

    def __init__(self, channels: int, outer: int) -> None:
        """Lead `channels` channels to `outer`, without a bias."""
        super().__init__(channels, outer, 1, bias=False, device="meta")

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, outer, ceil(H / 2), ceil(W / 2)) of (B, channels, H, W)."""
        return super().forward(avg_pool2d(x, 1, 2))


class PaddedShortcut(nn.Module):
    """A shortcut without parameters (arXiv:1512.03385, Sec. 3.3, option A)."""

    def __init__(self, channels: int, outer: int) -> None:
        """Lead `channels` channels to `outer`, the new ones 0."""
        super().__init__()
        self.new = outer - channels

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, outer, ceil(H / 2), ceil(W / 2)) of (B, channels, H, W)."""
        return pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.new))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with a shortcut."""

    expansion = 1  # channels behind the block, over `inner`
    last_conv = "conv2"
    last_bn = "bn2"

    def __init__(
        self, channels: int, inner: int, stride: int, bn_groups: int, *, padded: bool = False
    ) -> None:
        """Lead `channels` channels to `inner`, with a shortcut without parameters if `padded`."""
        super().__init__()
        self.conv1 = _conv(channels, inner, 3, stride)
        self.bn1 = batch_norm_2d(inner, bn_groups)
        self.conv2 = _conv(inner, inner, 3)
        self.bn2 = batch_norm_2d(inner, bn_groups)
        self.downsample: nn.Module | None
        if padded and channels != inner:
            self.downsample = PaddedShortcut(channels, inner)
        else:
            self.downsample = _shortcut(channels, inner, stride, bn_groups)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, inner, H / stride, W / stride) of (B, channels, H, W)."""
        out = relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += self.downsample(x) if self.downsample is not None else x
        return relu(out, inplace=True)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions with a shortcut; the 3x3 convolution has the stride."""

    expansion = 4
    last_conv = "conv3"
    last_bn = "bn3"

    def __init__(self, channels: int, inner: int, stride: int, bn_groups: int) -> None:
        """Lead `channels` channels through `inner` to 4 inner."""
        super().__init__()
        self.conv1 = _conv(channels, inner, 1)
        self.bn1 = batch_norm_2d(inner, bn_groups)
        self.conv2 = _conv(inner, inner, 3, stride)
        self.bn2 = batch_norm_2d(inner, bn_groups)
        self.conv3 = _conv(inner, 4 * inner, 1)
        self.bn3 = batch_norm_2d(4 * inner, bn_groups)
        self.downsample = _shortcut(channels, 4 * inner, stride, bn_groups)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, 4 inner, H / stride, W / stride) of (B, channels, H, W)."""
        out = relu(self.bn1(self.conv1(x)), inplace=True)
        out = relu(self.bn2(self.conv2(out)), inplace=True)
        out = self.bn3(self.conv3(out))
        out += self.downsample(x) if self.downsample is not None else x
        return relu(out, inplace=True)


class ResNet(nn.Sequential):
    """Image encoder: stem, stages of residual blocks, global average pooling.

    It maps images (B, 3, H, W) to features (B, `feature_dim`).
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        stem: Stem,
        width: int,
        bn_groups: int,
        in_channels: int = 3,
    ) -> None:
        """Build the layers; the convolutions get their values from `initialise`.

        Args:
            architecture: blocks a stage and their kind.
            stem: 7x7 at stride 2 and max-pooling (`imagenet`); 3x3 without, at stride 1 (`cifar`)
                or 2 (`half`: for small images on a CPU).
            width: channels of the stem and of the first stage before widening; all others follow.
            bn_groups: parts of the batch with statistics of their own.
            in_channels: of the images.
        """
        imagenet, width = stem == "imagenet", width * architecture.widening
        layers = OrderedDict[str, nn.Module](
            conv1=_conv(in_channels, width, 7 if imagenet else 3, 1 if stem == "cifar" else 2),
            bn1=batch_norm_2d(width, bn_groups),
            relu=nn.ReLU(inplace=True),
            maxpool=nn.MaxPool2d(3, 2, padding=1) if imagenet else nn.Identity(),
        )
        block = Bottleneck if architecture.bottleneck else BasicBlock
        more = {"padded": True} if architecture.padded else {}
        channels = width
        for i, blocks in enumerate(architecture.blocks):
            inner = width * 2**i
            stage = nn.Sequential()
            for j in range(blocks):
                stride = 2 if i > 0 and j == 0 else 1
                stage.append(block(channels, inner, stride, bn_groups, **more))
                channels = inner * block.expansion
            layers[f"layer{i + 1}"] = stage
        super().__init__(layers | {"avgpool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten()})
        self.feature_dim = channels

    def probed_layers(self) -> dict[str, nn.Parameter]:
        """Return the weights of the last convolutions of the last two residual blocks, by name.

        This is the literal reading of DCL, App. 9, Table 18 and Figure 5: blocks, not stages. For
        resnet18 the layers are layer4.0.conv2 and layer4.1.conv2.
        """
        kinds = BasicBlock | Bottleneck
        blocks = [(name, m) for name, m in self.named_modules() if isinstance(m, kinds)]
        names = [f"{name}.{block.last_conv}" for name, block in blocks[-2:]]
        return {name: self.get_parameter(f"{name}.weight") for name in names}


def _conv(channels: int, outer: int, kernel: Literal[1, 3, 7], stride: int = 1) -> nn.Conv2d:
    padding = kernel // 2
    # On meta, where making a layer draws nothing from the global generator.
    return nn.Conv2d(channels, outer, kernel, stride, padding, bias=False, device="meta")


def _shortcut(channels: int, outer: int, stride: int, bn_groups: int) -> nn.Sequential | None:
    if channels == outer and stride == 1:
        return None
    narrow = stride > 1 and channels < NARROW
    conv = SubsampledConv(channels, outer) if narrow else _conv(channels, outer, 1, stride)
    return nn.Sequential(conv, batch_norm_2d(outer, bn_groups))
