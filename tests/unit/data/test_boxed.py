"""Images with boxes: drawn shapes, and folders in COCO format with what is wrong with them."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as rle

from bench.cells.datasets import BOXED_SETS, KEY_SHAPES, SHAPES, TAIL_SHAPES, Learnt
from bench.data.boxed import BoxedPart
from bench.data.catalogue import check_boxed
from bench.data.coco_folder import load_boxed, read_annotations
from bench.data.shapes import KINDS, SIDE, draw_shapes
from bench.errors import DataError, DataMissing, DataTorn

TRUTH: dict[str, Any] = {
    "images": [
        {"id": 5, "file_name": "b.png", "width": 8, "height": 6},
        {"id": 3, "file_name": "a.png", "width": 4, "height": 4},
    ],
    "categories": [{"id": 20, "name": "cat"}, {"id": 4, "name": "ant"}],
    "annotations": [
        {"id": 1, "image_id": 5, "category_id": 20, "bbox": [5, 1, 6, 2],
         "segmentation": [[5, 1, 8, 1, 8, 3, 5, 3]]},
        {"id": 2, "image_id": 5, "category_id": 4, "bbox": [0, 0, 8, 6], "iscrowd": 1,
         "segmentation": {"size": [6, 8], "counts": [0, 48]}},
        {"id": 3, "image_id": 5, "category_id": 4, "bbox": [1, 1, 0, 3],
         "segmentation": [[1, 1, 1, 4, 1, 3]]},
        {"id": 4, "image_id": 5, "category_id": 4, "bbox": [1, 0, 2, 6],
         "segmentation": {"size": [6, 8], "counts": [6, 12, 30]}},
    ],
}  # fmt: skip


def write(root: Path, truth: dict[str, Any], part: str = "train") -> Path:
    folder = root / "mine" / part
    folder.mkdir(parents=True, exist_ok=True)
    for image in TRUTH["images"]:
        pixels = np.full((image["height"], image["width"], 3), image["id"], dtype=np.uint8)
        Image.fromarray(pixels).save(folder / image["file_name"])
    path = root / "mine" / "annotations" / f"{part}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(truth))
    return path


def both(root: Path, truth: dict[str, Any] = TRUTH, test: str = "val") -> Path:
    write(root, TRUTH, test)
    return write(root, truth)


def test_what_is_learnt_of_an_image(tmp_path: Path) -> None:
    """Neither crowds nor empty boxes; what hangs over the edge is cut off; labels follow ids."""
    both(tmp_path)
    part = load_boxed("mine", tmp_path, "masks").train
    objects = part.objects(0, "masks")
    assert objects.boxes.tolist() == [[5, 1, 8, 3], [1, 0, 3, 6]]
    assert objects.labels.tolist() == [2, 1]  # ant is 1, cat is 2
    masks = np.zeros((2, 6, 8), dtype=np.uint8)
    masks[0, 1:3, 5:8], masks[1, :, 1:3] = 1, 1
    assert (objects.masks == masks).all()
    assert part.objects(0, "boxes").masks.shape == (0, 6, 8)
    assert part.objects(1, "masks").boxes.shape == (0, 4)
    assert part.learnable.tolist() == [0]
    assert part.annotations["annotations"][0]["area"] == 12
    assert [part.read(row).shape for row in (0, 1)] == [(6, 8, 3), (4, 4, 3)]
    assert part.read(1).max() == 3


@pytest.mark.parametrize("test", ["test", "val", "val2017"])
def test_parts_may_have_several_names(tmp_path: Path, test: str) -> None:
    both(tmp_path, test=test)
    check_boxed("mine", tmp_path)
    assert len(load_boxed("mine", tmp_path, "boxes").test.images) == 2


def test_coco_itself_is_such_a_folder(tmp_path: Path) -> None:
    for part in ("train2017", "val2017"):
        path = write(tmp_path, TRUTH, part)
        path.rename(path.with_name(f"instances_{part}.json"))
    check_boxed("mine", tmp_path)
    assert len(load_boxed("mine", tmp_path, "masks").train.images) == 2


def test_the_fingerprint_follows_annotations_and_images(tmp_path: Path) -> None:
    path = both(tmp_path)

    def fingerprint() -> str:
        return load_boxed("mine", tmp_path, "masks").fingerprint

    first = fingerprint()
    assert fingerprint() == first
    path.write_text(json.dumps(TRUTH, indent=1))
    second = fingerprint()
    Image.fromarray(np.zeros((4, 4, 3), dtype=np.uint8)).save(
        tmp_path / "mine" / "val" / "a.png", compress_level=0
    )
    assert len({first, second, fingerprint()}) == 3


def test_a_folder_that_is_not_there_says_what_is_expected(tmp_path: Path) -> None:
    for look in (check_boxed, lambda name, root: load_boxed(name, root, "masks")):
        with pytest.raises(DataMissing) as told:
            look("mine", tmp_path)
        assert str(told.value) == (
            f"mine: {tmp_path / 'mine'} has no train part. Store this part in the "
            "folder train/ with annotations/train.json or train2017/ with "
            "annotations/train2017.json; docs/how-to/detection.md shows the layout."
        )
    check_boxed(SHAPES, tmp_path)  # are drawn


Change = Callable[[dict[str, Any]], Any]
FAULTS: dict[str, tuple[Change, str]] = {
    "list": (
        lambda t: t.pop("images"),
        "the file must have the lists images, annotations, categories",
    ),
    "empty": (lambda t: t["images"].clear(), "images is empty"),
    "id": (lambda t: t["images"][1].pop("id"), "images[1]: the entry needs a whole number as id"),
    "twice": (lambda t: t["images"][1].update(id=5), "images[1]: the id 5 is used twice"),
    "name": (lambda t: t["images"][0].pop("file_name"), "images[0]: the image needs a file_name"),
    "outside": (
        lambda t: t["images"][0].update(file_name="../b.png"),
        "images[0]: file_name '../b.png' lies outside the folder of images",
    ),
    "width": (
        lambda t: t["images"][0].update(width=0),
        "images[0]: width must be a whole number above 0, found 0",
    ),
    "image": (
        lambda t: t["annotations"][1].update(image_id=9),
        "annotations[1]: image_id 9 is not an id in the list images",
    ),
    "category": (
        lambda t: t["annotations"][1].update(category_id="cat"),
        "annotations[1]: category_id 'cat' is not an id in the list categories",
    ),
    "several": (
        lambda t: t["annotations"][1].update(category_id=[4]),
        "annotations[1]: category_id [4] is not an id in the list categories",
    ),
    "box": (
        lambda t: t["annotations"][2].update(bbox=[1, 2, 3]),
        "annotations[2]: bbox must be 4 numbers (left, top, width, height), found [1, 2, 3]",
    ),
    "side": (
        lambda t: t["annotations"][2].update(bbox=[1, 1, -1, 3]),
        "annotations[2]: bbox is left, top, width and height, but a side is below 0: [1, 1, -1, 3]",
    ),
    "box outside": (
        lambda t: t["annotations"][2].update(bbox=[8, 1, 2, 3]),
        "annotations[2]: bbox [8, 1, 2, 3] lies outside its image, which has 8 x 6 pixels",
    ),
    "box above": (
        lambda t: t["annotations"][2].update(bbox=[1, -3, 2, 3]),
        "annotations[2]: bbox [1, -3, 2, 3] lies outside its image, which has 8 x 6 pixels",
    ),
    "turned mask": (
        lambda t: t["annotations"][1].update(segmentation={"size": [8, 6], "counts": [0, 48]}),
        "annotations[1]: the size of segmentation is [8, 6], but the image has "
        "height 6 and width 8",
    ),
    "crowd": (
        lambda t: t["annotations"][2].update(iscrowd=2),
        "annotations[2]: area must be a number of 0 or more, and iscrowd 0 or 1",
    ),
    "area": (
        lambda t: t["annotations"][2].update(area=-5),
        "annotations[2]: area must be a number of 0 or more, and iscrowd 0 or 1",
    ),
    "huge": (
        lambda t: t["annotations"][2].update(bbox=[1, 2, 10**400, 3]),
        f"annotations[2]: bbox must be 4 numbers (left, top, width, height), found [1, 2, "
        f"{10**400}, 3]",
    ),
    "far corner": (
        lambda t: t["annotations"][0].update(segmentation=[[5, 1, 8, 1, -100_001, 3]]),
        "annotations[0]: a polygon of segmentation needs an even count of 6 or "
        "more numbers, each at most 100000",
    ),
    "mask": (
        lambda t: t["annotations"][0].pop("segmentation"),
        "annotations[0]: the object has no segmentation, which detector 'mask-rcnn' needs",
    ),
    "polygon": (
        lambda t: t["annotations"][0].update(segmentation=[[1, 2, 3, 4]]),
        "annotations[0]: a polygon of segmentation needs an even count of 6 or "
        "more numbers, each at most 100000",
    ),
    "runs": (
        lambda t: t["annotations"][1].update(segmentation={"size": [6, 8]}),
        "annotations[1]: segmentation must be polygons, or have counts and a size of 2 numbers",
    ),
    "text of runs": (
        lambda t: t["annotations"][1].update(segmentation={"size": [6, 8], "counts": "abc"}),
        "annotations[1]: the counts of segmentation are not run lengths that add up to its size",
    ),
    "no text of runs": (
        lambda t: t["annotations"][1].update(segmentation={"size": [6, 8], "counts": ""}),
        "annotations[1]: the counts of segmentation are not run lengths that add up to its size",
    ),
    "too few runs": (
        lambda t: t["annotations"][1].update(segmentation={"size": [6, 8], "counts": [20, 20]}),
        "annotations[1]: the counts of segmentation are not run lengths that add up to its size",
    ),
}


@pytest.mark.parametrize(("change", "told"), FAULTS.values(), ids=FAULTS)
def test_an_annotation_that_is_not_cocos_is_named(
    tmp_path: Path, change: Change, told: str
) -> None:
    truth = copy.deepcopy(TRUTH)
    change(truth)
    path = write(tmp_path, truth)
    with pytest.raises(DataTorn) as error:
        read_annotations(path, "masks")
    assert str(error.value) == f"{path}: {told}"
    if "segmentation" in told:
        read_annotations(path, "boxes")  # boxes are enough for Faster R-CNN


def with_points() -> dict[str, Any]:
    """Return the annotations with key points, as COCO's person_keypoints files have them."""
    truth = copy.deepcopy(TRUTH)
    for category in truth["categories"]:
        category["keypoints"] = ["nose", "left_eye", "right_eye"]
    for annotation in truth["annotations"]:
        annotation["keypoints"] = [6, 1, 2, 5, 2, 1, 0, 0, 0]
    return truth


