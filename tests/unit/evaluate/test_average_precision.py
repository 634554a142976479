"""Average precision by pycocotools against numbers computed by hand."""

from typing import Any

import numpy as np
import pytest
from pycocotools import mask as rle
from pycocotools.cocoeval import COCOeval

from bench.data.boxed import indexed
from bench.evaluate.average_precision import Kind, average_precision

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


def with_points(
    shifts: dict[int, float], points: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return one object of 20 x 20 pixels, and one detection with some key points shifted down."""
    known = truth() | {"annotations": truth()["annotations"][:1]}
    known["categories"][0]["keypoints"] = [f"point {i}" for i in range(points)]
    true = [number for i in range(points) for number in (i, 2 * i, 2)]
    known["annotations"][0] |= {"keypoints": true, "num_keypoints": points}
    shifted = [value + shifts.get(place, 0.0) for place, value in enumerate(true)]
    one = {"image_id": 1, "category_id": 7, "score": 0.9, "bbox": [0, 0, 20, 20]}
    return known, [one | {"keypoints": shifted}]


def test_a_shifted_key_point_costs_what_the_similarity_says() -> None:
    """(2 + exp(-4^2 / (2 (2 * 0.05)^2 400))) / 3 = 0.71: right up to 0.7, five overlaps of ten."""
    measured = average_precision(*with_points({4: 4.0}, points=3), "keypoints")
    assert measured == pytest.approx({"ap_keypoint": 50, "ap50_keypoint": 100, "ap75_keypoint": 0})


def test_key_points_of_people_are_measured_as_pycocotools_measures_them() -> None:
    known, results = with_points({1: 1.0, 31: 6.0, 34: 9.0}, points=17)
    measured = average_precision(known, results, "keypoints")
    index = indexed(known)
    plain = [{k: v for k, v in one.items() if k != "bbox"} for one in results]
    direct = COCOeval(index, index.loadRes(plain), "keypoints")
    direct.evaluate()
    direct.accumulate()
    direct.summarize()
    assert 0 < measured["ap_keypoint"] < 100
    assert list(measured.values()) == pytest.approx([100 * share for share in direct.stats[:3]])


def test_an_object_without_key_points_is_not_to_be_found() -> None:
    known, results = with_points({}, points=3)
    known["annotations"][0] |= {"keypoints": [0] * 9, "num_keypoints": 0}
    assert average_precision(known, results, "keypoints") == {}
    assert average_precision(known, [], "keypoints") == {}


def box(category: int, image: int, left: int, score: float | None = None) -> dict[str, Any]:
    """Return an object of 10 x 10 pixels, or with a score a detection."""
    one: dict[str, Any] = {"image_id": image, "category_id": category, "bbox": [left, 0, 10, 10]}
    return one | ({"area": 100, "iscrowd": 0} if score is None else {"score": score})


def long_tail(**lists: dict[int, list[int]]) -> dict[str, Any]:
    """Return one object of category 1 (rare), two of 2 (frequent), none of 3, on two images."""
    objects = [box(1, 1, 0), box(2, 1, 50), box(2, 2, 50)]
    return {
        "images": [
            {"id": image, "width": SIDE, "height": SIDE}
            | {f"{name}_category_ids": of.get(image, []) for name, of in lists.items()}
            for image in (1, 2)
        ],
        "categories": [{"id": i, "frequency": f} for i, f in zip((1, 2, 3), "rfc", strict=True)],
        "annotations": [one | {"id": i} for i, one in enumerate(objects, start=1)],
    }


# Of category 1 a wrong one on image 2 with the highest score, then the right one; of category 2 one
# of the two is found; category 3, without an object, is found on image 1.
SEEN = [box(1, 2, 0, 0.9), box(1, 1, 0, 0.8), box(2, 1, 50, 0.7), box(3, 1, 0, 0.6)]
HALF = 51 / 1.01  # percent: precision 1 up to recall 1/2, at 51 of the 101 points


@pytest.mark.parametrize(
    ("neg", "not_exhaustive", "rare"),
    [
        ({}, {}, 100.0),  # image 2 is not labelled for category 1: no false positive
        ({2: [1]}, {}, 50.0),  # it is known to be absent there
        ({2: [1]}, {2: [1]}, 100.0),  # nothing counts where objects may lack labels
        ({1: [1]}, {1: [1]}, 100.0),  # which takes nothing from what is found
    ],
)
def test_a_category_counts_where_an_image_is_labelled_for_it(
    neg: dict[int, list[int]], not_exhaustive: dict[int, list[int]], rare: float
) -> None:
    truth = long_tail(neg=neg, not_exhaustive=not_exhaustive)
    measured = average_precision(truth, SEEN, "bbox")
    of_all = dict.fromkeys(("ap_bbox", "ap50_bbox", "ap75_bbox"), (rare + HALF) / 2)
    assert measured == pytest.approx(of_all | {"apr_bbox": rare, "apf_bbox": HALF})


def test_only_the_300_surest_detections_of_an_image_count() -> None:
    known = long_tail(neg={}, not_exhaustive={})
    right, surer = box(1, 1, 0, 0.5), [box(2, 1, 200, 0.95) for _ in range(300)]
    rare = [average_precision(known, [*surer[:n], right], "bbox")["apr_bbox"] for n in (299, 300)]
    assert rare == pytest.approx([100, 0])
    assert average_precision(known, [], "bbox")["ap_bbox"] == 0


@pytest.mark.parametrize("kind", ["bbox", "segm"])
def test_with_all_labels_the_rules_are_those_of_coco(kind: Kind) -> None:
    known, plain = truth(), average_precision(truth(), found(), kind)
    for image in known["images"]:
        image |= {"neg_category_ids": [7], "not_exhaustive_category_ids": []}
    known["categories"][0]["frequency"] = "c"
    measured = average_precision(known, found(), kind)
    of = "_bbox" if kind == "bbox" else "_mask"
    assert measured[f"apc{of}"] == measured[f"ap{of}"]
    names = [f"{ap}{of}" for ap in ("ap", "ap50", "ap75")]
    assert [measured[name] for name in names] == pytest.approx([plain[name] for name in names])
