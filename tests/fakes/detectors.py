"""Small detectors on drawn shapes."""

from typing import Any

from bench.cells.detection import Detection
from bench.cells.pretrain import Pretrain
from bench.data.shapes import draw_shapes
from bench.methods.online_network import Online
from bench.train.detection import Detecting
from tests.fakes.cells import small_cell

TRAINED = small_cell()
DETECTOR: dict[str, Any] = {
    "experiment": "detection", "detect_dataset": "shapes", "detect_images": 6,
    "detector": "faster-rcnn", "neck": "fpn", "box_head": "two-linear", "frozen_backbone": False,
    "anchor_size": 8, "region_channels": 8, "head_units": 16, "proposals": 10,
    "sampled_regions": 8, "shorter_side": 64, "longer_side": 64, "detect_epochs": 2,
    "detect_batch_size": 2, "detect_lr": 0.02, "detect_weight_decay": 1e-4,
}  # fmt: skip
C4: dict[str, Any] = {"neck": "c4", "box_head": None}


def detecting_cell(trained: Pretrain = TRAINED, **changes: Any) -> Detection:
    own = trained.model_dump(exclude={"experiment", "version"})
    return Detection.model_validate(own | DETECTOR | changes)


def detecting(cell: Detection, encoder: Online | None = None) -> Detecting:
    return Detecting(cell, draw_shapes(cell.detect_dataset), "cpu", encoder)
