"""Images with boxes, masks and key points from anywhere: annotations as COCO's and pixels.

Shapes: n objects of an image, P key points of each, H x W pixels.
"""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pycocotools.coco import COCO

from bench.cells.datasets import Learnt

HALF_A_PIXEL = 0.5
Pixels = npt.NDArray[np.uint8]
Read = Callable[[int], Pixels]
"""Function from the position of an image to its pixels, (H, W, 3)."""


class Objects(NamedTuple):
    """What a detector learns of an image."""

    boxes: npt.NDArray[np.float32]  # (n, 4): left, top, right and bottom, in pixels
    labels: npt.NDArray[np.int64]  # (n,): 1 is the first category, 0 would be none
    masks: Pixels  # (n, H, W), 0 or 1
    keypoints: npt.NDArray[np.float32]  # (n, P, 3): x and y in pixels, above 0 where labelled


@dataclass(frozen=True, eq=False)
class BoxedPart:
    """Images of a part: `annotations` has COCO's keys images, annotations and categories."""

    annotations: dict[str, Any]
    read: Read

    @property
    def images(self) -> list[dict[str, Any]]:
        """The records of the images, with id, width and height, in order."""
        found: list[dict[str, Any]] = self.annotations["images"]
        return found

    @cached_property
    def labels(self) -> dict[int, int]:
        """The label of each category, which counts from 1 in the order of their ids."""
        ids = sorted(category["id"] for category in self.annotations["categories"])
        return {category: label for label, category in enumerate(ids, start=1)}

    @property
    def points(self) -> list[str]:
        """The names of an object's key points, the same in all categories."""
        found: list[str] = self.annotations["categories"][0].get("keypoints", [])
        return found

    @property
    def mirrored_points(self) -> list[int]:
        """Which point each one becomes in a mirrored image: of the left those of the right."""
        names = {"left": "right", "right": "left"}
        swapped = [re.sub("left|right", lambda m: names[m[0]], name) for name in self.points]
        pairs = zip(swapped, self.points, strict=True)
        return [self.points.index(name if name in self.points else own) for name, own in pairs]

    @cached_property
    def _index(self) -> COCO:
        return indexed(self.annotations)

    @cached_property
    def learnable(self) -> npt.NDArray[np.int64]:
        """Positions of the images with an object to learn, in order."""
        rows = [i for i in range(len(self.images)) if any(True for _ in self._learnt(i))]
        return np.array(rows, dtype=np.int64)

    def objects(self, row: int, learns: Learnt) -> Objects:
        """Return the objects of an image; crowds and boxes without an area are left out.

        COCO's key points are indices of pixels; half a pixel is added, to their centres.

        Args:
            row: position of the image.
            learns: whether masks or key points are made; there are none of them otherwise.
        """
        image = self.images[row]
        height, width = image["height"], image["width"]
        learnt = list(self._learnt(row))
        boxes = np.array([box for _, box in learnt], dtype=np.float32).reshape(-1, 4)
        labels = [self.labels[a["category_id"]] for a, _ in learnt]
        drawn = [self._index.annToMask(a) for a, _ in learnt if learns == "masks"]
        masks = np.stack(drawn) if drawn else np.zeros((0, height, width), dtype=np.uint8)
        told = [a["keypoints"] for a, _ in learnt if learns == "keypoints"]
        points = np.array(told, dtype=np.float32).reshape(len(told), len(self.points), 3)
        points[:, :, :2] += HALF_A_PIXEL
        return Objects(boxes, np.array(labels, dtype=np.int64), masks, points)

    def _learnt(self, row: int) -> Iterator[tuple[dict[str, Any], tuple[float, ...]]]:
        """Yield annotations with their boxes, cut off at the image's edges."""
        image = self.images[row]
        for annotation in self._index.imgToAnns[image["id"]]:
            left, top, width, height = annotation["bbox"]
            right, bottom = min(left + width, image["width"]), min(top + height, image["height"])
            left, top = max(left, 0), max(top, 0)
            if not annotation["iscrowd"] and right > left and bottom > top:
                yield annotation, (left, top, right, bottom)


@dataclass(frozen=True, eq=False)
class BoxedSet:
    """A data set with boxes; both parts have the same categories."""

    name: str
    fingerprint: str  # 16 hex digits over annotations and images
    train: BoxedPart
    test: BoxedPart


def indexed(annotations: dict[str, Any]) -> COCO:
    """Return pycocotools' index of annotations, which are as COCO's."""
    index = COCO()
    index.dataset = annotations
    with redirect_stdout(io.StringIO()):  # it tells what it does
        index.createIndex()
    return index