def of_lvis() -> dict[str, Any]:
    """Return the annotations as LVIS's files have them."""
    truth = copy.deepcopy(TRUTH)
    for category, frequency in zip(truth["categories"], "fr", strict=True):
        category["frequency"] = frequency
    for image in truth["images"]:
        image["coco_url"] = f"http://images.cocodataset.org/train2017/{image.pop('file_name')}"
        image |= {"neg_category_ids": [20], "not_exhaustive_category_ids": []}
    return truth


FORMATS: dict[Learnt, Callable[[], dict[str, Any]]] = {"keypoints": with_points, "masks": of_lvis}
THREE = "annotations[1]: keypoints must be 9 numbers (x, y and v of each of 3)"
NOT_NAMED = "categories[0]: the category needs a key `keypoints`, a list of different names"
NEGATIVE = "images[1]: neg_category_ids must be a list of category ids, as in LVIS"
OF_FORMATS: list[tuple[Learnt, Change, str]] = [
    ("keypoints", lambda t: t["categories"][0].pop("keypoints"), NOT_NAMED),
    ("keypoints", lambda t: t["categories"][0].update(keypoints=["nose"] * 3), NOT_NAMED),
    ("keypoints", lambda t: t["categories"][0].update(keypoints=[1, 2, 3]), NOT_NAMED),
    ("keypoints", lambda t: t["categories"].insert(0, "eye"),
     "categories[0]: the entry needs a whole number as id"),
    ("keypoints", lambda t: t["categories"][1].update(keypoints=["tail"]),
     "categories[1]: the keypoints of this category differ from "
            "the keypoints of the first category"),
    ("keypoints", lambda t: t["annotations"][1].pop("keypoints"), THREE),
    ("keypoints", lambda t: t["annotations"][1].update(keypoints=[1, 2, 2]), THREE),
    ("keypoints", lambda t: t["annotations"][1]["keypoints"].__setitem__(0, float("nan")), THREE),
    ("keypoints", lambda t: t["annotations"][1]["keypoints"].__setitem__(2, 3),
     "annotations[1]: v of keypoints must be 0 (not labelled), 1 (hidden) or 2 (visible)"),
    ("masks", lambda t: t["categories"][1].pop("frequency"),
     "categories[1]: frequency must be r, c or f, as in LVIS, found None"),
    ("masks", lambda t: t["categories"][1].update(frequency="often"),
     "categories[1]: frequency must be r, c or f, as in LVIS, found 'often'"),
    ("masks", lambda t: t["images"][1].pop("neg_category_ids"), NEGATIVE),
    ("masks", lambda t: t["images"][1].update(neg_category_ids=[9]), NEGATIVE),
    ("masks", lambda t: t["images"][0].update(not_exhaustive_category_ids="all"),
     "images[0]: not_exhaustive_category_ids must be a list of category ids, as " "in LVIS"),
    ("masks", lambda t: t["images"][0].pop("coco_url"), "images[0]: the image needs a file_name"),
    ("masks", lambda t: t["images"][0].update(coco_url="http://x/../b.png"),
     "images[0]: file_name '../b.png' lies outside the folder of images"),
]  # fmt: skip


