"""torchvision's Faster, Mask and Keypoint R-CNN with an encoder of bench as backbone.

Faster R-CNN: arXiv:1506.01497; masks and key points: arXiv:1703.06870.

Shapes: n regions or detections of an image, C classes and the background, H x W pixels.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import (
    FasterRCNN,
    FastRCNNConvFCHead,
    FastRCNNPredictor,
    TwoMLPHead,
)
from torchvision.models.detection.keypoint_rcnn import (
    KeypointRCNN,
    KeypointRCNNHeads,
    KeypointRCNNPredictor,
)
from torchvision.models.detection.mask_rcnn import MaskRCNN, MaskRCNNHeads, MaskRCNNPredictor
from torchvision.ops import FeaturePyramidNetwork, MultiScaleRoIAlign
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool

from bench.cells.datasets import Triple
from bench.cells.detection import (
    BOX_SIDE,
    C4_SIDE,
    DEEP_HEAD,
    KEYPOINT_HEAD,
    KEYPOINTS,
    MASK,
    MASK_SIDE,
    Detection,
)
from bench.networks.encoder import PartlyStill
from bench.networks.resnet import ResNet

ANCHORS = 5  # sizes of the anchors where there is one level
RATIOS = (0.5, 1.0, 2.0)  # height over width of an anchor
SAMPLES = 2  # per bin of a region and direction

MODELS = {"faster-rcnn": FasterRCNN, MASK: MaskRCNN, KEYPOINTS: KeypointRCNN}


@contextmanager
def torch_seeded(seed: int) -> Iterator[None]:
    """Context manager that seeds torch's global generators and restores them afterwards.

    Args:
        seed: seed below 2**63.
    """
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield


class Stages(nn.Module):
    """The first stages of an encoder, with the outputs of selected stages."""

    def __init__(self, encoder: ResNet, wanted: Sequence[str]) -> None:
        """Take the layers over up to the last wanted stage; they are the encoder's own."""
        super().__init__()
        layers = OrderedDict[str, nn.Module]()
        for name, layer in encoder.named_children():
            layers[name] = layer
            if name == wanted[-1]:
                break
        self.layers, self.wanted = nn.ModuleDict(layers), tuple(wanted)

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        """Return features of images (B, 3, H, W) by '0', '1', ..., from fine to coarse."""
        found = OrderedDict[str, Tensor]()
        for name, layer in self.layers.items():
            x = layer(x)
            if name in self.wanted:
                found[str(len(found))] = x
        return found


class DetectorBackbone(nn.Sequential):
    """Stages of an encoder, followed by a feature pyramid if there is one."""

    def __init__(self, stages: Stages, pyramid: nn.Module | None, out_channels: int) -> None:
        """Say how many channels each level has, as torchvision's detectors ask."""
        super().__init__(stages, *([] if pyramid is None else [pyramid]))
        self.out_channels = out_channels


