"""Data sets with boxes: generated shapes, or a folder in the format of COCO or LVIS.

Each annotation record is checked. This module was tested with small folders in these formats, but
not with COCO or LVIS.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from bench.cells.datasets import DRAWN, Learnt
from bench.data.boxed import BoxedPart, BoxedSet, Pixels
from bench.data.catalogue import Part, PartFiles, part_files
from bench.data.decode import read_image
from bench.data.images import fingerprint_of
from bench.data.shapes import draw_shapes
from bench.errors import DataTorn

CocoEntry = dict[str, Any]
FREQUENCIES = ("r", "c", "f")  # of LVIS: up to 10 training images, up to 100, more
NEGATIVE, NOT_EXHAUSTIVE = "neg_category_ids", "not_exhaustive_category_ids"
LEAST_OF_POLYGON = 6  # numbers: three corners
LARGEST = 10**9
FURTHEST = 10**5  # pixels, of a corner: pycocotools walks along an edge point by point


def load_coco_folder(name: str, root: Path, learns: Learnt) -> BoxedSet:
    """Return a data set with boxes from `<root>/<name>`; see `bench/data/catalogue.py`.

    Args:
        name: name of the folder.
        root: the folder of data sets.
        learns: targets of the detector, which every object must have.

    Raises:
        DataMissing: the folder or one of its parts is missing.
        DataTorn: an annotation violates COCO's format, or an image is missing.
    """
    parts: tuple[Part, ...] = ("train", "test")
    files = {part: part_files(name, root, part, learns) for part in parts}
    truths = [read_annotations(own.annotations, learns) for own in files.values()]
    _check_same_categories(files, truths[0]["categories"], truths[1]["categories"], learns)
    pairs = list(zip(files.values(), truths, strict=True))
    signed = [line for own, truth in pairs for line in _signed(own, truth)]
    boxed = [
        BoxedPart(truth, partial(_pixels, own.images, truth["images"])) for own, truth in pairs
    ]
    return BoxedSet(name, fingerprint_of(signed), *boxed)


def _check_same_categories(
    files: dict[Part, PartFiles], train: list[CocoEntry], test: list[CocoEntry], learns: Learnt
) -> None:
    """Raise a DataTorn for the first category that the test part alone has, or has otherwise."""
    path, learnt = files["test"].annotations, {entry["id"]: entry for entry in train}
    if lost := learnt.keys() - {entry["id"] for entry in test}:
        name = learnt[min(lost)].get("name")
        raise DataTorn(
            f"{path}: categories: the category with id {min(lost)} ({name}) of the "
            "train part is missing"
        )
    keys = ("name", "frequency", *(["keypoints"] if learns == "keypoints" else []))
    for place, entry in enumerate(test):
        at = f"{path}: categories[{place}]: id {entry['id']}"
        if (own := learnt.get(entry["id"])) is None:
            raise DataTorn(f"{at} ({entry.get('name')}) is not a category of the train part")
        for key in keys:
            if entry.get(key) != own.get(key):
                raise DataTorn(
                    f"{at} has {key} {entry.get(key)!r} in this part, but "
                    f"{own.get(key)!r} in the train part"
                )


def read_annotations(path: Path, learns: Learnt) -> CocoEntry:
    """Return the content of an annotation file, with `area` and `iscrowd` in each record.

    Objects are numbered from 1, because pycocotools uses the id 0 for "not found".

    Args:
        path: the file.
        learns: targets of the detector, which every object must have.

    Raises:
        DataTorn: the file is not JSON, or a record violates COCO's format.
    """
    try:
        truth = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as fault:
        raise DataTorn(f"{path}: the file cannot be read as JSON: {fault}") from fault
    lists = ("images", "annotations", "categories")
    if not isinstance(truth, dict) or not all(isinstance(truth.get(k), list) for k in lists):
        raise DataTorn(f"{path}: the file must have the lists {', '.join(lists)}")
    federated = _is_federated(truth)
    points = _points(truth) if learns == "keypoints" else []
    _check(path, truth, "categories", partial(_category_fault, federated, points, learns))
    kinds = {entry["id"] for entry in truth["categories"]}
    for image in truth["images"]:
        if isinstance(image, dict) and isinstance(image.get("coco_url"), str):
            image.setdefault("file_name", "/".join(image["coco_url"].split("/")[-2:]))
    _check(path, truth, "images", partial(_image_fault, kinds if federated else None))
    images = {entry["id"]: entry for entry in truth["images"]}
    _check(path, truth, "annotations", partial(_object_fault, images, kinds, learns, len(points)))
    objects = [
        {"area": entry["bbox"][2] * entry["bbox"][3], "iscrowd": 0} | entry | {"id": number}
        for number, entry in enumerate(truth["annotations"], start=1)
    ]
    if learns == "keypoints":
        objects = [o | {"num_keypoints": sum(v > 0 for v in o["keypoints"][2::3])} for o in objects]
    return {key: truth[key] for key in lists} | {"annotations": objects}


def _is_federated(truth: CocoEntry) -> bool:
    """Return whether the annotations are LVIS's: an image is labelled for some categories alone."""
    marks = (("categories", "frequency"), ("images", NEGATIVE), ("images", NOT_EXHAUSTIVE))
    return any(isinstance(e, dict) and mark in e for key, mark in marks for e in truth[key])


