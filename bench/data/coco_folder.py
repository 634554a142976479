"""Data sets with boxes by name: the drawn shapes, or a folder in COCO format.

A folder's annotations are checked record by record. It has never read COCO itself: the tests write
small folders in its format.
"""

import json
import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from bench.cells.datasets import SHAPES
from bench.data.boxed import BoxedPart, BoxedSet, Pixels
from bench.data.catalogue import PartFiles, part_files
from bench.data.decode import read_image
from bench.data.images import fingerprint_of
from bench.data.shapes import draw_shapes
from bench.errors import DataTorn

Entry = dict[str, Any]
LEAST_OF_POLYGON = 6  # numbers: three corners


def load_coco_folder(name: str, root: Path, *, with_masks: bool) -> BoxedSet:
    """Return a data set with boxes from `<root>/<name>`; `bench/data/catalogue.py` says where.

    Args:
        name: of the folder.
        root: the folder of data sets.
        with_masks: whether every object needs a mask.

    Raises:
        DataMissing: there is no such folder, or it lacks a part.
        DataTorn: an annotation is not as COCO writes it, or an image is missing.
    """
    files = {part: part_files(name, root, part) for part in ("train", "test")}
    truths = [read_annotations(own.annotations, with_masks=with_masks) for own in files.values()]
    ids = [sorted(category["id"] for category in truth["categories"]) for truth in truths]
    if ids[0] != ids[1]:
        raise DataTorn(f"{files['test'].annotations}: its categories are not those of train")
    pairs = list(zip(files.values(), truths, strict=True))
    signed = [line for own, truth in pairs for line in _signed(own, truth)]
    parts = [
        BoxedPart(truth, partial(_pixels, own.images, truth["images"])) for own, truth in pairs
    ]
    return BoxedSet(name, fingerprint_of(signed), *parts)


def read_annotations(path: Path, *, with_masks: bool) -> Entry:
    """Return what a file of annotations holds, each record with `area` and `iscrowd`.

    Args:
        path: the file.
        with_masks: whether every object needs a mask.

    Raises:
        DataTorn: it is no JSON, or a record is not as COCO writes it; the line says which.
    """
    try:
        truth = json.loads(path.read_bytes())
    except (OSError, ValueError) as fault:
        raise DataTorn(f"{path}: cannot be read as JSON: {fault}") from fault
    lists = ("images", "annotations", "categories")
    if not isinstance(truth, dict) or not all(isinstance(truth.get(k), list) for k in lists):
        raise DataTorn(f"{path}: needs the lists {', '.join(lists)}")
    for key, check in (("images", _image_fault), ("categories", lambda _: None)):
        _check(path, truth, key, check)
    known = {key: {entry["id"] for entry in truth[key]} for key in ("images", "categories")}
    _check(path, truth, "annotations", partial(_object_fault, known, with_masks=with_masks))
    objects = [
        {"area": entry["bbox"][2] * entry["bbox"][3], "iscrowd": 0} | entry
        for entry in truth["annotations"]
    ]
    return {key: truth[key] for key in lists} | {"annotations": objects}


def _check(path: Path, truth: Entry, key: str, fault: Callable[[Entry], str | None]) -> None:
    """Raise a DataTorn for the first record of a list that has no id of its own or a fault."""
    seen: set[int] = set()
    for place, entry in enumerate(truth[key]):
        if not isinstance(entry, dict) or type(entry.get("id")) is not int:
            why: str | None = "needs a whole number as id"
        elif entry["id"] in seen:
            why = f"the id {entry['id']} stands twice"
        else:
            why = fault(entry)
            seen.add(entry["id"])
        if why is not None:
            raise DataTorn(f"{path}: {key}[{place}]: {why}")
    if not truth[key]:
        raise DataTorn(f"{path}: {key} is empty")


def _image_fault(entry: Entry) -> str | None:
    name = entry.get("file_name")
    if not isinstance(name, str) or not name:
        return "needs a file_name"
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        return f"file_name {name!r} leads out of the folder of images"
    for side in ("width", "height"):
        if type(entry.get(side)) is not int or entry[side] < 1:
            return f"{side} must be a whole number above 0, found {entry.get(side)!r}"
    return None


def _object_fault(known: dict[str, set[int]], entry: Entry, *, with_masks: bool) -> str | None:
    for key, table in (("image_id", "images"), ("category_id", "categories")):
        if entry.get(key) not in known[table]:
            return f"{key} {entry.get(key)!r} is none of {table}"
    box = entry.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(map(_is_number, box)):
        return f"bbox must be 4 numbers (left, top, width, height), found {box!r}"
    if not _is_number(entry.get("area", 0)) or entry.get("iscrowd", 0) not in (0, 1):
        return "area must be a number, and iscrowd 0 or 1"
    return _mask_fault(entry.get("segmentation")) if with_masks else None


def _mask_fault(found: Any) -> str | None:
    if isinstance(found, dict):
        runs = isinstance(found.get("counts"), list | str)
        sides = isinstance(found.get("size"), list) and len(found["size"]) == 2
        return None if runs and sides else "segmentation needs counts, and a size of 2 numbers"
    if not isinstance(found, list) or not found:
        return "has no segmentation, which detector 'mask-rcnn' needs"
    for polygon in found:
        even = isinstance(polygon, list) and len(polygon) % 2 == 0
        if not even or len(polygon) < LEAST_OF_POLYGON or not all(map(_is_number, polygon)):
            return "a polygon of segmentation must have an even count of numbers, at least 6"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _signed(files: PartFiles, truth: Entry) -> Iterator[bytes]:
    """Yield the annotations' bytes, and the name and size of each image.

    Raises:
        DataTorn: an image is missing.
    """
    yield files.annotations.read_bytes()
    for place, image in enumerate(truth["images"]):
        path = files.images / image["file_name"]
        try:
            size = os.stat(path).st_size
        except OSError as fault:
            where = f"{files.annotations}: images[{place}]"
            raise DataTorn(f"{where}: there is no file {path}") from fault
        yield f"{image['file_name']} {size}".encode()


def _pixels(folder: Path, images: list[Entry], row: int) -> Pixels:
    """Return the pixels (H, W, 3) of an image.

    Raises:
        DataTorn: it cannot be decoded, or has another size than its record says.
    """
    path, image = folder / images[row]["file_name"], images[row]
    pixels = np.asarray(read_image(path))
    if pixels.shape[:2] != (image["height"], image["width"]):
        height, width = pixels.shape[:2]
        told = f"{image['width']} x {image['height']}"
        raise DataTorn(f"{path}: has {width} x {height} pixels, its annotations say {told}")
    return pixels


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
