"""The cell of `pretrain`: contrastive pretraining on images, and what is measured of the encoder.

A method is a point: every field below is one coordinate. `method` names a preset that fills the
fields a suite leaves out; it is a label and enters no id.
"""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.config.flops import Stem, multiply_adds
from bench.config.learning_rate import scaled_lr
from bench.config.linear_protocols import LINEAR_PROTOCOLS
from bench.config.presets import ONLY_WITH, filled
from bench.config.record import Cell, identity
from bench.errors import choices

Fraction = Annotated[float, Field(ge=0, lt=1)]
BN = Literal["none", "hidden", "all"]  # of a head: nowhere, after hidden layers, after each layer
ViewSet = Literal[
    "simclr", "simclr-cifar", "moco-v1", "moco-v2", "byol", "hypersphere", "affine", "none",
    "crop", "flip", "jitter", "grayscale", "blur", "solarize",
]  # fmt: skip

LABELS = frozenset({"method", "base_lr", "lr_scaling"})
"""Fields that say where others come from, and so enter no id."""
EVALUATIONS: dict[str, tuple[str, ...]] = {
    "knn": ("features", "knn_k", "knn_tau", "knn_metric"),
    "linear": ("features", "linear"),
    "few-shot": ("features", "few_shot", "few_shot_draws"),
    "geometry": ("features",),
}
"""Evaluations of a trained encoder, and the fields that are their protocol."""
# Images to train on, for predicted times alone.
_TRAIN_IMAGES = {"digits": 1347, "imagenet1k": 1_281_167, "imagenet100": 126_689, "stl10": 5000}


