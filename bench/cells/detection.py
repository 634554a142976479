"""The cell of `detection`: a detector with an encoder of `pretrain` as backbone.

This module needs neither torch nor files; `bench/networks/detector.py` builds the detector.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.cells.architectures import ARCHITECTURES
from bench.cells.axes import Fraction
from bench.cells.cell import later
from bench.cells.datasets import BOXED_SETS, DRAWN, KEY_SHAPES, Demand, Learnt
from bench.cells.pretrain import TransferCell

MASK, KEYPOINTS = "mask-rcnn", "keypoint-rcnn"
LEARNT: dict[str, Learnt] = {"faster-rcnn": "boxes", MASK: "masks", KEYPOINTS: "keypoints"}
OF_BOXES = ("ap_bbox", "ap50_bbox", "ap75_bbox", "aps_bbox", "apm_bbox", "apl_bbox")
OF_MASKS = ("ap_mask", "ap50_mask", "ap75_mask")
OF_KEYPOINTS = ("ap_keypoint", "ap50_keypoint", "ap75_keypoint")
OF_TAIL = ("apr", "apc", "apf")
"""Suffixes of metrics on LVIS's rare, common and frequent categories, after `_bbox` or `_mask`."""
DROP = 0.1
"""Factor by which a drop multiplies the learning rate."""
ONE_X = 90_000 * 16  # images that a detector sees in the schedule that the field calls 1x
BOX_SIDE, MASK_SIDE, C4_SIDE = 7, 14, 14  # of a region that is cut from features
DEEP_HEAD = 4  # convolutions of the head 'four-conv', and of the mask head
KEYPOINT_HEAD = 8  # convolutions of the key-point head


