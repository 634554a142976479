"""Evaluations of a trained encoder; the cell defines the protocol of each."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench.cells.axes import EVALUATIONS, NOWHERE
from bench.cells.baseline import Baseline
from bench.cells.cell import Cell
from bench.cells.finetune import FineTune
from bench.cells.pretrain import TSNE, WATCH_K, WATCH_TAU, Pretrain
from bench.cells.view_recipes import WARPS, Recipe
from bench.data.catalogue import Part
from bench.data.labelled import Rows
from bench.data.streams import Purpose, stream
from bench.data.views.views import Views
from bench.errors import CellFailure, DataFailure
from bench.evaluate.features import Accuracy, Features, class_separation, extract
from bench.evaluate.few_shot import few_shot
from bench.evaluate.knn import knn_top1
from bench.evaluate.linear import OnlineLinear, ViewsOfStep, linear_top1
from bench.evaluate.ranks import effective_rank, lidar, rankme
from bench.experiments.encoder_folder import Layers, encoder_of
from bench.losses import (
    align,
    correlation,
    eigenspace_alignment,
    principal_component_ratio,
    q_b,
    uniformity,
)
from bench.methods.online_network import Online
from bench.methods.own_metric import OwnMetric
from bench.train.optimisers import make_optimiser
from bench.train.sources import EVALUATED_AT_ONCE, ImageSource, views_of

PARTS: tuple[Part, Part] = ("train", "test")
PAIRS_A_BATCH = 512  # of views, for alignment
CROP_FLIP = partial(Views, (Recipe(crop=(0.08, 1.0), flip=0.5),))  # of a size, the field's
LEAST_CLASSES = 2  # of test images
REDRAWN = 3  # pairs of draws of keys
RANKED, RANKED_VIEWS = 1000, 10  # test images of which LiDAR sees so many views


Evaluated = Pretrain | Baseline
"""A cell with evaluations of accuracy."""


class Evaluator:
    """Evaluates one encoder for all cells that share it; features are computed once."""

    def __init__(self, cells: Sequence[Cell], source: ImageSource) -> None:
        """Take the labelled images of a source: those trained on, and the test images."""
        self.cells = [cell for cell in cells if isinstance(cell, Evaluated)]
        self.source, self.classes = source, source.meta.classes
        self._features = cache(self._extract)
        self._votes = cache(self._vote)

    def fault(self, cell: Cell) -> DataFailure | None:
        """Return why an evaluation of the cell is impossible with these images, or None."""
        if isinstance(cell, Pretrain) and cell.evaluated_on == NOWHERE:
            return None
        if not self.classes and isinstance(cell, Evaluated | FineTune | TSNE):
            need = f"the experiment {cell.experiment} needs classes"
            if isinstance(cell, Pretrain):
                need = (
                    "set evaluated_on to a labelled data set, or to 'none', which skips all "
                    "evaluations"
                )
            return DataFailure(f"the images of {cell.dataset} have no classes; {need}")
        if not isinstance(cell, Evaluated):
            return None
        labels = self.source.labels["train"]
        counts = torch.bincount(labels[labels >= 0].cpu(), minlength=self.classes)
        there = int(counts.sum())
        if cell.knn_k > there:
            return DataFailure(
                f"knn_k is {cell.knn_k}, but there are only {there} labelled training images"
            )
        if len(self.source.labels["test"].unique()) < LEAST_CLASSES:
            name = getattr(cell, "evaluated_on", None) or cell.dataset
            return DataFailure(
                f"{name}: the test images have only one class, but at least two are needed"
            )
        wanted = cell.weights_K if isinstance(cell, Pretrain) else None
        if wanted is not None and wanted > len(labels):
            return DataFailure(f"weights_K is {wanted}, but there are only {len(labels)} images")
        least = int(counts.min())
        if cell.few_shot is not None and cell.few_shot > least:
            return DataFailure(
                f"few_shot is {cell.few_shot}, but a class has only {least} labelled images"
            )
        return None

    def watch(self, cell: Pretrain, online: nn.Module) -> dict[str, float]:
        """Return the metrics monitored during training; the training defines their protocols.

        They are kNN accuracy with WATCH_K neighbours on backbone features ("knn") or
        nearest-neighbour accuracy on outputs ("nn": mutual-information, `nn-evaluation`), in
        percent. If the cell requests them, they include the principal component ratio of the test
        images' outputs, and the agreement between the eigenspaces of the predictor and of their
        correlation matrix.
        """
        assert isinstance(online, Online)
        features = self._of(online.backbone if cell.watch == "knn" else online.embedding)
        k, tau = min(WATCH_K, len(features.train)) if cell.watch == "knn" else 1, WATCH_TAU
        votes = knn_top1(features, k=[k], tau=[tau], classes=self.classes)
        metrics = {"knn_top1": votes[k, tau].top1}
        if cell.components or cell.eigenspaces:
            outputs = extract(online.embedding, self.source.plain("test"))
            if cell.norm == "l2":
                outputs = nn.functional.normalize(outputs, dim=1)
            if cell.components:
                metrics["principal_component_ratio"] = float(principal_component_ratio(outputs))
            if cell.eigenspaces:
                weight = online.predictor[0].get_parameter("weight")
                metrics["eigenspace_alignment"] = float(
                    eigenspace_alignment(weight, correlation(outputs))
                )
        return metrics

    def online_top1(self, head: OnlineLinear, online: Online) -> float:
        """Return the test accuracy of the online linear classifier, in percent."""
        features = extract(online.backbone, self.source.plain("test"))
        return head.top1(features, self.source.labels["test"])

    def evaluate(self, name: str, cell: Any, online: Any) -> dict[str, float]:
        """Return the metrics of an evaluation; empty if the cell does not request it.

        Args:
            name: name of the evaluation, such as "knn".
            cell: the cell, whose fields define the protocol.
            online: the trained encoder.

        Raises:
            CellFailure: the metrics differ from those declared in `EVALUATIONS`.
        """
        if not EVALUATIONS[name].is_asked_by(cell):
            return {}
        metrics, declared = _EVALUATIONS[name](self, cell, online), EVALUATIONS[name].metrics
        if metrics.keys() != set(declared):
            raise CellFailure(
                f"evaluation {name} returns the metrics {', '.join(metrics)}, but declares "
                f"{', '.join(declared)}"
            )
        return metrics

    def _of(self, encoder: nn.Module) -> Features:
        train, test = (extract(encoder, self.source.plain(part)) for part in PARTS)
        labels = {part: self.source.labels[part] for part in PARTS}
        labelled = {part: part_labels[part_labels >= 0] for part, part_labels in labels.items()}
        return Features(train, labelled["train"], test, labelled["test"])

    def _extract(self, layer: str, online: Layers, warp: str) -> Features:
        """Return features of the training images, and of the test images as they are or warped."""
        encoder = encoder_of(layer, online)
        if warp == "none":
            return self._of(encoder)
        plain, by = self._features(layer, online, "none"), WARPS[warp]
        test = extract(encoder, self.source.warped(by))
        return Features(plain.train, plain.train_labels, test, plain.test_labels.repeat(by.draws))

    def _vote(
        self, layer: str, metric: str, online: Layers, warp: str
    ) -> dict[tuple[int, float | None], Accuracy]:
        """Return kNN for every k and temperature that one of the cells asks for."""
        alike = [c for c in self.cells if (c.knn_layer, c.knn_metric) == (layer, metric)]
        return knn_top1(
            self._features(layer, online, warp),
            k=sorted({c.knn_k for c in alike}),
            tau=sorted({c.knn_tau for c in alike}, key=lambda tau: tau or 0.0),
            metric=alike[0].knn_metric,
            classes=self.classes,
        )

    def knn(self, cell: Evaluated, online: Layers, warp: str = "none") -> dict[str, float]:
        """Return the kNN accuracy.

        Args:
            cell: sets k, the temperature of the vote, the distance and the layer.
            online: the trained encoder.
            warp: how test images are warped, a key of `WARPS`, or "none".

        Returns:
            knn_top1 and knn_top5, in percent of the test images.
        """
        votes = self._votes(cell.knn_layer, cell.knn_metric, online, warp)
        top = votes[cell.knn_k, cell.knn_tau]
        return {"knn_top1": top.top1, "knn_top5": top.top5}

    def linear(self, cell: Evaluated, online: Layers, warp: str = "none") -> dict[str, float]:
        """Return the accuracy of a linear classifier on frozen features.

        Args:
            cell: sets the protocol of the classifier and the layer.
            online: the trained encoder.
            warp: how test images are warped, a key of `WARPS`, or "none".

        Returns:
            linear_top1 and linear_top5, in percent of the test images.
        """
        protocol, shown = cell.linear_protocol, None
        assert protocol is not None
        if protocol.shown != "image":
            views = CROP_FLIP(cell.image_size) if protocol.shown == "crop-flip" else views_of(cell)
            shown = self._shown(cell, views.first(), online)
        top = linear_top1(
            self._features(cell.features, online, warp),
            protocol=protocol,
            shown=shown,
            classes=self.classes,
            generator=stream(cell.seed, Purpose.EVALUATE, 0),
            optimiser=make_optimiser,
        )
        return {"linear_top1": top.top1, "linear_top5": top.top5}

    def _shown(self, cell: Evaluated, views: Views, online: Layers) -> ViewsOfStep:
        """Return what gives features of a new view of labelled training images in every epoch."""
        source, encoder = copy(self.source), encoder_of(cell.features, online)
        source.views = views
        labels = self.source.labels["train"]
        labelled = (labels >= 0).nonzero().flatten().cpu().numpy()

        def shown(epoch: int, batches: Sequence[Tensor]) -> Iterator[Tensor]:
            parts = [batch.cpu().split(EVALUATED_AT_ONCE) for batch in batches]
            order = [labelled[part.numpy()] for batch in parts for part in batch]
            pairs = source.pairs(
                "train", order, lambda step: stream(cell.seed, Purpose.EVALUATE, 5, epoch, step)
            )
            for batch in parts:
                yield torch.cat([extract(encoder, [next(pairs)[0]]) for _ in batch])

        return shown

    def few_shot(self, cell: Evaluated, online: Layers, warp: str = "none") -> dict[str, float]:
        """Return the accuracy, in percent, of classifiers from a few labels per class.

        Args:
            cell: sets the labels per class, the number of draws, and the layer.
            online: the trained encoder.
            warp: how test images are warped, a key of `WARPS`, or "none".
        """
        assert cell.few_shot is not None
        return few_shot(
            self._features(cell.features, online, warp),
            labels_a_class=cell.few_shot,
            draws=cell.few_shot_draws,
            generator=stream(cell.seed, Purpose.EVALUATE, 1),
            classes=self.classes,
        )

    def geometry(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """Return alignment, uniformity (arXiv:2005.10242, Sec. 4.1) and class separation.

        Alignment uses two views per image; all metrics use the test images.
        """
        encoder = encoder_of(cell.features, online)
        rows = np.arange(len(self.source.labels["test"]))
        a, b = self._views(cell, encoder, "test", rows, 2)
        if b is None:  # one view an image a step: another one
            (b, _) = self._views(cell, encoder, "test", rows, 3)
        assert b is not None
        features = self._features(cell.features, online, "none")
        test = nn.functional.normalize(features.test, dim=1)
        return {
            "alignment": float(align(a, b)),
            "uniformity": float(uniformity(test)),
            "class_separation": class_separation(test, features.test_labels),
        }

    def _embeddings(
        self, cell: Pretrain, encoder: nn.Module, part: Part, rows: Rows, key: int
    ) -> tuple[Tensor, Tensor | None]:
        """Return features of one or two views of these images, keyed by seed and `key`."""
        order = np.split(rows, range(PAIRS_A_BATCH, len(rows), PAIRS_A_BATCH))
        views = self.source.pairs(
            part, order, lambda step: stream(cell.seed, Purpose.EVALUATE, key, step)
        )
        sides: tuple[list[Tensor], list[Tensor]] = ([], [])
        for shown in views:
            for side, view in zip(sides, shown, strict=False):  # of multi-crop, the global ones
                side.append(extract(encoder, [view]))
        a, *b = (torch.cat(side) for side in sides if side)
        return a, (b[0] if b else None)

    def _views(
        self, cell: Pretrain, encoder: nn.Module, part: Part, rows: Rows, key: int
    ) -> tuple[Tensor, Tensor | None]:
        """Return unit embeddings of one or two views of these images, keyed by seed and `key`."""
        a, b = self._embeddings(cell, encoder, part, rows, key)
        unit = partial(nn.functional.normalize, dim=1)
        return unit(a), None if b is None else unit(b)

    def weights(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """Return how similar the weights of test images are between two random sets of keys.

        Source: dual-temperature, supplement, Sec. E, Figure 2. The metric is the cosine between the
        vectors of 1 - P(positive), averaged over REDRAWN pairs. Each pair uses different views as
        positives and different images as negatives.
        """
        assert cell.weights_K is not None
        assert cell.tau is not None
        encoder, test = online.embedding, np.arange(len(self.source.labels["test"]))
        train = np.arange(len(self.source.labels["train"]))
        query, _ = self._views(cell, encoder, "test", test, 10)
        similarities = []
        for repeat in range(REDRAWN):
            pair = []
            for side in (2 * repeat, 2 * repeat + 1):
                positive, _ = self._views(cell, encoder, "test", test, 11 + side)
                draw = stream(cell.seed, Purpose.EVALUATE, 4, side)
                rows = np.sort(draw.permutation(train)[: cell.weights_K])
                keys, _ = self._views(cell, encoder, "train", rows, 11 + side)
                pair.append(q_b((query * positive).sum(dim=1), query @ keys.T, tau=cell.tau))
            similarities.append(torch.cosine_similarity(pair[0], pair[1], dim=0))
        return {"weight_similarity": float(torch.stack(similarities).mean())}

    def own(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """Return the metric of the user's own evaluation.

        Raises:
            CellFailure: the file is not trusted, raises an error, or returns no finite number.
        """
        features = self._features(cell.features, online, "none")
        key = stream(cell.seed, Purpose.EVALUATE, 40).integers(2**63)
        given = {
            "train_ND": features.train,
            "train_labels_N": features.train_labels,
            "test_MD": features.test,
            "test_labels_M": features.test_labels,
            "generator": torch.Generator().manual_seed(int(key)),
        }
        return {"own_evaluation": OwnMetric(cell, "evaluate")(given)}

    def ranks(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """Return effective ranks of the test images' features, and LiDAR of RANKED of them."""
        test = self._features(cell.features, online, "none").test
        draw = stream(cell.seed, Purpose.EVALUATE, 20)
        rows = np.sort(draw.permutation(len(test))[:RANKED])
        encoder, views = encoder_of(cell.features, online), list[Tensor]()
        while len(views) < RANKED_VIEWS:
            key = 21 + len(views)
            views += [
                view
                for view in self._embeddings(cell, encoder, "test", rows, key)
                if view is not None
            ]
        return {
            "rankme": rankme(test),
            "effective_rank": effective_rank(test),
            "lidar": lidar(torch.stack(views, dim=1)),
        }

    def spread(self, cell: Pretrain, online: Online) -> dict[str, float]:
        """Return the standard deviation of the test images' unit-length outputs.

        It is the square root of the summed variance: 1 for outputs uniform on the sphere, 0 if all
        are equal. SimSiam (arXiv:2011.10566, Sec. 4.1) divides it by the square root of D.
        """
        del cell
        outputs = self._features("projector", online, "none").test
        units = nn.functional.normalize(outputs.double(), dim=1)
        return {"output_std": float(units.var(dim=0, correction=0).sum().sqrt())}


def _warped(
    evaluation: Callable[[Evaluator, Evaluated, Layers, str], dict[str, float]],
) -> Callable[[Evaluator, Evaluated, Layers], dict[str, float]]:
    """Return the evaluation on warped test images, whose metrics are `warped_...`."""

    def evaluate(evaluator: Evaluator, cell: Evaluated, online: Layers) -> dict[str, float]:
        metrics = evaluation(evaluator, cell, online, cell.test_warp)
        return {f"warped_{name}": value for name, value in metrics.items()}

    return evaluate


_EVALUATIONS: dict[str, Callable[[Evaluator, Any, Any], dict[str, float]]] = {
    "knn": Evaluator.knn,
    "linear": Evaluator.linear,
    "few-shot": Evaluator.few_shot,
    "geometry": Evaluator.geometry,
    "weights": Evaluator.weights,
    "spread": Evaluator.spread,
    "own": Evaluator.own,
    "ranks": Evaluator.ranks,
    "warped-knn": _warped(Evaluator.knn),
    "warped-linear": _warped(Evaluator.linear),
    "warped-few-shot": _warped(Evaluator.few_shot),
}