@pytest.mark.parametrize(("learns", "change", "told"), OF_FORMATS)
def test_key_points_and_lists_that_do_not_fit_are_named(
    tmp_path: Path, learns: Learnt, change: Change, told: str
) -> None:
    truth = FORMATS[learns]()
    change(truth)
    path = write(tmp_path, truth)
    with pytest.raises(DataTorn) as error:
        read_annotations(path, learns)
    assert str(error.value) == f"{path}: {told}"
    if learns == "keypoints" and "whole number" not in told:
        read_annotations(path, "boxes")


def test_cocos_own_key_points_are_a_file_beside_its_boxes(tmp_path: Path) -> None:
    """They are indices of pixels, so half a pixel leads to a centre; objects count from 1."""
    for name in ("train2017", "val2017"):
        for prefix, truth in (
            ("instances", copy.deepcopy(TRUTH)),
            ("person_keypoints", with_points()),
        ):
            truth["annotations"][0]["id"] = 0
            path = write(tmp_path, truth, name)
            path.rename(path.with_name(f"{prefix}_{name}.json"))
    part = load_boxed("mine", tmp_path, "keypoints").train
    assert part.mirrored_points == [0, 2, 1]
    points = part.objects(0, "keypoints").keypoints
    assert points.shape == (2, 3, 3)
    assert points[0].tolist() == [[6.5, 1.5, 2], [5.5, 2.5, 1], [0.5, 0.5, 0]]
    kept = [(a["id"], a["num_keypoints"]) for a in part.annotations["annotations"]]
    assert kept == [(1, 2), (2, 2), (3, 2), (4, 2)]
    boxes = load_boxed("mine", tmp_path, "boxes").train
    assert boxes.points == []
    assert boxes.objects(0, "boxes").keypoints.size == 0
    path.with_name("person_keypoints_val2017.json").unlink()
    with pytest.raises(
        DataMissing, match=r"has no test part.*/person_keypoints_val2017\.json; docs"
    ):
        check_boxed("mine", tmp_path, "keypoints")


