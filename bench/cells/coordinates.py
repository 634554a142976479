"""Every axis of `pretrain` put together, and which settings are the protocol of an evaluation."""

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


EVALUATIONS: dict[str, tuple[str, ...]] = {
    "knn": ("features", "knn_k", "knn_tau", "knn_metric"),
    "linear": ("features", "linear"),
    "few-shot": ("features", "few_shot", "few_shot_draws"),
    "geometry": ("features",),
    "weights": ("weights_K",),
    "warped-knn": ("features", "knn_k", "knn_tau", "knn_metric", "test_warp"),
    "warped-linear": ("features", "linear", "test_warp"),
    "warped-few-shot": ("features", "few_shot", "few_shot_draws", "test_warp"),
}
"""Evaluations of a trained encoder, and the fields that are their protocol."""
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
