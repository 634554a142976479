"""Average precision by pycocotools against numbers computed by hand."""

from typing import Any

import numpy as np
import pytest
from pycocotools import mask as rle

from bench.evaluate.average_precision import average_precision

SIDE = 300  # pixels of both images
TRUE = {1: [(0, 0, 20, 20), (100, 100, 100, 100)], 2: [(0, 0, 50, 50), (200, 200, 50, 50)]}
FOUND = [  # image, score and box: five boxes, from the surest to the least sure
    (1, 0.9, (0, 0, 20, 20)),  # the small object, exactly
    (1, 0.8, (230, 10, 50, 50)),  # nothing
    (1, 0.7, (100, 100, 62, 100)),  # the large object, at an overlap of 0.62
    (2, 0.6, (0, 0, 50, 50)),  # a medium object, exactly; the other one is not found
    (1, 0.5, (1, 0, 20, 20)),  # the small object for the second time
]


def mask(box: tuple[int, ...]) -> dict[str, Any]:
    left, top, width, height = box
    filled = np.zeros((SIDE, SIDE), dtype=np.uint8, order="F")
    filled[top : top + height, left : left + width] = 1
    packed: dict[str, Any] = rle.encode(filled)
    return packed


def truth() -> dict[str, Any]:
    boxes = [(image, box) for image, own in TRUE.items() for box in own]
    return {
        "images": [{"id": image, "width": SIDE, "height": SIDE} for image in TRUE],
        "categories": [{"id": 7, "name": "square"}],
        "annotations": [
            {
                "id": i, "image_id": image, "category_id": 7, "bbox": list(box), "iscrowd": 0,
                "area": box[2] * box[3], "segmentation": mask(box),
            }
            for i, (image, box) in enumerate(boxes, start=1)
        ],
    }  # fmt: skip


def found() -> list[dict[str, Any]]:
    return [
        {
            "image_id": image, "category_id": 7, "score": score, "bbox": list(box),
            "segmentation": mask(box),
        }
        for image, score, box in FOUND
    ]  # fmt: skip


# Right, wrong, right, right, wrong up to the overlap 0.6 (3 of the 10 overlaps): precision 1 up to
# recall 1/4 (26 of the 101 points) and 3/4 up to 3/4 (50 more). Beyond, the third is wrong too:
# 1 up to 1/4 and 1/2 up to 1/2 (25 more).
LOW, HIGH = (26 + 50 * 0.75) / 1.01, (26 + 25 * 0.5) / 1.01
# Of medium size are the second, which is wrong, the fourth, which is right, and above 0.6 the third
# before it, which is wrong then: precision 1/2 or 1/3 up to recall 1/2 (51 points).
MEDIUM = (3 * 51 / 2 + 7 * 51 / 3) / 10.1
BOXES = {
    "ap_bbox": (3 * LOW + 7 * HIGH) / 10, "ap50_bbox": LOW, "ap75_bbox": HIGH, "aps_bbox": 100.0,
    "apm_bbox": MEDIUM, "apl_bbox": 30.0,
}  # fmt: skip


def test_five_boxes_give_the_average_precision_computed_by_hand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert average_precision(truth(), found(), "bbox") == pytest.approx(BOXES)
    assert capsys.readouterr().out == ""  # standard output is the answer's alone


def test_their_masks_give_the_same() -> None:
    masks = {f"{name}_mask": BOXES[f"{name}_bbox"] for name in ("ap", "ap50", "ap75")}
    assert average_precision(truth(), found(), "segm") == pytest.approx(masks)


def test_no_detection_is_worth_nothing_and_no_object_has_no_precision() -> None:
    assert average_precision(truth(), [], "bbox") == {
        "ap_bbox": 0.0, "ap50_bbox": 0.0, "ap75_bbox": 0.0,
    }  # fmt: skip
    empty = truth() | {"annotations": []}
    assert average_precision(empty, [], "bbox") == {}
    assert average_precision(empty, found(), "bbox") == {}


def test_a_crowd_is_neither_right_nor_wrong() -> None:
    crowd: dict[str, Any] = {
        "id": 9, "image_id": 1, "category_id": 7, "bbox": [200, 0, 100, 100], "area": 10000,
        "iscrowd": 1, "segmentation": mask((200, 0, 100, 100)),
    }  # fmt: skip
    with_crowd = truth()
    with_crowd["annotations"].append(crowd)
    # The second detection lies within it and does not count: right, right, right, wrong.
    low = average_precision(with_crowd, found(), "bbox")["ap50_bbox"]
    assert low == pytest.approx(76 / 1.01)