def test_lvis_itself_is_such_a_folder(tmp_path: Path) -> None:
    """Its annotations name the folder of each image, which may be one of COCO's training images."""
    write(tmp_path, TRUTH, "train2017").unlink()
    for name in ("train", "val"):
        path = tmp_path / "mine" / "annotations" / f"lvis_v1_{name}.json"
        path.write_text(json.dumps(of_lvis()))
    check_boxed("mine", tmp_path)
    test = load_boxed("mine", tmp_path, "masks").test
    assert test.images[0]["file_name"] == "train2017/b.png"
    assert test.read(1).max() == 3


def test_files_that_do_not_fit_are_named(tmp_path: Path) -> None:
    def told() -> str:
        with pytest.raises(DataError) as error:
            load_boxed("mine", tmp_path, "boxes").train.read(0)
        return str(error.value)

    path, image = both(tmp_path), tmp_path / "mine" / "train" / "b.png"
    Image.new("RGB", (6, 8)).save(image)
    assert told() == f"{image}: the image has 6 x 8 pixels, but its annotations say 8 x 6"
    image.unlink()
    assert told() == f"{path}: images[0]: the image file {image} does not exist"
    path.write_text("{")
    assert told().startswith(f"{path}: the file cannot be read as JSON: Expecting property name")
    path.write_text("[" * 100_000)
    assert told().startswith(f"{path}: the file cannot be read as JSON: maximum recursion depth")
    torn = copy.deepcopy(TRUTH)
    torn["images"][0]["file_name"] = "a\0.png"
    write(tmp_path, torn)
    assert told() == f"{path}: images[0]: the image file {image.parent}/a\\x00.png does not exist"