class Pretrain(Cell):
    """One encoder trained by contrast, and one protocol of each evaluation."""

    experiment: Literal["pretrain"]
    version: Literal[1] = 1
    precision: Literal["float32", "bf16"] = "float32"  # type: ignore[assignment]
    method: str

    # data
    dataset: Annotated[str, Field(min_length=1)]
    pretrain_on: Literal["train", "train+unlabeled"] = "train"
    train_images: PositiveInt | None = None  # the first so many of a fixed random order; null: all
    image_size: Annotated[int, Field(ge=8)]  # pixels a side, of a view

    # views
    views: ViewSet
    view_strength: PositiveFloat = 1.0  # 1: the published one

    # encoder
    arch: Literal["small", "resnet18", "resnet50", "resnet50-2x", "resnet50-4x"]
    stem: Stem
    width: PositiveInt = 64  # channels of the first stage, before 2x and 4x; 64 is the published
    projector_layers: NonNegativeInt
    projector_hidden_dim: PositiveInt | None = None
    projector_bn: BN | None = None
    feature_dim: PositiveInt  # D, of queries and keys
    predictor_layers: NonNegativeInt = 0
    predictor_hidden_dim: PositiveInt | None = None
    predictor_bn: BN | None = None
    bn: Literal["plain", "shuffling", "sync"]
    bn_groups: PositiveInt = 1  # parts of a batch that BN normalises apart, as several GPUs do
    bn_over: Literal["views-together", "each-view"]  # what one batch of BN is

    # target
    target: Literal["shared", "stop-gradient", "momentum"]
    momentum: Fraction | None = None  # beta
    momentum_schedule: Literal["fixed", "cosine"] = "fixed"

    # negatives
    negatives: Literal["batch", "queue"]
    negative_views: Literal["both", "keys"] | None = None  # of the other images of the batch
    K: PositiveInt | None = None  # negatives per query; null: all of the batch
    queue_size: PositiveInt | None = None  # keys kept, of which K are drawn per query; null: K
    queue_start: Literal["random", "empty"] | None = None
    neighbours: Literal["none", "nearest"] = "none"
    support_size: PositiveInt | None = None

    # objective
    loss: Literal["infonce", "eqco", "dcl", "dclw", "dual-temperature", "align-uniform"]
    tau: PositiveFloat
    alpha: PositiveFloat | None = None  # EqCo's, Eq. 5; also with dual-temperature
    weight: Literal["vmf", "exp"] | None = None
    sigma: PositiveFloat | None = None
    delta: PositiveFloat | None = None
    through_weight: bool | None = None  # whether gradients flow through dclw's weight
    tau_beta: PositiveFloat | None = None
    form: Literal["released", "printed"] | None = None
    align_alpha: Annotated[float, Field(ge=1)] | None = None
    uniform_t: PositiveFloat | None = None
    align_weight: NonNegativeFloat | None = None
    uniform_weight: NonNegativeFloat | None = None
    symmetric: bool  # both views are queries

    # training
    epochs: PositiveInt
    batch_size: Annotated[int, Field(ge=2)]  # images encoded together
    N: PositiveInt  # queries per optimiser step: gradients of N / batch_size batches are summed
    optimizer: Literal["sgd", "lars", "adam"]
    lr: PositiveFloat  # at N; the rate that is used
    base_lr: PositiveFloat | None = None  # at 256, where lr comes from the rule
    lr_scaling: Literal["none", "linear", "sqrt"] | None = None
    sgd_momentum: Fraction = 0.9
    weight_decay: NonNegativeFloat
    exempt: bool = False  # biases and BN from weight decay and from LARS's adaptation
    lr_schedule: Literal["constant", "cosine", "step", "plateau"]
    warmup_epochs: NonNegativeInt = 0
    lr_drop_epochs: Annotated[str, Field(pattern=r"^\d+(,\d+)*$")] | None = None  # such as 120,160
    lr_drop_factor: Annotated[float, Field(gt=0, lt=1)] = 0.1
    plateau_patience: PositiveInt | None = None  # epochs without a better kNN
    plateau_drops: PositiveInt | None = None
    knn_every_epochs: NonNegativeInt = 0  # kNN (k 200, tau 0.1) of the test images; 0: never
    online_linear: bool = False  # a linear classifier beside, trained on detached features

    # evaluation
    features: Literal["backbone", "projector"] = "backbone"
    knn_k: PositiveInt = 200
    knn_tau: PositiveFloat | None = 0.1  # null: a plain majority
    knn_metric: Literal["cosine", "euclidean"] = "cosine"
    linear: str | None = None  # a protocol's name
    few_shot: PositiveInt | None = None  # labels a class
    few_shot_draws: PositiveInt = 10

    metrics: ClassVar[tuple[str, ...]] = (
        "train_loss", "mi_lower_bound", "q_b", "q_b_std", "q_b_cv", "q_b_mode", "grad_norm_q",
        "grad_norm_q_std", "grad_norm_last_block", "grad_norm_last_block_std",
        "grad_norm_last_block_cv", "grad_norm_block_before", "grad_norm_block_before_std",
        "grad_norm_block_before_cv", "positive_similarity", "negative_similarity", "knn_top1",
        "knn_top5", "knn_top1_best", "linear_top1", "linear_top5", "online_linear_top1",
        "few_shot_linear_top1", "few_shot_linear_top1_std", "few_shot_nn_top1",
        "few_shot_nn_top1_std", "alignment", "uniformity",
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
        for name, (other, value) in ONLY_WITH.items():
            if (getattr(self, name) is not None) != (getattr(self, other) == value):
                raise ValueError(f"{name} is needed with {other} '{value}' and with nothing else")
        takes = {"eqco": (True,), "dual-temperature": (True, False)}.get(self.loss, (False,))
        if (self.alpha is not None) not in takes:
            raise ValueError(
                "alpha is needed with loss 'eqco', allowed with 'dual-temperature' and has no "
                "meaning with others"
            )
        self._check_heads()
        self._check_negatives()
        self._check_training()
        return self

    def _check_heads(self) -> None:
        for head in ("projector", "predictor"):
            layers = getattr(self, f"{head}_layers")
            for part in ("hidden_dim", "bn"):
                if layers > 1 and getattr(self, f"{head}_{part}") is None:
                    raise ValueError(f"{head}_{part} is needed with {layers} {head}_layers")
        if self.bn == "shuffling" and (self.bn_groups < 2 or self.target != "momentum"):
            raise ValueError("bn 'shuffling' needs bn_groups of 2 or more and target 'momentum'")
        if self.bn == "sync" and self.bn_groups != 1:
            raise ValueError("bn 'sync' normalises a batch as a whole: bn_groups must be 1")
        views = 2 if self.bn_over == "views-together" else 1
        parts = self.batch_size * views / self.bn_groups
        if parts != int(parts) or parts < 2:
            raise ValueError(
                f"batch_size {self.batch_size} does not divide into {self.bn_groups} bn_groups of "
                "2 or more"
            )
        if self.bn_over == "views-together" and self.target == "momentum":
            raise ValueError("bn_over 'views-together' needs queries and keys of one encoder")

    def _check_negatives(self) -> None:
        if self.negatives == "queue":
            if self.K is None:
                raise ValueError("K is needed with negatives 'queue'")
            if self.queue_size is not None and self.queue_size < self.K:
                raise ValueError(f"K = {self.K} negatives, but the queue holds {self.queue_size}")
            if self.queue_start == "empty" and self.queue_size is not None:
                raise ValueError("queue_start 'empty' leaves fewer than K keys to draw from")
        elif self.queue_size is not None:
            raise ValueError("queue_size has no meaning with negatives 'batch'")
        elif self.K is not None and self.pool < self.K:
            raise ValueError(
                f"K = {self.K} negatives, but a batch of {self.batch_size} images has {self.pool} "
                f"(negative_views '{self.negative_views}')"
            )
        given = (self.target, self.negatives, self.negative_views)
        if self.neighbours == "nearest" and given != ("shared", "batch", "keys"):
            raise ValueError(
                "neighbours 'nearest' needs target 'shared', negatives 'batch' and negative_views "
                "'keys'"
            )
        if self.loss == "align-uniform" and (self.negatives != "batch" or self.K is not None):
            raise ValueError("loss 'align-uniform' compares all of the batch: negatives 'batch'")

    def _check_training(self) -> None:
        if (self.base_lr is None) != (self.lr_scaling is None):
            raise ValueError("base_lr and lr_scaling belong together; without them give lr")
        if self.warmup_epochs > self.epochs:
            raise ValueError(f"warmup_epochs {self.warmup_epochs}: there are {self.epochs} epochs")
        if self.momentum_schedule == "cosine" and self.momentum is None:
            raise ValueError("momentum_schedule 'cosine' needs target 'momentum'")
        if self.N % self.batch_size:
            raise ValueError(f"N = {self.N} is no multiple of batch_size {self.batch_size}")
        ruled = None
        if self.base_lr is not None and self.lr_scaling is not None:
            ruled = scaled_lr(self.base_lr, self.N, self.lr_scaling)
        if ruled not in (None, self.lr):
            raise ValueError("lr and base_lr disagree; keep one of them")
        if self.lr_schedule == "plateau" and self.knn_every_epochs != 1:
            raise ValueError("lr_schedule 'plateau' watches kNN: knn_every_epochs must be 1")
        if self.linear is not None and self.linear not in LINEAR_PROTOCOLS:
            known = choices(self.linear, list(LINEAR_PROTOCOLS))
            raise ValueError(f"linear '{self.linear}' is unknown. {known}")

    @property
    def pool(self) -> int:
        """How many negatives a query finds in its batch."""
        return (self.batch_size - 1) * (2 if self.negative_views == "both" else 1)

    @property
    def count(self) -> int:
        """K as a number: negatives per query."""
        return self.pool if self.K is None else self.K

    @cached_property
    def id(self) -> str:
        """16 hex digits over every field but the labels, protocols written out."""
        return identity(self.science | {"linear": self._linear_record()})

    @property
    def science(self) -> dict[str, Any]:
        """Every field but the labels."""
        return {k: v for k, v in self.model_dump(mode="json").items() if k not in LABELS}

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
        images = self.train_images or _TRAIN_IMAGES.get(self.dataset, 50_000)
        momentum = self.target == "momentum"
        passes = (3 + momentum) * (2 if self.symmetric or not momentum else 1)
        one = multiply_adds(self.arch, self.stem, self.width, self.image_size)
        return float(self.epochs * images * passes * one)
