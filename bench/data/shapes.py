"""Drawn shapes with their boxes and masks: discs, squares and triangles on a grainy ground."""

import json
from functools import cache
from typing import Any

import numpy as np
from pycocotools import mask as rle

from bench.cells.datasets import BOXED_SETS, SHAPES
from bench.data.boxed import BoxedPart, BoxedSet, Pixels
from bench.data.images import fingerprint_of
from bench.data.streams import Purpose, stream

SIDE = 64  # pixels of an image
KINDS = ("disc", "square", "triangle")
RADII = (5, 14)  # from the centre to the edge, pixels
MOST_OBJECTS = 4
TRIES = 20  # to place an object apart from the others
GRAIN = 12  # standard deviation of a pixel of the ground


@cache
def draw_shapes() -> BoxedSet:
    """Return the data set, which is the same everywhere."""
    size = BOXED_SETS[SHAPES]
    parts = [_part(which, count) for which, count in enumerate((size.train, size.test))]
    told = (json.dumps(part.annotations, sort_keys=True).encode() for part in parts)
    pixels = (part.read(i).tobytes() for part in parts for i in range(len(part.images)))
    return BoxedSet(SHAPES, fingerprint_of([*told, *pixels]), *parts)


def _part(which: int, count: int) -> BoxedPart:
    pixels: list[Pixels] = []
    annotations: list[dict[str, Any]] = []
    for number in range(count):
        ground, found = _scene(stream(0, Purpose.DATA, SIDE, which, number))
        pixels.append(ground)
        for annotation in found:
            annotation |= {"id": len(annotations) + 1, "image_id": number + 1}
            annotations.append(annotation)
    images = [{"id": i + 1, "width": SIDE, "height": SIDE} for i in range(count)]
    categories = [{"id": i + 1, "name": name} for i, name in enumerate(KINDS)]
    truth = {"images": images, "annotations": annotations, "categories": categories}
    return BoxedPart(truth, pixels.__getitem__)


def _scene(draw: np.random.Generator) -> tuple[Pixels, list[dict[str, Any]]]:
    """Return an image and its objects; none of them touches another."""
    ground = draw.integers(60, 196, 3) + draw.normal(0, GRAIN, (SIDE, SIDE, 1))
    taken = np.zeros((SIDE, SIDE), dtype=bool)
    found = []
    for _ in range(draw.integers(1, MOST_OBJECTS + 1)):
        for _ in range(TRIES):
            kind, radius = int(draw.integers(len(KINDS))), int(draw.integers(*RADII))
            row, column = draw.integers(radius, SIDE - radius, 2)
            shape = _filled(KINDS[kind], row, column, radius)
            if not (taken & shape).any():
                break
        else:
            continue
        taken |= shape
        far = np.where(
            draw.integers(0, 2, 3) == 0, draw.integers(0, 40, 3), draw.integers(216, 256, 3)
        )
        ground = np.where(shape[:, :, None], far, ground)
        found.append({"category_id": kind + 1, "iscrowd": 0} | _outline(shape))
    return ground.clip(0, 255).astype(np.uint8), found


def _filled(kind: str, row: int, column: int, radius: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return the pixels of a shape around a centre, (SIDE, SIDE)."""
    down, right = np.ogrid[:SIDE, :SIDE]
    down, right = down - row, right - column
    if kind == "disc":
        inside = down**2 + right**2 <= radius**2
    elif kind == "square":
        inside = (abs(down) <= radius) & (abs(right) <= radius)
    else:
        inside = (abs(down) <= radius) & (2 * abs(right) <= down + radius)
    return np.asarray(inside)


def _outline(shape: np.ndarray[Any, np.dtype[np.bool_]]) -> dict[str, Any]:
    """Return the box, the area and the run lengths of a shape, as COCO writes them."""
    rows, columns = np.flatnonzero(shape.any(axis=1)), np.flatnonzero(shape.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    box = [left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top]
    packed = rle.encode(np.asfortranarray(shape, dtype=np.uint8))
    counts = packed["counts"].decode()
    return {
        "bbox": box,
        "area": int(shape.sum()),
        "segmentation": {"size": [SIDE, SIDE], "counts": counts},
    }
