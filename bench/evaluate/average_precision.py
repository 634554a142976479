"""Average precision of boxes, masks and key points, as in COCO or LVIS, with pycocotools."""

import io
from collections import defaultdict
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any, Literal

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from bench.cells.detection import OF_BOXES, OF_KEYPOINTS, OF_MASKS, OF_TAIL
from bench.data.boxed import indexed

Kind = Literal["bbox", "segm", "keypoints"]
NAMES = {"bbox": OF_BOXES, "segm": OF_MASKS, "keypoints": OF_KEYPOINTS}
"""What papers call the first numbers of COCO's summary: mean over the overlaps 0.5 to 0.95, at 0.5
and at 0.75; then of objects with an area below 32^2, below 96^2 and from there on, in pixels."""
COCO_POINTS = 17  # of a person; pycocotools knows how far each may lie off
POINT_SIGMA = 0.05
"""Tolerance of any other key point, as a share of the root of the object's area: the
similarity of a point at distance d is exp(-d^2 / (2 (2 sigma)^2 area))."""
LVIS_MOST = 300  # detections of an image that count, those with the highest scores
AT_75 = 5  # position of the overlap 0.75


def average_precision(
    truth: dict[str, Any], found: Sequence[dict[str, Any]], kind: Kind
) -> dict[str, float]:
    """Return average precisions in percent; those without ground-truth objects are omitted.

    LVIS's rules apply to boxes and masks if images have category lists; see `_long_tail`.

    Args:
        truth: ground truth with COCO's keys images, annotations and categories.
        found: detections, each with image_id, category_id, score, `bbox` (left, top, width,
            height), for kind segm `segmentation` (run lengths), and for kind keypoints `keypoints`
            (x, y and any third number per point).
        kind: bbox, segm or keypoints.
    """
    results = [dict(one) for one in found]
    if kind == "keypoints":  # as COCO's results have it, which have no box
        results = [{k: v for k, v in one.items() if k != "bbox"} for one in results]
    with redirect_stdout(io.StringIO()):  # pycocotools tells what it does
        known = indexed(truth)
        if kind != "keypoints" and "neg_category_ids" in truth["images"][0]:
            return _long_tail(known, results, kind)
        if not found:
            to_find = any(_counts(annotation, kind) for annotation in truth["annotations"])
            return dict.fromkeys(NAMES[kind][:3], 0.0) if to_find else {}
        evaluation = COCOeval(known, known.loadRes(results), kind)
        points = truth["categories"][0].get("keypoints", ())
        if kind == "keypoints" and len(points) != COCO_POINTS:
            evaluation.params.kpt_oks_sigmas = np.full(len(points), POINT_SIGMA)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    shares = zip(NAMES[kind], evaluation.stats, strict=False)
    return {name: 100 * float(share) for name, share in shares if share >= 0}


def _counts(annotation: dict[str, Any], kind: Kind) -> bool:
    """Return whether an object is to be found: no crowd, and with key points where they count."""
    return not annotation["iscrowd"] and (kind != "keypoints" or annotation["num_keypoints"] > 0)


class _Federated(COCOeval):  # type: ignore[misc]
    """COCO's matching for one category, on images where not all its objects may be labelled."""

    def evaluateImg(self, image: int, category: int, *limits: Any) -> Any:
        """Return the matches on an image; where objects may lack labels, nothing is wrong."""
        one = super().evaluateImg(image, category, *limits)
        if one and category in self.cocoGt.imgs[image]["not_exhaustive_category_ids"]:
            one["dtIgnore"] = np.logical_or(one["dtIgnore"], one["dtMatches"] == 0)
        return one


def _long_tail(known: COCO, results: list[dict[str, Any]], kind: Kind) -> dict[str, float]:
    """Return the average precisions by LVIS's rules (arXiv:1908.03195), in percent.

    A category counts on the images where it is labelled alone: those with an object of it, and
    those with it among `neg_category_ids`. Where it is in `not_exhaustive_category_ids`, a
    detection without an object is ignored. Of an image the 300 surest detections count. The means
    are over categories with an object: all, and the rare, common and frequent ones.
    """
    surest: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for one in sorted(results, key=lambda one: -one["score"]):
        surest[one["image_id"]].append(one)
    kept = [one for of_image in surest.values() for one in of_image[:LVIS_MOST]]
    found = known.loadRes(kept) if kept else indexed(known.dataset | {"annotations": []})
    labelled: dict[int, set[int]] = defaultdict(set)
    for image in known.dataset["images"]:
        for category in image["neg_category_ids"]:
            labelled[category].add(image["id"])
    for annotation in known.dataset["annotations"]:
        labelled[annotation["category_id"]].add(annotation["image_id"])
    by_frequency: dict[str, list[list[float]]] = {"r": [], "c": [], "f": []}
    for category in known.dataset["categories"]:
        evaluation = _Federated(known, found, kind)
        evaluation.params.catIds = [category["id"]]
        evaluation.params.imgIds = sorted(labelled[category["id"]])
        evaluation.params.maxDets = [LVIS_MOST]
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.evaluate()
        evaluation.accumulate()
        by_overlap = evaluation.eval["precision"][:, :, 0, 0, 0].mean(axis=1)
        if by_overlap[0] >= 0:
            numbers = [by_overlap.mean(), by_overlap[0], by_overlap[AT_75]]
            by_frequency[category["frequency"]].append(numbers)
    every = [numbers for of_all in by_frequency.values() for numbers in of_all]
    means = dict(zip(NAMES[kind][:3], np.mean(every, axis=0), strict=True)) if every else {}
    of = NAMES[kind][0].removeprefix("ap")
    for name, of_all in zip(OF_TAIL, by_frequency.values(), strict=True):
        if of_all:
            means[f"{name}{of}"] = np.mean(of_all, axis=0)[0]
    return {name: 100 * float(share) for name, share in means.items()}
