"""The evaluations of a trained encoder: each gives metrics, each has its protocol in the cell."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from bench.config.linear_protocols import LINEAR_PROTOCOLS
from bench.config.pretrain import Pretrain
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure
from bench.evaluate.features import Accuracy, Features, extract
from bench.evaluate.few_shot import few_shot
from bench.evaluate.knn import knn_top1
from bench.evaluate.linear import OnlineLinear, linear_top1
from bench.losses import align, uniformity
from bench.methods.method import Online
from bench.train.optimisers import make_optimiser
from bench.train.sources import Part, Source

PARTS: tuple[Part, Part] = ("train", "test")
# kNN while training belongs to the training, so its protocol is no setting of an evaluation.
WATCH_K, WATCH_TAU = 200, 0.1  # cosine; unigrad, released-code-knn
PAIRS_A_BATCH = 512  # of views, for alignment


class Evaluator:
    """Evaluates one encoder for cells that share it: features are extracted once."""

    def __init__(self, cells: Sequence[Pretrain], source: Source) -> None:
        """Take the labelled images of a source: those trained on, and the test images."""
        self.cells, self.source, self.classes = cells, source, source.meta.classes
        self._features = cache(self._extract)
        self._votes = cache(self._vote)

    def fault(self, cell: Pretrain) -> DataFailure | None:
        """Return why an evaluation of the cell cannot be done with these images, if so."""
        labels = self.source.labels["train"]
        counts = torch.bincount(labels[labels >= 0].cpu(), minlength=self.classes)
        there = int(counts.sum())
        if cell.knn_k > there:
            return DataFailure(f"knn_k {cell.knn_k}: there are {there} labelled training images")
        least = int(counts.min())
        if cell.few_shot is not None and cell.few_shot > least:
            return DataFailure(f"few_shot {cell.few_shot}: a class has {least} labelled images")
        return None

    def knn_while_training(self, backbone: nn.Module) -> float:
        """Return the kNN accuracy from the backbone, in percent, by one protocol for all cells."""
        features = self._of(backbone)
        k = min(WATCH_K, len(features.train))
        found = knn_top1(features, k=[k], tau=[WATCH_TAU], classes=self.classes)
        return found[k, WATCH_TAU].top1

    def online_top1(self, head: OnlineLinear, online: Online) -> float:
        """Return the accuracy of the classifier that was trained beside the encoder, in percent."""
        features = extract(online.backbone, self.source.plain("test"))
        return head.top1(features, self.source.labels["test"])

    def evaluate(self, name: str, cell: Pretrain, online: Online) -> dict[str, float]:
        """Return the metrics of an evaluation; none if the cell does not ask for it."""
        return _EVALUATIONS[name](self, cell, online)

    def _of(self, encoder: nn.Module) -> Features:
        train, test = (extract(encoder, self.source.plain(part)) for part in PARTS)
        labels = {part: self.source.labels[part] for part in PARTS}
        labelled = {part: own[own >= 0] for part, own in labels.items()}
        return Features(train, labelled["train"], test, labelled["test"])

    def _extract(self, layer: str, online: Online) -> Features:
        return self._of(encoder_of(layer, online))

    def _vote(
        self, layer: str, metric: str, online: Online
    ) -> dict[tuple[int, float | None], Accuracy]:
        """Return kNN for every k and temperature that one of the cells asks for."""
        alike = [c for c in self.cells if (c.features, c.knn_metric) == (layer, metric)]
        return knn_top1(
            self._features(layer, online),
            k=sorted({c.knn_k for c in alike}),
            tau=sorted({c.knn_tau for c in alike}, key=lambda tau: tau or 0.0),
            metric=alike[0].knn_metric,
            classes=self.classes,
        )

    def knn(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """Vote of the nearest training images."""
        found = self._votes(cell.features, cell.knn_metric, online)[cell.knn_k, cell.knn_tau]
        return {"knn_top1": found.top1, "knn_top5": found.top5}

    def linear(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """A linear classifier on frozen features."""
        if cell.linear is None:
            return {}
        found = linear_top1(
            self._features(cell.features, online),
            protocol=LINEAR_PROTOCOLS[cell.linear],
            classes=self.classes,
            generator=stream(cell.seed, Purpose.EVALUATE, 0),
            optimiser=make_optimiser,
        )
        return {"linear_top1": found.top1, "linear_top5": found.top5}

    def few_shot(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """Classifiers from a few labels a class."""
        if cell.few_shot is None:
            return {}
        return few_shot(
            self._features(cell.features, online),
            labels_a_class=cell.few_shot,
            draws=cell.few_shot_draws,
            generator=stream(cell.seed, Purpose.EVALUATE, 1),
            classes=self.classes,
        )

    def geometry(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """Alignment of two views, uniformity of the test images (arXiv:2005.10242, Sec. 4.1)."""
        encoder = encoder_of(cell.features, online)
        rows = np.arange(len(self.source.labels["test"]))
        order = np.split(rows, range(PAIRS_A_BATCH, len(rows), PAIRS_A_BATCH))
        pairs = self.source.pairs(
            "test", order, lambda step: stream(cell.seed, Purpose.EVALUATE, 2, step)
        )
        sides: tuple[list[Tensor], list[Tensor]] = ([], [])
        for pair in pairs:
            for side, view in zip(sides, pair, strict=True):
                side.append(extract(encoder, [view]))
        test = nn.functional.normalize(self._features(cell.features, online).test, dim=1)
        a, b = (nn.functional.normalize(torch.cat(side), dim=1) for side in sides)
        return {"alignment": float(align(a, b)), "uniformity": float(uniformity(test))}


_EVALUATIONS: dict[str, Callable[[Evaluator, Pretrain, Online], dict[str, float]]] = {
    "knn": Evaluator.knn,
    "linear": Evaluator.linear,
    "few-shot": Evaluator.few_shot,
    "geometry": Evaluator.geometry,
}


def encoder_of(layer: str, online: Online) -> nn.Module:
    """Return what maps images to the features of a layer: the backbone or the projector."""
    return online.backbone if layer == "backbone" else online.embedding