class Detector(PartlyStill):
    """A detector for training and evaluation."""

    def __init__(self, model: FasterRCNN, still: Sequence[nn.Module]) -> None:
        """Name the modules that neither learn nor change their statistics."""
        super().__init__()
        self.model = model
        self.keep_still(still)

    def losses(self, images: list[Tensor], targets: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Return the scalar losses of a batch by name; training minimises their sum.

        Args:
            images: images of any size, (3, H, W) each, in [0, 1].
            targets: for each image, `boxes` (n, 4) in pixels (left, top, right, bottom), `labels`
                (n,) from 1, and, if needed, `masks` (n, H, W) or `keypoints` (n, P, 3): x, y and
                whether it is labelled.
        """
        found: dict[str, Tensor] = self.model(images, targets)
        return found

    @torch.no_grad()
    def detections(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
        """Return boxes, labels and scores for each image, and masks or key points if any.

        Mask values are in [0, 1].

        Args:
            images: images of any size, (3, H, W) each, in [0, 1].
        """
        found: list[dict[str, Tensor]] = self.model(images)
        return found


def make_detector(
    cell: Detection,
    encoder: ResNet,
    *,
    classes: int,
    points: int,
    mean: Triple,
    std: Triple,
    seed: int,
) -> Detector:
    """Return the cell's detector; it reuses the encoder's layers.

    Args:
        cell: defines the detector.
        encoder: the backbone, with plain batch norm.
        classes: number of object classes, without the background.
        points: number of key points per object, if there are any.
        mean: mean of each image channel, for pixels in [0, 1].
        std: standard deviation of each image channel.
        seed: seed of all new weights.
    """
    stages = [name for name, _ in encoder.named_children() if name.startswith("layer")]
    norm = nn.BatchNorm2d if cell.head_norm == "batch" else None
    with torch_seeded(seed):
        parts = (
            _pyramid(cell, encoder, stages, classes, norm)
            if cell.neck == "fpn"
            else _c4(cell, encoder, stages, classes)
        )
        if cell.detector != MASK:  # which are made nevertheless, so that no other draw moves
            parts = {name: part for name, part in parts.items() if not name.startswith("mask_")}
        if cell.detector == KEYPOINTS:
            parts |= _of_keypoints(cell, len(stages), points)
        model = MODELS[cell.detector](
            **parts,
            image_mean=list(mean), image_std=list(std),
            min_size=cell.shorter_side, max_size=cell.longer_side,
            rpn_pre_nms_top_n_train=2 * cell.proposals, rpn_pre_nms_top_n_test=cell.proposals,
            rpn_post_nms_top_n_train=2 * cell.proposals, rpn_post_nms_top_n_test=cell.proposals,
            box_batch_size_per_image=cell.sampled_regions,
            box_detections_per_img=cell.detections, box_score_thresh=cell.least_score,
        )  # fmt: skip
    return Detector(model, list(_standing_still(cell, encoder, model)))


def _standing_still(cell: Detection, encoder: ResNet, model: FasterRCNN) -> Iterator[nn.Module]:
    """Yield a frozen backbone's stages, and batch norm of the encoder that keeps its statistics."""
    if cell.frozen_backbone:
        yield model.backbone[0]
    if cell.backbone_bn == "stored":
        yield from (m for m in encoder.modules() if isinstance(m, nn.BatchNorm2d))


def _pyramid(
    cell: Detection,
    encoder: ResNet,
    stages: list[str],
    classes: int,
    norm: Callable[..., nn.Module] | None,
) -> dict[str, Any]:
    """Return the parts of a detector on a feature pyramid (arXiv:1612.03144)."""
    channels, units = cell.region_channels, cell.head_units
    pyramid = FeaturePyramidNetwork(
        _channels(encoder, stages), channels, extra_blocks=LastLevelMaxPool(), norm_layer=norm
    )
    levels = [str(i) for i in range(len(stages))]
    box_head = (
        TwoMLPHead(channels * BOX_SIDE**2, units)
        if cell.box_head == "two-linear"
        else FastRCNNConvFCHead(
            (channels, BOX_SIDE, BOX_SIDE), [channels] * DEEP_HEAD, [units], norm_layer=norm
        )
    )
    return {
        "backbone": DetectorBackbone(Stages(encoder, stages), pyramid, channels),
        "rpn_anchor_generator": AnchorGenerator(
            tuple((cell.anchor_size * 2**i,) for i in range(len(levels) + 1)),
            (RATIOS,) * (len(levels) + 1),
        ),
        "box_roi_pool": MultiScaleRoIAlign(levels, BOX_SIDE, SAMPLES),
        "box_head": box_head,
        "box_predictor": FastRCNNPredictor(units, classes + 1),
        "mask_roi_pool": MultiScaleRoIAlign(levels, MASK_SIDE, SAMPLES),
        "mask_head": MaskRCNNHeads(channels, (channels,) * DEEP_HEAD, 1, norm_layer=norm),
        "mask_predictor": MaskRCNNPredictor(channels, channels, classes + 1),
    }


def _of_keypoints(cell: Detection, levels: int, points: int) -> dict[str, Any]:
    """Return the parts that find key points in regions of a pyramid with so many levels."""
    channels = 2 * cell.region_channels
    return {
        "keypoint_roi_pool": MultiScaleRoIAlign(list(map(str, range(levels))), MASK_SIDE, SAMPLES),
        "keypoint_head": KeypointRCNNHeads(cell.region_channels, (channels,) * KEYPOINT_HEAD),
        "keypoint_predictor": KeypointRCNNPredictor(channels, points),
    }


def _c4(cell: Detection, encoder: ResNet, stages: list[str], classes: int) -> dict[str, Any]:
    """Return the parts of a detector whose region heads share the encoder's last stage.

    Regions are cut from the stage before it, as Mask R-CNN does without a pyramid.
    """
    last = encoder.get_submodule(stages[-1])
    (channels,) = _channels(encoder, stages[-2:-1])
    sizes = tuple(cell.anchor_size * 2**i for i in range(ANCHORS))
    return {
        "backbone": DetectorBackbone(Stages(encoder, stages[-2:-1]), None, channels),
        "rpn_anchor_generator": AnchorGenerator((sizes,), (RATIOS,)),
        "box_roi_pool": MultiScaleRoIAlign(["0"], C4_SIDE, SAMPLES),
        "box_head": nn.Sequential(last, nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        "box_predictor": FastRCNNPredictor(encoder.feature_dim, classes + 1),
        "mask_roi_pool": MultiScaleRoIAlign(["0"], C4_SIDE, SAMPLES),
        "mask_head": last,
        "mask_predictor": MaskRCNNPredictor(encoder.feature_dim, cell.region_channels, classes + 1),
    }


def _channels(encoder: ResNet, stages: Sequence[str]) -> list[int]:
    """Return the channels behind each of these stages."""
    found = []
    for name in stages:
        block = encoder.get_submodule(name)[-1]  # type: ignore[index]
        found.append(block.get_submodule(block.last_conv).out_channels)
    return found