def test_run_lengths_as_text_fill_their_mask(tmp_path: Path) -> None:
    """pycocotools takes a text that ends early, and leaves the rest as the memory is."""
    draw = np.random.default_rng(0)
    for share in (0.0, 0.001, 0.03, 0.5, 1.0):
        mask = np.asfortranarray(draw.random((40, 300)) < share, dtype=np.uint8)
        text = rle.encode(mask)["counts"].decode()
        truth = copy.deepcopy(TRUTH)
        truth["images"][0] |= {"width": 300, "height": 40}
        for annotation in truth["annotations"]:
            annotation["segmentation"] = {"size": [40, 300], "counts": text}
        read_annotations(write(tmp_path, truth), "masks")
        early, other = text[: int(draw.integers(len(text)))], chr(ord(text[0]) + 64) + text[1:]
        for torn in (early, text + "P", other):
            truth["annotations"][2]["segmentation"] = {"size": [40, 300], "counts": torn}
            with pytest.raises(
                DataTorn,
                match="the counts of segmentation are not run lengths that add up to its size",
            ):
                read_annotations(write(tmp_path, truth), "masks")


LISTS = ("neg_category_ids", "not_exhaustive_category_ids")
CATEGORIES: list[tuple[Change, str]] = [
    (lambda t: t["categories"].append({"id": 1, "name": "bee", "frequency": "r"}),
     "categories[2]: id 1 (bee) is not a category of the train part"),
    (lambda t: [t["categories"].pop(), [i.update(neg_category_ids=[]) for i in t["images"]]],
     "categories: the category with id 4 (ant) of the train part is missing"),
    (lambda t: t["categories"][1].update(name="bee"),
     "categories[1]: id 4 has name 'bee' in this part, but 'ant' in the train part"),
    (lambda t: t["categories"][0].update(frequency="c"),
     "categories[0]: id 20 has frequency 'c' in this part, but 'f' in the train part"),
    (lambda t: [entry.pop("frequency") for entry in t["categories"]]
     + [entry.pop(key) for entry in t["images"] for key in LISTS],
     "categories[0]: id 20 has frequency None in this part, but 'f' in the train part"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "told"), CATEGORIES)