def _points(truth: CocoEntry) -> list[Any]:
    """Return the key points of the first category; whether they are any is checked for each."""
    first = truth["categories"][:1]
    found = first[0].get("keypoints") if first and isinstance(first[0], dict) else None
    return found if isinstance(found, list) else []


def _check(
    path: Path, truth: CocoEntry, key: str, fault: Callable[[CocoEntry], str | None]
) -> None:
    """Raise a DataTorn for the first record of a list that has no id of its own or a fault."""
    seen: set[int] = set()
    for place, entry in enumerate(truth[key]):
        if not isinstance(entry, dict) or type(entry.get("id")) is not int:
            why: str | None = "the entry needs a whole number as id"
        elif entry["id"] in seen:
            why = f"the id {entry['id']} is used twice"
        else:
            why = fault(entry)
            seen.add(entry["id"])
        if why is not None:
            raise DataTorn(f"{path}: {key}[{place}]: {why}")
    if not truth[key]:
        raise DataTorn(f"{path}: {key} is empty")


def _category_fault(
    federated: bool, points: list[Any], learns: Learnt, entry: CocoEntry
) -> str | None:
    if federated and entry.get("frequency") not in FREQUENCIES:
        return f"frequency must be r, c or f, as in LVIS, found {entry.get('frequency')!r}"
    if learns == "keypoints":
        named = all(isinstance(point, str) for point in points)
        if not points or not named or len({*points}) < len(points):
            return "the category needs a key `keypoints`, a list of different names"
        if entry.get("keypoints") != points:
            return "the keypoints of this category differ from the keypoints of the first category"
    return None


def _image_fault(kinds: Iterable[int] | None, entry: CocoEntry) -> str | None:
    """Return what is wrong with an image; its lists of LVIS are looked at where `kinds` are given.

    Args:
        kinds: the ids of the categories; None: the format is COCO's.
        entry: the record of the image.
    """
    name = entry.get("file_name")
    if not isinstance(name, str) or not name:
        return "the image needs a file_name"
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        return f"file_name {name!r} lies outside the folder of images"
    for side in ("width", "height"):
        if type(entry.get(side)) is not int or entry[side] < 1:
            return f"{side} must be a whole number above 0, found {entry.get(side)!r}"
    for key in (NEGATIVE, NOT_EXHAUSTIVE):
        listed = entry.get(key)
        if kinds is not None and not (
            isinstance(listed, list) and all(type(kind) is int and kind in kinds for kind in listed)
        ):
            return f"{key} must be a list of category ids, as in LVIS"
    return None


def _object_fault(
    images: dict[int, CocoEntry], kinds: set[int], learns: Learnt, points: int, entry: CocoEntry
) -> str | None:
    for key, table, known in (("image_id", "images", images), ("category_id", "categories", kinds)):
        if type(entry.get(key)) is not int or entry[key] not in known:
            return f"{key} {entry.get(key)!r} is not an id in the list {table}"
    image = images[entry["image_id"]]
    if (why := _box_fault(entry.get("bbox"), image)) is not None:
        return why
    area = entry.get("area", 0)
    if not _is_number(area) or area < 0 or entry.get("iscrowd", 0) not in (0, 1):
        return "area must be a number of 0 or more, and iscrowd 0 or 1"
    if learns == "keypoints":
        return _points_fault(entry.get("keypoints"), points)
    return _mask_fault(entry.get("segmentation"), image) if learns == "masks" else None


def _box_fault(box: Any, image: CocoEntry) -> str | None:
    """Return what is wrong with a box; COCO has boxes without an area, which are left out later."""
    if not isinstance(box, list) or len(box) != 4 or not all(map(_is_number, box)):
        return f"bbox must be 4 numbers (left, top, width, height), found {box!r}"
    left, top, width, height = box
    if width < 0 or height < 0:
        return f"bbox is left, top, width and height, but a side is below 0: {box!r}"
    across = left < image["width"] and left + width > 0
    down = top < image["height"] and top + height > 0
    if width and height and not (across and down):
        size = f"{image['width']} x {image['height']} pixels"
        return f"bbox {box!r} lies outside its image, which has {size}"
    return None


