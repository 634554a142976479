"""What the encoders are made of, and what a forward pass of one costs."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

Stem = Literal["imagenet", "cifar", "half"]


class Architecture(NamedTuple):
    """A residual network: its blocks a stage, what kind of block it repeats, how wide it is.

    Stage i has widening * width * 2**i channels, times 4 behind bottlenecks; every stage after the
    first halves height and width.
    """

    blocks: tuple[int, ...]
    bottleneck: bool = False
    widening: int = 1
    padded: bool = False  # shortcuts without parameters: every other pixel, zeros as new channels

    def features(self, width: int) -> int:
        """Return how many features come out, `width` channels being in the first stage."""
        channels: int = width * self.widening * 2 ** (len(self.blocks) - 1)
        return channels * (4 if self.bottleneck else 1)


ARCHITECTURES: dict[str, Architecture] = {
    "small": Architecture((1, 1, 1)),
    # CIFAR's, arXiv:1512.03385, Sec. 4.2: 16, 32 and 64 channels at width 16, shortcuts of option A
    "resnet20": Architecture((3, 3, 3), padded=True),
    "resnet18": Architecture((2, 2, 2, 2)),
    "resnet50": Architecture((3, 4, 6, 3), bottleneck=True),
    "resnet50-2x": Architecture((3, 4, 6, 3), bottleneck=True, widening=2),
    "resnet50-4x": Architecture((3, 4, 6, 3), bottleneck=True, widening=4),
}


def architecture(arch: str) -> Architecture:
    """Return what `arch` names.

    Raises:
        ValueError: no such architecture.
    """
    if arch not in ARCHITECTURES:
        raise ValueError(f"arch must be one of {', '.join(ARCHITECTURES)}, found {arch!r}")
    return ARCHITECTURES[arch]


def network_text(arch: str, stem: Stem, width: int, image_size: int) -> str:
    """Return in words an encoder and the size of its images; see `multiply_adds`."""
    return f"{arch}/{stem} width {width} {image_size} px"


def multiply_adds(arch: str, stem: Stem, width: int, image_size: int) -> float:
    """Return the multiply-adds of one forward pass of one image through an encoder.

    Convolutions alone, as papers count them: normalisation, ReLU, addition and pooling are left
    out, and so is what stands behind the encoder.

    Args:
        arch: a name in `ARCHITECTURES`.
        stem: 7x7 at stride 2 with max-pooling (`imagenet`), or 3x3 at stride 1 (`cifar`) or 2
            (`half`).
        width: channels of the first stage before 2x and 4x.
        image_size: height and width of the image, pixels.

    Raises:
        ValueError: no such architecture.
    """
    return float(sum(_convolutions(architecture(arch), stem, width, image_size)))


def _convolutions(architecture: Architecture, stem: Stem, width: int, size: int) -> Iterator[int]:
    """Yield the multiply-adds of the stem and of each block; a halving rounds the size up."""
    width *= architecture.widening
    if stem == "imagenet":
        size = _half(size)
        yield size**2 * 49 * 3 * width
        size = _half(size)
    else:
        size = _half(size) if stem == "half" else size
        yield size**2 * 9 * 3 * width
    channels = width
    for stage, blocks in enumerate(architecture.blocks):
        inner = width * 2**stage
        outer = inner * 4 if architecture.bottleneck else inner
        for block in range(blocks):
            before = size
            size = _half(size) if stage > 0 and block == 0 else size
            projected = channels != outer and not architecture.padded
            shortcut = channels * outer if projected else 0
            if architecture.bottleneck:
                yield before**2 * channels * inner + size**2 * (9 * inner + outer) * inner
            else:
                yield size**2 * 9 * (channels + outer) * inner
            yield size**2 * shortcut
            channels = outer


def _half(size: int) -> int:
    return (size + 1) // 2
