"""Description of a scale: images, network and epochs, or the published protocol."""

from collections.abc import Sequence
from typing import Any

from bench.cells.cell import Cell
from bench.cells.datasets import words_of
from bench.text import counted

PUBLISHED = "published protocol"
REDUCED = "reduced protocol"
MOST_PHRASES = 2  # of data sets
NETWORKS = {"resnet18": "ResNet-18", "resnet20": "ResNet-20", "resnet50": "ResNet-50"}


def scale_words(cells: Sequence[Cell], *, published: bool) -> str:
    """Return `published protocol`, or the data set, network and epochs common to all cells.

    Example: `digits at 16x16, small network, 20 epochs`.

    Args:
        cells: cells of the scale, without baselines.
        published: whether the scale follows the published protocol.
    """
    if published:
        return PUBLISHED
    described = [(data_words(cell.settings), cell.known.get("epochs")) for cell in cells]
    phrases = list(dict.fromkeys(phrase for phrase, _ in described if phrase is not None))
    if not phrases:
        return REDUCED
    words = " and ".join(phrases) if len(phrases) <= MOST_PHRASES else f"{len(phrases)} data sets"
    lengths = {epochs for phrase, epochs in described if phrase is not None}
    one = lengths.pop() if len(lengths) == 1 else None
    return words if one is None else f"{words}, {counted(one, 'epoch')}"


def data_words(settings: dict[str, Any]) -> str | None:
    """Return data set and network of a cell; for detection the detector's; None for toys."""
    name = settings.get("dataset")
    if name is None:
        return None
    images = settings.get("train_images")
    data = words_of(name)
    words = f"{images:,} images of {data}" if images else data
    size, network = settings.get("image_size"), settings.get("arch")
    words += f" at {size}x{size}" if size else ""
    words = f"{words}, {NETWORKS.get(network, network)}{_kind(network)}" if network else words
    boxed = settings.get("detect_dataset")
    return f"{words_of(boxed)} after {words}" if boxed else words


def _kind(network: str) -> str:
    return "" if network in NETWORKS else " network"
