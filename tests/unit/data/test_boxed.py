"""Images with boxes: drawn shapes, and folders in COCO format with what is wrong with them."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bench.cells.datasets import BOXED_SETS, SHAPES
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
    part = load_boxed("mine", tmp_path, with_masks=True).train
    objects = part.objects(0, with_masks=True)
    assert objects.boxes.tolist() == [[5, 1, 8, 3], [1, 0, 3, 6]]
    assert objects.labels.tolist() == [2, 1]  # ant is 1, cat is 2
    masks = np.zeros((2, 6, 8), dtype=np.uint8)
    masks[0, 1:3, 5:8], masks[1, :, 1:3] = 1, 1
    assert (objects.masks == masks).all()
    assert part.objects(0, with_masks=False).masks.shape == (0, 6, 8)
    assert part.objects(1, with_masks=True).boxes.shape == (0, 4)
    assert part.learnable.tolist() == [0]
    assert part.annotations["annotations"][0]["area"] == 12
    assert [part.read(row).shape for row in (0, 1)] == [(6, 8, 3), (4, 4, 3)]
    assert part.read(1).max() == 3


@pytest.mark.parametrize("test", ["test", "val", "val2017"])
def test_parts_may_have_several_names(tmp_path: Path, test: str) -> None:
    both(tmp_path, test=test)
    check_boxed("mine", tmp_path)
    assert len(load_boxed("mine", tmp_path, with_masks=False).test.images) == 2


def test_coco_itself_is_such_a_folder(tmp_path: Path) -> None:
    for part in ("train2017", "val2017"):
        path = write(tmp_path, TRUTH, part)
        path.rename(path.with_name(f"instances_{part}.json"))
    check_boxed("mine", tmp_path)
    assert len(load_boxed("mine", tmp_path, with_masks=True).train.images) == 2


def test_the_fingerprint_follows_annotations_and_images(tmp_path: Path) -> None:
    path = both(tmp_path)

    def fingerprint() -> str:
        return load_boxed("mine", tmp_path, with_masks=True).fingerprint

    first = fingerprint()
    assert fingerprint() == first
    path.write_text(json.dumps(TRUTH, indent=1))
    second = fingerprint()
    Image.fromarray(np.zeros((4, 4, 3), dtype=np.uint8)).save(
        tmp_path / "mine" / "val" / "a.png", compress_level=0
    )
    assert len({first, second, fingerprint()}) == 3


def test_a_folder_that_is_not_there_says_what_is_expected(tmp_path: Path) -> None:
    for look in (check_boxed, lambda name, root: load_boxed(name, root, with_masks=True)):
        with pytest.raises(DataMissing) as told:
            look("mine", tmp_path)
        assert str(told.value) == (
            f"mine: no train part in {tmp_path / 'mine'}: needs train/ with annotations/train.json "
            "or train2017/ with annotations/train2017.json; docs/how-to/detection.md shows it."
        )
    check_boxed(SHAPES, tmp_path)  # are drawn


Change = Callable[[dict[str, Any]], Any]
FAULTS: dict[str, tuple[Change, str]] = {
    "list": (lambda t: t.pop("images"), "needs the lists images, annotations, categories"),
    "empty": (lambda t: t["images"].clear(), "images is empty"),
    "id": (lambda t: t["images"][1].pop("id"), "images[1]: needs a whole number as id"),
    "twice": (lambda t: t["images"][1].update(id=5), "images[1]: the id 5 stands twice"),
    "name": (lambda t: t["images"][0].pop("file_name"), "images[0]: needs a file_name"),
    "outside": (
        lambda t: t["images"][0].update(file_name="../b.png"),
        "images[0]: file_name '../b.png' leads out of the folder of images",
    ),
    "width": (
        lambda t: t["images"][0].update(width=0),
        "images[0]: width must be a whole number above 0, found 0",
    ),
    "image": (
        lambda t: t["annotations"][1].update(image_id=9),
        "annotations[1]: image_id 9 is none of images",
    ),
    "category": (
        lambda t: t["annotations"][1].update(category_id="cat"),
        "annotations[1]: category_id 'cat' is none of categories",
    ),
    "box": (
        lambda t: t["annotations"][2].update(bbox=[1, 2, 3]),
        "annotations[2]: bbox must be 4 numbers (left, top, width, height), found [1, 2, 3]",
    ),
    "crowd": (
        lambda t: t["annotations"][2].update(iscrowd=2),
        "annotations[2]: area must be a number, and iscrowd 0 or 1",
    ),
    "mask": (
        lambda t: t["annotations"][0].pop("segmentation"),
        "annotations[0]: has no segmentation, which detector 'mask-rcnn' needs",
    ),
    "polygon": (
        lambda t: t["annotations"][0].update(segmentation=[[1, 2, 3, 4]]),
        "annotations[0]: a polygon of segmentation must have an even count of numbers, at least 6",
    ),
    "runs": (
        lambda t: t["annotations"][1].update(segmentation={"size": [6, 8]}),
        "annotations[1]: segmentation needs counts, and a size of 2 numbers",
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
        read_annotations(path, with_masks=True)
    assert str(error.value) == f"{path}: {told}"
    if "segmentation" in told:
        read_annotations(path, with_masks=False)  # boxes are enough for Faster R-CNN


def test_files_that_do_not_fit_are_named(tmp_path: Path) -> None:
    def told() -> str:
        with pytest.raises(DataError) as error:
            load_boxed("mine", tmp_path, with_masks=False).train.read(0)
        return str(error.value)

    path, image = both(tmp_path), tmp_path / "mine" / "train" / "b.png"
    Image.new("RGB", (6, 8)).save(image)
    assert told() == f"{image}: has 6 x 8 pixels, its annotations say 8 x 6"
    image.unlink()
    assert told() == f"{path}: images[0]: there is no file {image}"
    path.write_text("{")
    assert told().startswith(f"{path}: cannot be read as JSON: Expecting property name")
    other = copy.deepcopy(TRUTH)
    other["categories"].append({"id": 1, "name": "bee"})
    write(tmp_path, TRUTH)
    path = write(tmp_path, other, "val")
    assert told() == f"{path}: its categories are not those of train"


def test_shapes_are_drawn_alike_and_their_masks_fit_their_boxes() -> None:
    shapes = draw_shapes()
    assert shapes.fingerprint == draw_shapes.__wrapped__().fingerprint
    known = BOXED_SETS[SHAPES]
    assert (len(shapes.train.images), len(shapes.test.images)) == (known.train, known.test)
    assert set(shapes.train.labels.values()) == {1, 2, 3} == set(range(1, len(KINDS) + 1))
    for row in range(20):
        objects, pixels = shapes.train.objects(row, with_masks=True), shapes.train.read(row)
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