def test_both_parts_have_the_same_categories(tmp_path: Path, change: Change, told: str) -> None:
    truth = of_lvis()
    change(truth)
    truth["annotations"] = [a for a in truth["annotations"] if a["category_id"] == 20]
    write(tmp_path, of_lvis())
    path = write(tmp_path, truth, "val")
    with pytest.raises(DataTorn) as error:
        load_boxed("mine", tmp_path, "boxes")
    assert str(error.value) == f"{path}: {told}"


def test_shapes_are_drawn_alike_and_their_masks_fit_their_boxes() -> None:
    shapes = draw_shapes()
    assert shapes.fingerprint == draw_shapes.__wrapped__().fingerprint
    known = BOXED_SETS[SHAPES]
    assert (len(shapes.train.images), len(shapes.test.images)) == (known.train, known.test)
    assert set(shapes.train.labels.values()) == {1, 2, 3} == set(range(1, len(KINDS) + 1))
    for row in range(20):
        objects, pixels = shapes.train.objects(row, "masks"), shapes.train.read(row)
        assert pixels.shape == (SIDE, SIDE, 3)
        assert (objects.masks.sum(axis=0) <= 1).all()  # none touches another
        for box, mask in zip(objects.boxes, objects.masks, strict=True):
            rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
            edges = [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
            assert box.tolist() == edges
            assert len(np.unique(pixels[mask == 1], axis=0)) == 1  # one colour
    assert (shapes.train.read(0) != shapes.test.read(0)).any()


def test_every_kind_of_shape_is_in_both_parts() -> None:
    def kinds(part: BoxedPart) -> set[int]:
        return {annotation["category_id"] for annotation in part.annotations["annotations"]}

    shapes = draw_shapes()
    assert kinds(shapes.train) == kinds(shapes.test) == {1, 2, 3}


def test_the_key_points_lie_in_the_shapes_of_the_same_images() -> None:
    shapes, plain = draw_shapes(KEY_SHAPES).train, draw_shapes().train
    assert shapes.points == ["top", "left", "right"]
    for row in range(20):
        assert (shapes.read(row) == plain.read(row)).all()
        objects = shapes.objects(row, "keypoints")
        masks = shapes.objects(row, "masks").masks
        for mask, box, (top, left, right) in zip(
            masks, objects.boxes, objects.keypoints, strict=True
        ):
            assert all(mask[int(y), int(x)] for x, y, _ in (top, left, right))
            assert [left[0] - 0.5, top[1] - 0.5, right[0] + 0.5] == box[:3].tolist()


def test_the_long_tail_is_labelled_as_lvis_is() -> None:
    """Of each image some kinds: of those neither found nor denied nothing is known."""
    shapes = draw_shapes(TAIL_SHAPES)
    for part in (shapes.train, shapes.test):
        frequencies = [category["frequency"] for category in part.annotations["categories"]]
        assert [frequencies.count(f) for f in "rcf"] == [2, 4, 2]
        seen = {(a["image_id"], a["category_id"]) for a in part.annotations["annotations"]}
        assert {category for _, category in seen} == {*part.labels}
        lists = ("neg_category_ids", "not_exhaustive_category_ids")
        for image in part.images:
            denied, in_part = (image[name] for name in lists)
            assert all((image["id"], kind) in seen for kind in in_part)
            assert not any((image["id"], kind) in seen for kind in denied)
        counts = [sum(len(image[name]) for image in part.images) for name in lists]
        known = len(part.images) * len(part.labels)
        assert 10 < counts[1] < len(seen) < counts[0] + len(seen) < known
    assert shapes.fingerprint == draw_shapes.__wrapped__(TAIL_SHAPES).fingerprint
