"""Every axis of `pretrain` put together, and which settings are the protocol of an evaluation."""

from collections.abc import Mapping
from typing import NamedTuple

from bench.cells.axes import (
    Comparison,
    DataAndViews,
    Encoder,
    Evaluation,
    Objective,
    Optimisation,
)


class Coordinates(Evaluation, Optimisation, Objective, Comparison, Encoder, DataAndViews):
    """Every axis: a method, its data and training, and what is measured of it, as one point."""

    @property
    def pool(self) -> int:
        """How many negatives a query finds in its batch."""
        return (self.batch_size - 1) * (2 if self.negative_views == "both" else 1)

    @property
    def count(self) -> int:
        """K as a number: negatives per query."""
        return self.pool if self.K is None else self.K

    @property
    def one_view(self) -> bool:
        """Whether a step shows one view of an image, the bank having the other."""
        return self.target == "bank"


class EvaluationKind(NamedTuple):
    """An evaluation of a trained encoder: its protocol, and the metrics that it gives."""

    settings: tuple[str, ...]
    """Settings that are its protocol; they enter its id, the metrics do not."""
    metrics: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """Settings without which a cell does not ask for it."""

    def is_asked_by(self, cell: object) -> bool:
        """Return whether a cell asks for it."""
        return all(getattr(cell, name) not in (None, "none") for name in self.needs)

    def warped(self) -> "EvaluationKind":
        """Return the same evaluation on warped test images."""
        return EvaluationKind(
            (*self.settings, "test_warp"),
            tuple(f"warped_{name}" for name in self.metrics),
            (*self.needs, "test_warp"),
        )


_ACCURACIES = {
    "knn": EvaluationKind(
        ("features", "knn_k", "knn_tau", "knn_metric"), ("knn_top1", "knn_top5")
    ),
    "linear": EvaluationKind(("features", "linear"), ("linear_top1", "linear_top5"), ("linear",)),
    "few-shot": EvaluationKind(
        ("features", "few_shot", "few_shot_draws"),
        (
            "few_shot_linear_top1", "few_shot_linear_top1_std", "few_shot_nn_top1",
            "few_shot_nn_top1_std",
        ),
        ("few_shot",),
    ),
}  # fmt: skip
ACCURACIES = _ACCURACIES | {f"warped-{name}": kind.warped() for name, kind in _ACCURACIES.items()}
"""Evaluations that baselines have too."""
EVALUATIONS = {
    **_ACCURACIES,
    "geometry": EvaluationKind(("features",), ("alignment", "uniformity", "class_separation")),
    "weights": EvaluationKind(("weights_K",), ("weight_similarity",), ("weights_K", "tau")),
    **ACCURACIES,
}
"""Evaluations of a trained encoder, by name.

A metric is a name here and a number in `bench/experiments/evaluations.py`. Finished cells whose
encoder is kept get a new metric from the next `bench run`.
"""


def metrics_asked(cell: object, kinds: Mapping[str, EvaluationKind]) -> list[str]:
    """Return the metrics of the evaluations that a cell asks for."""
    return [name for kind in kinds.values() if kind.is_asked_by(cell) for name in kind.metrics]


def metrics_of(kinds: Mapping[str, EvaluationKind]) -> tuple[str, ...]:
    """Return the metrics of all these evaluations."""
    return tuple(name for kind in kinds.values() for name in kind.metrics)


LABELS = frozenset({"method", "base_lr", "base_lr_bias", "lr_scaling", "linear_once"})
"""Fields that enter no id: they say where others come from, or stand in a protocol's record."""
HEADS = tuple(
    name
    for name in Encoder.model_fields
    if name not in ("arch", "stem", "width", "zero_init_residual")
)
OWN_OF_LOSS = frozenset(Objective.model_fields) - {"tau"}
"""Settings that say what a loss is; the temperature is a training setting of every method."""
OWN_OF_METHOD = OWN_OF_LOSS | frozenset(Comparison.model_fields) | frozenset(HEADS) | {"method"}
"""Settings that say what a method is: its loss, what is compared with what, and the heads."""
