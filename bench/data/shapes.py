"""Generated images of shapes (discs, squares, triangles) on noise, with boxes and masks.

`shapes-keypoints` has the same images with three key points per shape. `shapes-long-tail` has more
kinds of shapes, most of them rare. Like LVIS (arXiv:1908.03195), it is labelled incompletely: each
image has labels for some kinds only, and for some kinds not all objects are labelled.
"""

import json
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
from pycocotools import mask as rle

from bench.cells.datasets import BOXED_SETS, KEY_SHAPES, SHAPES, TAIL_SHAPES
from bench.data.boxed import BoxedPart, BoxedSet, Pixels
from bench.data.images import fingerprint_of
from bench.data.streams import Purpose, stream

SIDE = 64  # pixels of an image
KINDS = ("disc", "square", "triangle")
TAIL = {
    "disc": 0.37, "square": 0.35, "triangle": 0.08, "diamond": 0.07, "cross": 0.06, "bar": 0.05,
    "dome": 0.01, "ring": 0.01,
}  # fmt: skip
"""Kinds of the long tail and their shares of the training objects; test images have equal
shares."""
POINTS = ("top", "left", "right")
RARE, COMMON = 10, 100  # training images that a category of this frequency has at most
LEFT_OUT, IN_PART, DENIED = 0.3, 0.5, 0.5
"""Of the long tail, the probability that an image with several kinds is not labelled for one of
them, that several objects of a kind are not all labelled, and that the absence of a kind is."""
RADII = (5, 14)  # from the centre to the edge, pixels
MOST_OBJECTS = 4
TRIES = 20  # to place an object apart from the others
GRAIN = 12  # standard deviation of a pixel of the ground


@cache
def draw_shapes(name: str = SHAPES) -> BoxedSet:
    """Return a generated data set, identical on every machine.

    Args:
        name: `shapes`, `shapes-keypoints` or `shapes-long-tail`.
    """
    size = BOXED_SETS[name]
    parts = [_part(name, which, count) for which, count in enumerate((size.train, size.test))]
    if name == TAIL_SHAPES:
        _state_frequencies(*(part.annotations for part in parts))
    told = (json.dumps(part.annotations, sort_keys=True).encode() for part in parts)
    pixels = (part.read(i).tobytes() for part in parts for i in range(len(part.images)))
    return BoxedSet(name, fingerprint_of([*told, *pixels]), *parts)


def _part(name: str, which: int, count: int) -> BoxedPart:
    tail = name == TAIL_SHAPES
    kinds, own = (tuple(TAIL), (2,)) if tail else (KINDS, ())
    shares = np.array([*TAIL.values()]) if tail and which == 0 else None
    pixels: list[Pixels] = []
    annotations: list[dict[str, Any]] = []
    images: list[dict[str, Any]] = [
        {"id": i + 1, "width": SIDE, "height": SIDE} for i in range(count)
    ]
    for number in range(count):
        draw = stream(0, Purpose.DATA, SIDE, *own, which, number)
        ground, found = _scene(draw, kinds, shares, with_points=name == KEY_SHAPES)
        pixels.append(ground)
        if tail:
            found, lists = _labelled(draw, found)
            images[number] |= lists
        for annotation in found:
            annotation |= {"id": len(annotations) + 1, "image_id": number + 1}
            annotations.append(annotation)
    points = {"keypoints": list(POINTS)} if name == KEY_SHAPES else {}
    categories = [{"id": i + 1, "name": kind} | points for i, kind in enumerate(kinds)]
    truth = {"images": images, "annotations": annotations, "categories": categories}
    return BoxedPart(truth, pixels.__getitem__)


def _labelled(
    draw: np.random.Generator, found: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], dict[str, list[int]]]:
    """Return the objects of an image that are labelled, and LVIS's two lists of categories."""
    counts = Counter(annotation["category_id"] for annotation in found)
    unseen = int(draw.choice([*counts])) if len(counts) > 1 and draw.random() < LEFT_OUT else None
    in_part = {k for k, n in counts.items() if n > 1 and k != unseen and draw.random() < IN_PART}
    first = {annotation["category_id"]: annotation for annotation in reversed(found)}
    kept = [
        annotation
        for annotation in found
        if (kind := annotation["category_id"]) != unseen
        and (kind not in in_part or annotation is first[kind])
    ]
    absent = [kind for kind in range(1, len(TAIL) + 1) if kind not in counts]
    denied = [kind for kind in absent if draw.random() < DENIED]
    return kept, {"neg_category_ids": denied, "not_exhaustive_category_ids": sorted(in_part)}


def _state_frequencies(train: dict[str, Any], test: dict[str, Any]) -> None:
    """State the frequency of each category: rare, common or frequent in training images."""
    pairs = {(a["category_id"], a["image_id"]) for a in train["annotations"]}
    images = Counter(category for category, _ in pairs)
    for category in (*train["categories"], *test["categories"]):
        seen = images[category["id"]]
        category["frequency"] = "r" if seen <= RARE else "c" if seen <= COMMON else "f"


def _scene(
    draw: np.random.Generator,
    kinds: tuple[str, ...],
    shares: np.ndarray[Any, np.dtype[np.float64]] | None,
    *,
    with_points: bool,
) -> tuple[Pixels, list[dict[str, Any]]]:
    """Return an image and its objects, of kinds with these shares; none touches another."""
    ground = draw.integers(60, 196, 3) + draw.normal(0, GRAIN, (SIDE, SIDE, 1))
    taken = np.zeros((SIDE, SIDE), dtype=bool)
    found = []
    for _ in range(draw.integers(1, MOST_OBJECTS + 1)):
        for _ in range(TRIES):
            kind = int(
                draw.integers(len(kinds)) if shares is None else draw.choice(len(kinds), p=shares)
            )
            radius = int(draw.integers(*RADII))
            row, column = draw.integers(radius, SIDE - radius, 2)
            shape = filled(kinds[kind], row, column, radius)
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
        if with_points:
            found[-1] |= _points(kinds[kind], int(row), int(column), radius)
    return ground.clip(0, 255).astype(np.uint8), found


def filled(kind: str, row: int, column: int, radius: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return the pixels of a shape around a centre, (SIDE, SIDE)."""
    down, right = np.ogrid[:SIDE, :SIDE]
    down, right = down - row, right - column
    if kind == "disc":
        inside = down**2 + right**2 <= radius**2
    elif kind == "square":
        inside = (abs(down) <= radius) & (abs(right) <= radius)
    elif kind == "triangle":
        inside = (abs(down) <= radius) & (2 * abs(right) <= down + radius)
    elif kind == "diamond":
        inside = abs(down) + abs(right) <= radius
    elif kind == "cross":
        inside = (np.minimum(abs(down), abs(right)) <= radius // 3) & (
            np.maximum(abs(down), abs(right)) <= radius
        )
    elif kind == "bar":
        inside = (abs(down) <= radius // 3) & (abs(right) <= radius)
    elif kind == "dome":
        inside = (down**2 + right**2 <= radius**2) & (down <= 0)
    else:
        inside = (down**2 + right**2 <= radius**2) & (4 * (down**2 + right**2) >= radius**2)
    return np.asarray(inside)


def _points(kind: str, row: int, column: int, radius: int) -> dict[str, Any]:
    """Return the key points of a shape around a centre, as COCO writes them; all are visible."""
    low = row + radius if kind == "triangle" else row
    places = [(column, row - radius), (column - radius, low), (column + radius, low)]
    return {
        "keypoints": [number for x, y in places for number in (x, y, 2)],
        "num_keypoints": len(places),
    }


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
