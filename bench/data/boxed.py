"""Images with boxes, masks and key points: pixels and COCO-style annotations.

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
    """Targets of a detector in one image."""

    boxes: npt.NDArray[np.float32]  # (n, 4): left, top, right and bottom, in pixels
    labels: npt.NDArray[np.int64]  # (n,): 1 is the first category, 0 would be none
    masks: Pixels  # (n, H, W), 0 or 1
    keypoints: npt.NDArray[np.float32]  # (n, P, 3): x and y in pixels, above 0 where labelled


@dataclass(frozen=True, eq=False)
class BoxedPart:
    """Images of a part; `annotations` has COCO's keys images, annotations and categories."""

    annotations: dict[str, Any]
    read: Read

    @property
    def images(self) -> list[dict[str, Any]]:
        """The records of the images, with id, width and height, in order."""
        found: list[dict[str, Any]] = self.annotations["images"]
        return found

    @cached_property
    def labels(self) -> dict[int, int]:
        """Label of each category, from 1 in the order of category ids."""
        ids = sorted(category["id"] for category in self.annotations["categories"])
        return {category: label for label, category in enumerate(ids, start=1)}

    @property
    def points(self) -> list[str]:
        """Names of an object's key points, equal for all categories."""
        found: list[str] = self.annotations["categories"][0].get("keypoints", [])
        return found

    @property
    def mirrored_points(self) -> list[int]:
        """Index of the mirror image of each key point; left and right are swapped."""
        names = {"left": "right", "right": "left"}
        swapped = [re.sub("left|right", lambda m: names[m[0]], name) for name in self.points]
        pairs = zip(swapped, self.points, strict=True)
        return [self.points.index(name if name in self.points else own) for name, own in pairs]

    @cached_property
    def _index(self) -> COCO:
        return indexed(self.annotations)

    @cached_property
    def learnable(self) -> npt.NDArray[np.int64]:
        """Indices of the images with at least one usable object, in order."""
        rows = [i for i in range(len(self.images)) if any(True for _ in self._learnt(i))]
        return np.array(rows, dtype=np.int64)

    def objects(self, row: int, learns: Learnt) -> Objects:
        """Return the objects of an image, except crowds and boxes without area.

        COCO's key points are pixel indices. Half a pixel is added to get pixel centres.

        Args:
            row: index of the image.
            learns: targets of the detector. Masks and key points are empty unless requested.
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
    """Return the pycocotools index of COCO-style annotations."""
    index = COCO()
    index.dataset = annotations
    with redirect_stdout(io.StringIO()):  # it tells what it does
        index.createIndex()
    return index
