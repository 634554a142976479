"""Layer counts and widths of the encoders."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

OF_TIMM = "timm:"
"""Prefix of the names of timm's networks."""
Timm = Annotated[str, Field(pattern=rf"^{OF_TIMM}[A-Za-z0-9_]+$")]
Stem = Literal["imagenet", "cifar", "half"]
Arch = (
    Literal["small", "small-alexnet", "resnet18", "resnet50", "resnet50-2x", "resnet50-4x"] | Timm
)


class Architecture(NamedTuple):
    """A residual network: blocks per stage, block type and width.

    Stage i has widening * width * 2**i channels, times 4 for bottleneck blocks. Each stage after
    the first halves height and width.
    """

    blocks: tuple[int, ...]
    bottleneck: bool = False
    widening: int = 1
    padded: bool = False  # shortcuts without parameters: every other pixel, zeros as new channels


ARCHITECTURES: dict[str, Architecture] = {
    "small": Architecture((1, 1, 1)),
    # CIFAR's, arXiv:1512.03385, Sec. 4.2: 16, 32 and 64 channels at width 16, shortcuts of option A
    "resnet20": Architecture((3, 3, 3), padded=True),
    "resnet18": Architecture((2, 2, 2, 2)),
    "resnet50": Architecture((3, 4, 6, 3), bottleneck=True),
    "resnet50-2x": Architecture((3, 4, 6, 3), bottleneck=True, widening=2),
    "resnet50-4x": Architecture((3, 4, 6, 3), bottleneck=True, widening=4),
}


TIMM, TIMM_WIDTH = ("resnet18", "resnet50"), 64  # networks that timm has, at this width

SMALL_ALEXNET = "small-alexnet"
ALEXNET_POOLED = (1, 2, 5)  # its convolutions that 3x3 maxima at stride 2 follow


def alexnet_channels(width: int) -> tuple[int, ...]:
    """Return the channels of the small AlexNet's five convolutions; 96 to 192 at width 64."""
    return tuple(width * part // 2 for part in (3, 6, 12, 12, 6))


def alexnet_units(width: int) -> int:
    """Return the units of the small AlexNet's two fully connected layers; 4096 at width 64."""
    return 64 * width


def alexnet_size(size: int) -> int:
    """Return the height and width after the last pooling layer of the small AlexNet."""
    for _ in ALEXNET_POOLED:
        size = (size - 3) // 2 + 1
    return size


def timm_name(arch: str, stem: Stem, width: int, colour: str) -> str | None:
    """Return the network's name in timm; None if timm has no network with these parameters.

    Args:
        arch: name of the architecture.
        stem: type of the first layers.
        width: channels of the first block.
        colour: input channels of the encoder.
    """
    same = stem == "imagenet" and width == TIMM_WIDTH and colour == "rgb"
    return arch if same and arch in TIMM else None
