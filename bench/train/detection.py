"""Training state of a detector for the loop of `pretrain`, and its test.

Shapes: n objects of an image, H x W pixels.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from typing import Any

import numpy as np
import torch
from pycocotools import mask as rle
from torch import Tensor
from torch.optim import Optimizer

from bench.cells.datasets import IMAGENET_MEAN, IMAGENET_STD, Learnt
from bench.cells.detection import DROP, Detection
from bench.data.boxed import HALF_A_PIXEL, BoxedPart, BoxedSet
from bench.data.labelled import Rows
from bench.data.streams import Purpose, stream
from bench.environment import cores
from bench.errors import DataFailure
from bench.evaluate.average_precision import Kind, average_precision
from bench.methods.online_network import Online, copied_backbone
from bench.networks.detector import Detector, make_detector, torch_seeded
from bench.networks.resnet import ResNet
from bench.train.optimisers import learning_rate, make_optimiser
from bench.train.trainable import EpochMeans, FiniteLosses, Trainable

SEEDS = 2**62  # of torch's generators
HALF = 0.5  # probability from which a pixel is of an object
BoxTarget = dict[str, Tensor]
MEASURED: dict[Learnt, tuple[Kind, ...]] = {
    "boxes": ("bbox",), "masks": ("bbox", "segm"), "keypoints": ("bbox", "keypoints"),
}  # fmt: skip
"""Kinds of predictions that average precision is computed for."""


class Scenes:
    """Images and their objects by index; the next step's images are prefetched."""

    def __init__(self, part: BoxedPart, learns: Learnt) -> None:
        """Decode with as many threads as there are cores."""
        self.part, self.learns = part, learns
        self._threads = ThreadPoolExecutor(cores(), thread_name_prefix="decode")
        self._ahead: dict[tuple[int, ...], list[Future[tuple[Tensor, BoxTarget]]]] = {}

    def shown(self, rows: Rows, following: Rows) -> list[tuple[Tensor, BoxTarget]]:
        """Return the images (3, H, W) in [0, 1] of some rows, with their targets.

        Args:
            rows: indices of the images.
            following: indices of the next images, to prefetch.
        """
        begun = self._ahead.pop(tuple(rows), None) or self._begin(rows)
        self._ahead = {tuple(following): self._begin(following)}
        return [one.result() for one in begun]

    def _begin(self, rows: Rows) -> list[Future[tuple[Tensor, BoxTarget]]]:
        return [self._threads.submit(self._one, int(row)) for row in rows]

    def _one(self, row: int) -> tuple[Tensor, BoxTarget]:
        objects = self.part.objects(row, self.learns)
        target = {
            "boxes": torch.from_numpy(objects.boxes),
            "labels": torch.from_numpy(objects.labels),
        }
        if self.learns != "boxes":
            target[self.learns] = torch.from_numpy(getattr(objects, self.learns))
        return as_tensor(self.part, row), target


