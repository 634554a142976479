"""Any data set with boxes, by its name."""

from pathlib import Path

from bench.cells.datasets import SHAPES
from bench.data.boxed import BoxedSet
from bench.data.coco_folder import load_coco_folder
from bench.data.shapes import draw_shapes


def load_boxed(name: str, root: Path, *, with_masks: bool) -> BoxedSet:
    """Return a data set with boxes: the shapes, or a folder below `root` in COCO format.

    Args:
        name: of the data set.
        root: the folder of data sets.
        with_masks: whether every object needs a mask.

    Raises:
        DataMissing: it is not there.
        DataTorn: an annotation is not as COCO writes it, or an image is missing.
    """
    if name == SHAPES:
        return draw_shapes()
    return load_coco_folder(name, root, with_masks=with_masks)