class Detection(TransferCell):
    """A Faster, Mask or Keypoint R-CNN with an encoder of `pretrain` as backbone."""

    experiment: Literal["detection"]
    version: Literal[1] = 1
    detect_dataset: Annotated[str, Field(pattern=r"^\w[\w.+-]*$", max_length=100)]
    """Images with boxes: a set that is drawn in code, such as `shapes`, or a folder in COCO
    format."""
    detect_images: PositiveInt | None = None
    """Number of training images of the detector, taken from the start of a fixed random order;
    null: all images."""

    detector: Literal["faster-rcnn", "mask-rcnn", "keypoint-rcnn"]
    """Whether the detector predicts boxes only, or also masks or key points."""
    neck: Literal["fpn", "c4"]
    """Where the features of a region are taken from: a feature pyramid (fpn), or the last but one
    stage of the backbone (c4)."""
    box_head: Literal["two-linear", "four-conv"] | None = None
    """Head that classifies the regions with neck 'fpn'; null with neck 'c4', where the last stage
    of the backbone is this head."""
    head_norm: Literal["none", "batch"] = "none"
    """Whether the pyramid and the region heads, which are not pretrained, have batch norm."""
    frozen_backbone: bool
    """Whether the weights of the backbone stay fixed. With neck 'c4', its last stage is a region
    head and is trained in any case."""
    backbone_bn: Literal["stored", "batch"] = "stored"
    """Batch norm of the backbone: with its stored statistics and scales (stored), or trained with
    the statistics of each batch (batch)."""
    anchor_size: PositiveInt = 32
    """Side in pixels of the smallest anchor. Each further anchor is twice as large: neck 'c4' has
    four of them, neck 'fpn' one per further level of the pyramid."""
    region_channels: PositiveInt = 256
    """Channels of the pyramid and of the mask head; the key-point head has twice as many."""
    head_units: PositiveInt = 1024
    """Number of units of the linear layers that classify a region with neck 'fpn'."""
    proposals: PositiveInt = 1000
    """Number of regions proposed per test image; a training image gets twice as many."""
    sampled_regions: PositiveInt = 512
    """Number of proposed regions per training image that the region heads learn from."""
    detections: PositiveInt = later(100)
    """Largest number of detections per test image; those with the highest scores are kept."""
    least_score: Fraction = later(0.05)
    """Score below which detections are discarded."""

    shorter_side: PositiveInt = 800
    """Pixels to which the shorter side of an image is resized."""
    shorter_side_from: PositiveInt | None = None
    """Smallest shorter side of a training image, drawn between this and shorter_side; null:
    shorter_side."""
    longer_side: PositiveInt = 1333
    """Largest number of pixels of the longer side of an image."""
    flips: bool = True
    """Whether a training image is mirrored with probability 1/2."""

    detect_epochs: PositiveInt | None = None
    """Number of epochs; null if detect_steps is given."""
    detect_steps: PositiveInt | None = None
    """Number of training steps; null if detect_epochs is given."""
    detect_batch_size: PositiveInt
    """Number of images per step."""
    detect_lr: PositiveFloat
    """Learning rate of the whole detector, for steps of `detect_batch_size` images."""
    detect_momentum: Fraction = 0.9
    """Momentum of SGD."""
    detect_weight_decay: NonNegativeFloat
    """Weight decay: this number times a weight is added to its gradient."""
    detect_drops: Annotated[str, Field(pattern=r"^\d+(,\d+)*$")] | None = None
    """When the learning rate falls to a tenth, in the unit of the training (epochs or steps), such
    as '8,11'."""
    detect_warmup_steps: NonNegativeInt = 0
    """Number of steps at the start in which the learning rate rises linearly from 0."""

    of_network: ClassVar[tuple[str, ...]] = ("arch", "stem", "width", "zero_init_residual", "seed")
    sizes: ClassVar[tuple[str, ...]] = (
        "detector", "neck", "arch", "stem", "width", "shorter_side", "detect_batch_size",
    )  # fmt: skip
    metrics: ClassVar[tuple[str, ...]] = (
        *OF_BOXES, *OF_MASKS, *OF_KEYPOINTS,
        *(f"{ap}_{of}" for of in ("bbox", "mask") for ap in OF_TAIL), "train_loss",
    )  # fmt: skip

    @model_validator(mode="after")
    def _detector_agrees(self) -> Self:
        if self.arch not in ARCHITECTURES or self.colour != "rgb":
            raise ValueError("a detector needs a residual network as arch, and colour 'rgb'")
        if (self.box_head is None) != (self.neck == "c4"):
            raise ValueError("box_head must be set with neck 'fpn' and left out with neck 'c4'")
        if self.learns == "keypoints":
            if self.neck == "c4":
                raise ValueError("detector 'keypoint-rcnn' needs neck 'fpn'")
            if self.detect_dataset in DRAWN - {KEY_SHAPES}:
                raise ValueError(
                    f"detect_dataset '{self.detect_dataset}' has no key points; use "
                    f"'{KEY_SHAPES}', which has them"
                )
        if self.frozen_backbone and self.backbone_bn == "batch":
            raise ValueError(
                "backbone_bn 'batch' cannot be combined with frozen_backbone: a frozen "
                "backbone has a frozen BN"
            )
        if (
            self.shorter_side_from or 1
        ) > self.shorter_side or self.shorter_side > self.longer_side:
            raise ValueError(
                "shorter_side_from may not exceed shorter_side, and shorter_side may not exceed "
                "longer_side"
            )
        return self

    @model_validator(mode="after")
    def _schedule_agrees(self) -> Self:
        if (self.detect_epochs is None) == (self.detect_steps is None):
            raise ValueError("exactly one of detect_epochs and detect_steps must be set")
        length = self.detect_epochs or self.detect_steps or 0
        if self.drops and self.drops[-1] >= length:
            unit = "detect_epochs" if self.detect_epochs else "detect_steps"
            raise ValueError(
                f"detect_drops is {self.detect_drops}, but each drop of the learning "
                f"rate must come before the end of the training, {unit} = {length}"
            )
        if self.detect_steps is not None and self.detect_warmup_steps > self.detect_steps:
            raise ValueError(
                f"detect_warmup_steps is {self.detect_warmup_steps}, above "
                f"detect_steps = {self.detect_steps}"
            )
        return self

    @property
    def learns(self) -> Learnt:
        """The targets of the detector for each object: boxes, masks or key points."""
        return LEARNT[self.detector]

    @property
    def drops(self) -> list[int]:
        """Epochs or steps at which the learning rate drops, in order."""
        return sorted(int(part) for part in (self.detect_drops or "").split(",") if part)

    @property
    def schedule(self) -> str | None:
        """'1x' if the detector sees about as many images as the common 1x schedule."""
        if self.detect_epochs is not None:
            return "1x" if self.detect_epochs == 12 else None
        return "1x" if (self.detect_steps or 0) * self.detect_batch_size == ONE_X else None

    @property
    def own_epochs(self) -> int | None:
        """Epochs of the detector's training; None if it is counted in steps."""
        return self.detect_epochs

    @property
    def looks_at(self) -> tuple[str, ...]:
        """Data set of the pretraining, not of the detector; none from scratch."""
        return (self.dataset,) if self.start == "pretrained" else ()

    @property
    def work(self) -> float:
        """Images seen by the detector, including test images, times pixels and squared width."""
        size = BOXED_SETS.get(self.detect_dataset, BOXED_SETS["coco"])
        epoch = min(self.detect_images or size.train, size.train)
        seen = (self.detect_epochs or 0) * epoch
        seen += (self.detect_steps or 0) * self.detect_batch_size + size.test
        return float(seen * self.shorter_side**2 * self.width**2)

    def asked_of_data(self) -> list[Demand]:
        """Return the requirements of the pretraining and of the detector on their data sets."""
        own = []
        if (size := BOXED_SETS.get(self.detect_dataset)) is not None:
            limit = f"data set {self.detect_dataset} has only {size.train} training images"
            own = [Demand("detect_images", self.detect_images or 0, size.train, limit)]
        return super().asked_of_data() + own
