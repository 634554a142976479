"""Average precision of boxes and masks as COCO computes it, by pycocotools."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

from pycocotools.cocoeval import COCOeval

from bench.cells.detection import OF_BOXES, OF_MASKS
from bench.data.boxed import indexed

NAMES = {"bbox": OF_BOXES, "segm": OF_MASKS}
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
    if not found:
        crowds = [annotation["iscrowd"] for annotation in truth["annotations"]]
        return {} if all(crowds) else dict.fromkeys(NAMES[kind][:3], 0.0)
    known = indexed(truth)
    with redirect_stdout(io.StringIO()):  # pycocotools tells what it does
        evaluation = COCOeval(known, known.loadRes([dict(one) for one in found]), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    shares = zip(NAMES[kind], evaluation.stats, strict=False)
    return {name: 100 * float(share) for name, share in shares if share >= 0}
