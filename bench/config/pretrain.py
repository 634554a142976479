"""The cell of `pretrain`: contrastive pretraining on images, and what is measured of the encoder.

A method is a point: every setting is one coordinate. `method` names a preset that fills the
settings a suite leaves out; it is a label and enters no id.
"""

from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from bench.config.agreement import check_agreement
from bench.config.coordinates import (
    EVALUATIONS,
    LABELS,
    Comparison,
    DataAndViews,
    Encoder,
    Evaluation,
    Objective,
    Optimisation,
)
from bench.config.flops import multiply_adds
from bench.config.linear_protocols import LINEAR_PROTOCOLS
from bench.config.presets import filled
from bench.config.record import Cell, identity
from bench.config.sizes import GUESS, images_there, test_step


class Pretrain(Evaluation, Optimisation, Objective, Comparison, Encoder, DataAndViews, Cell):
    """One encoder trained by contrast, and one protocol of each evaluation."""

    experiment: Literal["pretrain"]
    version: Literal[1] = 1
    precision: Literal["float32", "bf16"] = "float32"  # type: ignore[assignment]
    method: str

    metrics: ClassVar[tuple[str, ...]] = (
        "train_loss", "surrogate", "mi_lower_bound", "q_b", "q_b_std", "q_b_cv", "q_b_mode",
        "grad_norm_q", "grad_norm_q_std", "grad_norm_last_block", "grad_norm_last_block_std",
        "grad_norm_last_block_cv", "grad_norm_block_before", "grad_norm_block_before_std",
        "grad_norm_block_before_cv", "positive_similarity", "negative_similarity", "knn_top1",
        "knn_top5", "knn_top1_best", "linear_top1", "linear_top5", "online_linear_top1",
        "few_shot_linear_top1", "few_shot_linear_top1_std", "few_shot_nn_top1",
        "few_shot_nn_top1_std", "alignment", "uniformity", "class_separation",
        "principal_component_ratio", "weight_similarity",
    )  # fmt: skip
    stack_limit: ClassVar[int] = 1000
    one_valued: ClassVar[frozenset[str]] = frozenset({"experiment", "version"})
    shares_work: ClassVar[bool] = True

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, settings: Any) -> Any:
        """Fill in what the preset says, N and the learning rate; explicit settings win."""
        return filled(settings) if isinstance(settings, dict) else settings

    @model_validator(mode="after")
    def _coordinates_agree(self) -> Self:
        check_agreement(self)
        return self

    def step_of(self, metric: str) -> float | None:
        """Return what one test image is worth."""
        return test_step(self.dataset, metric)

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

    @cached_property
    def id(self) -> str:
        """16 hex digits over every field but the labels, protocols written out."""
        return identity(self.science | {"linear": self._linear_record()})

    @property
    def science(self) -> dict[str, Any]:
        """Every field but the labels, and later ones at their defaults."""
        fields = self.model_dump(mode="json")
        return {
            name: value
            for name, value in fields.items()
            if name not in LABELS and not (name in LATER and value == LATER[name])
        }

    @cached_property
    def training_id(self) -> str:
        """16 hex digits over what the trained encoder depends on: cells with equal ones share it.

        The data of evaluations and their protocols are no part of it.
        """
        own = {name for fields in EVALUATIONS.values() for name in fields}
        return identity({k: v for k, v in self.science.items() if k not in own})

    def evaluation(self, name: str) -> dict[str, Any]:
        """Return the protocol of an evaluation, written out."""
        record = {field: getattr(self, field) for field in EVALUATIONS[name]}
        return record | ({"protocol": self._linear_record()} if name == "linear" else {})

    def evaluation_id(self, name: str) -> str:
        """16 hex digits over the training and the protocol of an evaluation."""
        return identity({"training": self.training_id, "evaluation": name} | self.evaluation(name))

    def _linear_record(self) -> dict[str, Any] | None:
        protocol = LINEAR_PROTOCOLS.get(self.linear or "")
        return None if protocol is None else protocol.model_dump(mode="json")

    @property
    def stack_key(self) -> str:
        """Cells that share an encoder are computed together: it is trained once."""
        return self.training_id

    @property
    def multiply_adds(self) -> float:
        """Forward and backward of two views, and the keys' forward where it is another network."""
        images = self.train_images or images_there(self.dataset, self.pretrain_on) or GUESS.train
        momentum = self.target == "momentum"
        passes = (3 + momentum) * (2 if self.symmetric or not momentum else 1)
        if self.one_view:
            passes = 3 * (1 + (self.colour == "lab"))
        one = multiply_adds(self.arch, self.stem, self.width, self.image_size)
        if self.views == "multi-crop" and self.local_size is not None:
            local = multiply_adds(self.arch, self.stem, self.width, self.local_size)
            return float(self.epochs * images * (passes * one + 18 * local))
        return float(self.epochs * images * passes * one)


LATER: dict[str, Any] = {
    name: field.default
    for name, field in Pretrain.model_fields.items()
    if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("later")
}
"""Settings that enter an id only where they are not at this value."""
