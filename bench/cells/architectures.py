"""What the encoders are made of, and what a forward pass of one costs."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

Stem = Literal["imagenet", "cifar", "half"]
Arch = Literal["small", "small-alexnet", "resnet18", "resnet50", "resnet50-2x", "resnet50-4x"]


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


TIMM, TIMM_WIDTH = ("resnet18", "resnet50"), 64  # networks that timm has, at this width

SMALL_ALEXNET = "small-alexnet"
ALEXNET_POOLED = (1, 2, 5)  # its convolutions that 3x3 maxima at stride 2 follow


def alexnet_channels(width: int) -> tuple[int, ...]:
    """Return the channels of the small AlexNet's five convolutions; 96 to 192 at width 64."""
    return tuple(width * part // 2 for part in (3, 6, 12, 12, 6))


def alexnet_units(width: int) -> int:
    """Return the units of its two full layers; 4096 at width 64."""
    return 64 * width


def alexnet_size(size: int) -> int:
    """Return height and width behind its last pooling."""
    for _ in ALEXNET_POOLED:
        size = (size - 3) // 2 + 1
    return size


def features_of(arch: str, width: int) -> int:
    """Return how many features come out of an encoder.

    Raises:
        ValueError: no such architecture.
    """
    return alexnet_units(width) if arch == SMALL_ALEXNET else architecture(arch).features(width)


def architecture(arch: str) -> Architecture:
    """Return what `arch` names, a residual network.

    Raises:
        ValueError: no such architecture.
    """
    if arch not in ARCHITECTURES:
        raise ValueError(f"arch must be one of {', '.join(ARCHITECTURES)}, found {arch!r}")
    return ARCHITECTURES[arch]


def timm_name(arch: str, stem: Stem, width: int, colour: str) -> str | None:
    """Return what timm calls the network, whose parameters have the same names; None: nothing.

    Args:
        arch: name of the architecture.
        stem: the first layers.
        width: channels of the first block.
        colour: which channels the encoder sees.
    """
    same = stem == "imagenet" and width == TIMM_WIDTH and colour == "rgb"
    return arch if same and arch in TIMM else None


def multiply_adds(arch: str, stem: Stem, width: int, image_size: int) -> float:
    """Return the multiply-adds of one forward pass of one image through an encoder.

    Convolutions alone, and full layers within it, as papers count them: normalisation, ReLU,
    addition and pooling are left out, and so is what stands behind the encoder.

    Args:
        arch: a name in `ARCHITECTURES`, or `small-alexnet`.
        stem: 7x7 at stride 2 with max-pooling (`imagenet`), or 3x3 at stride 1 (`cifar`) or 2
            (`half`).
        width: channels of the first stage before 2x and 4x.
        image_size: height and width of the image, pixels.

    Raises:
        ValueError: no such architecture.
    """
    return float(sum(layer.multiply_adds for layer in _layers(arch, stem, width, image_size)))


def activations(arch: str, stem: Stem, width: int, image_size: int) -> float:
    """Return how many numbers the same layers put out for one image: what memory must move.

    Args and Raises as for `multiply_adds`.
    """
    return float(sum(layer.numbers for layer in _layers(arch, stem, width, image_size)))


def weights(arch: str, stem: Stem, width: int, image_size: int) -> float:
    """Return how many weights the same layers have.

    Args and Raises as for `multiply_adds`.
    """
    return float(sum(layer.weights for layer in _layers(arch, stem, width, image_size)))


def pyramid_places(arch: str, stem: Stem, image_size: int) -> int:
    """Return how many places the outputs of all stages have, for one image.

    Args and Raises as for `multiply_adds`.
    """
    return sum(size**2 for size in _stage_sizes(architecture(arch), stem, image_size))


def last_stage_activations(arch: str, width: int, size: int) -> float:
    """Return how many numbers the layers of the last stage put out for what goes into it.

    Args:
        arch: a residual network.
        width: channels of the first stage before 2x and 4x.
        size: height and width of what goes in.

    Raises:
        ValueError: no such architecture.
    """
    shape = architecture(arch)
    return float(sum(x.numbers for x in _stage(shape, width, len(shape.blocks) - 1, size)))


class Layer(NamedTuple):
    """A convolution, or a full layer, which has one place."""

    places: int  # of what it puts out
    inputs: int  # of one place
    channels: int

    @property
    def weights(self) -> int:
        """How many it has."""
        return self.inputs * self.channels

    @property
    def numbers(self) -> int:
        """How many it puts out."""
        return self.places * self.channels

    @property
    def multiply_adds(self) -> int:
        """Of one image."""
        return self.places * self.weights


def _layers(arch: str, stem: Stem, width: int, image_size: int) -> Iterator[Layer]:
    if arch == SMALL_ALEXNET:
        return _of_alexnet(width, image_size)
    return _convolutions(architecture(arch), stem, width, image_size)


def _of_alexnet(width: int, size: int) -> Iterator[Layer]:
    """Yield each layer of the small AlexNet."""
    channels, units = alexnet_channels(width), alexnet_units(width)
    for i, (before, after) in enumerate(pairwise((3, *channels)), start=1):
        yield _convolution(size, 9 * before, after)
        size = (size - 3) // 2 + 1 if i in ALEXNET_POOLED else size
    yield Layer(1, channels[-1] * size**2, units)
    yield Layer(1, units, units)


def _convolution(size: int, inputs: int, channels: int) -> Layer:
    """Return a layer that puts out `channels` numbers a pixel, each of so many inputs."""
    return Layer(size**2, inputs, channels)


def _convolutions(architecture: Architecture, stem: Stem, width: int, size: int) -> Iterator[Layer]:
    """Yield the stem and each convolution of each block; a halving rounds the size up."""
    channels = width * architecture.widening
    kernel = 7 if stem == "imagenet" else 3
    yield _convolution(size if stem == "cifar" else _half(size), 3 * kernel**2, channels)
    before = _behind_stem(stem, size)
    for stage, after in enumerate(_stage_sizes(architecture, stem, size)):
        yield from _stage(architecture, width, stage, before)
        before = after


def _behind_stem(stem: Stem, size: int) -> int:
    halvings = {"cifar": 0, "half": 1, "imagenet": 2}[stem]
    for _ in range(halvings):
        size = _half(size)
    return size


def _stage_sizes(architecture: Architecture, stem: Stem, size: int) -> list[int]:
    """Return height and width behind each stage."""
    sizes = [_behind_stem(stem, size)]
    while len(sizes) < len(architecture.blocks):
        sizes.append(_half(sizes[-1]))
    return sizes


def _stage(architecture: Architecture, width: int, stage: int, size: int) -> Iterator[Layer]:
    """Yield each convolution of a stage, into which images of this size go."""
    inner = width * architecture.widening * 2**stage
    outer = inner * 4 if architecture.bottleneck else inner
    into = inner if stage == 0 else outer // 2
    for block in range(architecture.blocks[stage]):
        channels = into if block == 0 else outer
        before = size
        size = _half(size) if stage > 0 and block == 0 else size
        if architecture.bottleneck:
            yield _convolution(before, channels, inner)
            yield _convolution(size, 9 * inner, inner)
            yield _convolution(size, inner, outer)
        else:
            yield _convolution(size, 9 * channels, inner)
            yield _convolution(size, 9 * outer, inner)
        if channels != outer and not architecture.padded:
            yield _convolution(size, channels, outer)


def _half(size: int) -> int:
    return (size + 1) // 2