def _points_fault(found: Any, points: int) -> str | None:
    """Return what is wrong with the key points of an object, x, y and v of each in one list."""
    if not isinstance(found, list) or len(found) != 3 * points or not all(map(_is_number, found)):
        return f"keypoints must be {3 * points} numbers (x, y and v of each of {points})"
    if not all(v in (0, 1, 2) for v in found[2::3]):
        return "v of keypoints must be 0 (not labelled), 1 (hidden) or 2 (visible)"
    return None


def _mask_fault(found: Any, image: CocoEntry) -> str | None:
    if isinstance(found, dict):
        runs = isinstance(found.get("counts"), list | str)
        sides = isinstance(found.get("size"), list) and len(found["size"]) == 2
        if not runs or not sides:
            return "segmentation must be polygons, or have counts and a size of 2 numbers"
        if found["size"] != [image["height"], image["width"]]:
            size = f"height {image['height']} and width {image['width']}"
            return f"the size of segmentation is {found['size']}, but the image has {size}"
        return (
            None
            if _is_rle(found)
            else "the counts of segmentation are not run lengths that add up to its size"
        )
    if not isinstance(found, list) or not found:
        return "the object has no segmentation, which detector 'mask-rcnn' needs"
    for polygon in found:
        even = isinstance(polygon, list) and len(polygon) % 2 == 0
        if not even or len(polygon) < LEAST_OF_POLYGON or not all(map(_is_near, polygon)):
            return (
                "a polygon of segmentation needs an even count of 6 or more numbers, each "
                f"at most {FURTHEST}"
            )
    return None


def _is_rle(mask: Any) -> bool:
    """Return whether the run lengths of a mask, a list or COCO's text, fill its size.

    pycocotools leaves the rest of a mask uninitialised.
    """
    size, counts = mask["size"], mask["counts"]
    if not all(type(side) is int and side > 0 for side in size):
        return False
    runs = counts if isinstance(counts, list) else _runs(counts)
    return all(type(n) is int and n >= 0 for n in runs) and bool(sum(runs) == size[0] * size[1])


def _runs(text: str) -> list[int]:
    """Return the run lengths in COCO's text; the last is -1 if the text is not valid.

    A letter holds 5 bits of a number and one bit for whether more follow. From the fourth number
    on, each is the difference from the run length two places before.
    """
    runs: list[int] = []
    value = shift = 0
    for letter in text:
        bits = ord(letter) - 48
        if not 0 <= bits < 64:
            return [-1]
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            signed = value - (1 << shift) if bits & 16 else value
            runs.append(signed + (runs[-2] if len(runs) > 2 else 0))
            value = shift = 0
    return [*runs, -1] if shift else runs


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and bool(-LARGEST <= value <= LARGEST)


def _is_near(value: Any) -> bool:
    return _is_number(value) and bool(abs(value) <= FURTHEST)


def _signed(files: PartFiles, truth: CocoEntry) -> Iterator[bytes]:
    """Yield the annotations' bytes, and the name and size of each image.

    Raises:
        DataTorn: an image is missing.
    """
    yield files.annotations.read_bytes()
    for place, image in enumerate(truth["images"]):
        path = files.images / image["file_name"]
        try:
            size = os.stat(path).st_size
        except (OSError, ValueError) as fault:  # the latter: a name with a zero byte
            where = f"{files.annotations}: images[{place}]"
            raise DataTorn(f"{where}: the image file {path} does not exist") from fault
        yield f"{image['file_name']} {size}".encode()


def _pixels(folder: Path, images: list[CocoEntry], row: int) -> Pixels:
    """Return the pixels (H, W, 3) of an image.

    Raises:
        DataTorn: it cannot be decoded, or has another size than its record says.
    """
    path, image = folder / images[row]["file_name"], images[row]
    pixels = np.asarray(read_image(path))
    if pixels.shape[:2] != (image["height"], image["width"]):
        height, width = pixels.shape[:2]
        told = f"{image['width']} x {image['height']}"
        raise DataTorn(
            f"{path}: the image has {width} x {height} pixels, but its annotations say {told}"
        )
    return pixels


def load_boxed(name: str, root: Path, learns: Learnt) -> BoxedSet:
    """Return a data set with boxes: generated shapes, or a folder below `root`.

    Args:
        name: name of the data set.
        root: the folder of data sets.
        learns: targets of the detector, which every object must have.

    Raises:
        DataMissing: the data set is missing.
        DataTorn: an annotation violates COCO's format, or an image is missing.
    """
    if name in DRAWN:
        return draw_shapes(name)
    return load_coco_folder(name, root, learns)
