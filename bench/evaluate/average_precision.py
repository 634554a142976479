"""Average precision of boxes and masks as COCO computes it, by pycocotools."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

NAMES = {
    "bbox": ("ap_bbox", "ap50_bbox", "ap75_bbox", "aps_bbox", "apm_bbox", "apl_bbox"),
    "segm": ("ap_mask", "ap50_mask", "ap75_mask"),
}
"""What papers call the first numbers of COCO's summary: mean over the overlaps 0.5 to 0.95, at 0.5
and at 0.75; then of objects with an area below 32^2, below 96^2 and from there on, in pixels."""


def average_precision(
    truth: dict[str, Any], found: Sequence[dict[str, Any]], kind: str
) -> dict[str, float]:
    """Return the average precisions in percent; one without an object to find is left out.

    Args:
        truth: COCO's keys images, annotations and categories.
        found: of each detection image_id, category_id, score, `bbox` (left, top, width, height),
            and for kind segm `segmentation` (run lengths).
        kind: bbox or segm.
    """
    with redirect_stdout(io.StringIO()):  # pycocotools tells what it does
        known = COCO()
        known.dataset = truth
        known.createIndex()
        if not found:
            areas = {annotation["iscrowd"] for annotation in truth["annotations"]}
            return dict.fromkeys(NAMES[kind][:3], 0.0) if 0 in areas else {}
        evaluation = COCOeval(known, known.loadRes([dict(one) for one in found]), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    shares = zip(NAMES[kind], evaluation.stats, strict=False)
    return {name: 100 * float(share) for name, share in shares if share >= 0}
