"""Images with boxes and masks: how many the known data sets have."""

from typing import NamedTuple

SHAPES = "shapes"
"""The data set that is drawn in code; every other one is a folder in COCO format."""


class BoxedImages(NamedTuple):
    """Images by part."""

    train: int
    test: int


SIZES: dict[str, BoxedImages] = {
    SHAPES: BoxedImages(200, 100),
    "coco": BoxedImages(118_287, 5000),
    "voc07": BoxedImages(5011, 4952),
    "voc07+12": BoxedImages(16_551, 4952),
}
GUESS = SIZES["coco"]
"""Of a data set that is not known."""