class Detecting(Trainable):
    """Training state of a detector, and its test."""

    cell: Detection
    online: Detector
    probes: EpochMeans

    def __init__(
        self, cell: Detection, images: BoxedSet, device: str, encoder: Online | None
    ) -> None:
        """Put a detector on an encoder, drawn from the cell's seed.

        Args:
            cell: whose protocol is followed.
            images: with boxes, and with masks where the detector finds them.
            device: cpu or cuda.
            encoder: what was trained, which stays as it is; None: from scratch.

        Raises:
            DataFailure: fewer images with an object than the cell asks for, or than one step takes.
        """
        self.cell, self.device, self.images = cell, device, images
        self.fingerprint = images.fingerprint
        self.rows = chosen_rows(cell, images.train)
        self.losses = FiniteLosses(device, at_once=device == "cpu")
        self.scenes = Scenes(images.train, cell.learns)
        per_epoch = len(self.rows) // cell.detect_batch_size
        self.steps = cell.detect_steps or (cell.detect_epochs or 0) * per_epoch
        self.steps_an_epoch = min(per_epoch, self.steps)
        self.online = network(cell, images.train, encoder).to(device)
        self.optimiser = _optimiser(cell, self.online)
        self.probes = EpochMeans(("train_loss",)).to(device)

    def step(self, step: int) -> None:
        """Do one optimiser step on the sum of the detector's losses.

        Raises:
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """
        images, targets = self._shown(step)
        draw = stream(self.cell.seed, Purpose.TRAIN, step)
        with torch_seeded(int(draw.integers(SEEDS))):  # which anchors and regions are learnt from
            loss = torch.stack(list(self.online.losses(images, targets).values())).sum()
        self.descend(step, loss)
        self.probes.add(loss.detach().expand(1, len(images)))

    def _shown(self, step: int) -> tuple[list[Tensor], list[BoxTarget]]:
        """Return the images of a step and what is on them, mirrored and sized as drawn."""
        cell = self.cell
        scenes = self.scenes.shown(
            self._rows_of(step), self._rows_of(min(step + 1, self.steps - 1))
        )
        draw = stream(cell.seed, Purpose.VIEWS, step)
        if cell.shorter_side_from is not None:
            side = int(draw.integers(cell.shorter_side_from, cell.shorter_side + 1))
            self.online.model.transform.min_size = (side,)
        mirrored = draw.random(len(scenes)) < (0.5 if cell.flips else 0.0)
        points = self.scenes.part.mirrored_points
        turned = [flipped(*s, points) if m else s for s, m in zip(scenes, mirrored, strict=True)]
        images = [image.to(self.device) for image, _ in turned]
        return images, [{k: v.to(self.device) for k, v in t.items()} for _, t in turned]

    def _rows_of(self, step: int) -> Rows:
        """Return the positions of a step's images, in a new random order each epoch."""
        size = self.cell.detect_batch_size
        epoch, place = divmod(step, len(self.rows) // size)
        order = stream(self.cell.seed, Purpose.ORDER, epoch).permutation(len(self.rows))
        return self.rows[order[place * size : (place + 1) * size]]

    def rate(self, step: int) -> float:
        """Return the learning rate at a step."""
        unit = 1 if self.cell.detect_steps is not None else self.steps_an_epoch
        return learning_rate(
            step,
            lr=self.cell.detect_lr,
            steps=self.steps,
            warmup_steps=min(self.cell.detect_warmup_steps, self.steps),
            schedule="step",
            drops=[drop * unit for drop in self.cell.drops],
            factor=DROP,
        )

    def precisions(self, part: BoxedPart | None = None) -> dict[str, float]:
        """Return the average precisions on a part, in percent.

        Args:
            part: part with the images; None means the test part.
        """
        part = part or self.images.test
        found = [one for row in range(len(part.images)) for one in self.found_on(part, row)]
        precisions: dict[str, float] = {}
        for kind in MEASURED[self.cell.learns]:
            precisions |= average_precision(part.annotations, found, kind)
        return precisions

    def found_on(self, part: BoxedPart, row: int) -> list[dict[str, Any]]:
        """Return the detections on an image in COCO's result format.

        Args:
            part: part with the images.
            row: index of the image.
        """
        self.online.eval()
        self.online.model.transform.min_size = (self.cell.shorter_side,)
        (found,) = self.online.detections([as_tensor(part, row).to(self.device)])
        return list(detected(part, row, found))


def network(cell: Detection, part: BoxedPart, encoder: Online | None) -> Detector:
    """Return the cell's detector on a copy of the encoder, or from scratch.

    Args:
        cell: cell that defines the network.
        part: part with the images, which defines the numbers of categories and key points.
        encoder: the trained encoder; None means from scratch.
    """
    backbone = copied_backbone(cell.trained, encoder)
    assert isinstance(backbone, ResNet)  # the record allows no other
    seed = int(stream(cell.seed, Purpose.INIT, 1).integers(SEEDS))
    counts = {"classes": len(part.labels), "points": len(part.points)}
    return make_detector(cell, backbone, mean=IMAGENET_MEAN, std=IMAGENET_STD, seed=seed, **counts)


def _optimiser(cell: Detection, online: Detector) -> Optimizer:
    learning = ((name, w) for name, w in online.named_parameters() if w.requires_grad)
    return make_optimiser(
        learning,
        optimizer="sgd",
        lr=cell.detect_lr,
        momentum=cell.detect_momentum,
        weight_decay=cell.detect_weight_decay,
        exempt=False,
    )


def chosen_rows(cell: Detection, part: BoxedPart) -> Rows:
    """Return the indices of training images, in order: all with an object, or some of them.

    Raises:
        DataFailure: there are fewer images than the cell requires, or than one step needs.
    """
    there = part.learnable
    wanted = len(there) if cell.detect_images is None else cell.detect_images
    if wanted > len(there):
        raise DataFailure(f"detect_images is {wanted}, but only {len(there)} images have an object")
    if wanted < cell.detect_batch_size:
        raise DataFailure(
            f"a step needs {cell.detect_batch_size} images, but there are only {wanted}"
        )
    order = stream(0, Purpose.DATA, wanted).permutation(len(there))
    return there[np.sort(order[:wanted])]


def as_tensor(part: BoxedPart, row: int) -> Tensor:
    """Return an image as float32 (3, H, W) in [0, 1].

    Args:
        part: part with the images.
        row: index of the image.
    """
    return torch.from_numpy(np.array(part.read(row))).permute(2, 0, 1).float() / 255


def flipped(
    image: Tensor, target: BoxTarget, points: Sequence[int] = ()
) -> tuple[Tensor, BoxTarget]:
    """Return an image (3, H, W) mirrored left to right, with its targets.

    Args:
        image: image of any size, (3, H, W).
        target: boxes, and optional masks or key points.
        points: index of the mirror image of each key point.
    """
    turned, width = copy(target), image.shape[-1]
    left, top, right, bottom = target["boxes"].unbind(dim=1)
    turned["boxes"] = torch.stack([width - right, top, width - left, bottom], dim=1)
    if "masks" in target:
        turned["masks"] = target["masks"].flip(-1)
    if "keypoints" in target:
        x, y, label = target["keypoints"][:, list(points)].unbind(dim=-1)
        turned["keypoints"] = torch.stack([width - x, y, label], dim=-1)
    return image.flip(-1), turned


def detected(part: BoxedPart, row: int, found: dict[str, Tensor]) -> Iterator[dict[str, Any]]:
    """Yield the detections on an image in COCO's result format.

    Args:
        part: part with the images.
        row: index of the image.
        found: boxes (n, 4), labels (n,), scores (n,), and optional masks (n, 1, H, W) or keypoints
            (n, P, 3).
    """
    categories = {label: category for category, label in part.labels.items()}
    boxes, scores = found["boxes"].double().cpu().numpy(), found["scores"].double().tolist()
    for i, label in enumerate(found["labels"].tolist()):
        left, top, right, bottom = boxes[i].tolist()
        one: dict[str, Any] = {"image_id": part.images[row]["id"], "score": scores[i]}
        one |= {"category_id": categories[label], "bbox": [left, top, right - left, bottom - top]}
        if "masks" in found:
            mask = (found["masks"][i, 0] >= HALF).cpu().numpy()
            one["segmentation"] = rle.encode(np.asfortranarray(mask, dtype=np.uint8))
        if "keypoints" in found:
            points = found["keypoints"][i].double().cpu()
            points[:, :2] -= HALF_A_PIXEL
            one["keypoints"] = points.flatten().tolist()
        yield one
