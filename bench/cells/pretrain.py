"""Cells with an encoder: `pretrain` and the experiments that use its encoder.

`method` is a label: the name of the preset that a suite uses. Cell ids omit it.
"""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, PositiveInt, model_validator

from bench.cells.architectures import OF_TIMM
from bench.cells.axes import (
    EVALUATIONS,
    LABELS,
    NOWHERE,
    Axis,
    Coordinates,
    Encoder,
    images_an_epoch,
    metrics_asked,
    metrics_of,
    training_images,
)
from bench.cells.cell import (
    NOT_SET,
    Cell,
    around_seed,
    id_with_seed,
    identity,
    later,
    without_later,
)
from bench.cells.datasets import (
    GUESS,
    Demand,
    TrainingImages,
    accuracy_step,
    size_of,
)
from bench.cells.learning_rate import ruled
from bench.cells.linear_protocols import LinearProtocol, linear_protocol, linear_record
from bench.cells.losses import Q_B_BINS
from bench.cells.rules import check_agreement
from bench.cells.view_recipes import draws_of, warp_record
from bench.errors import choices

# kNN while training belongs to the training, so its protocol is no setting of an evaluation.
WATCH_K, WATCH_TAU = 200, 0.1  # cosine; unigrad, released-code-knn


class OwnLossFiles(Axis):
    """Mixin for settings of the user's own objective or method (`bench.loss_files`)."""

    loss_file: Annotated[str, Field(pattern=r"^[0-9]+-[0-9a-f]{16}$")] | None = later()
    """Version and digest of the loss's declaration; null for a loss of bench."""


class OwnMetrics(Axis):
    """Mixin for settings of the user's own metrics (`bench.metric_files`)."""

    evaluate: str | None = later()
    """File name of a user's own evaluation of frozen features; its metric is called
    `own_evaluation`."""
    evaluate_file: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = later()
    """Digest of the file that `evaluate` names."""
    record: str | None = later()
    """File name of a user's own quantity that is recorded at each batch; its metric is called
    `own_record`."""
    record_file: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = later()
    """Digest of the file that `record` names."""

    @model_validator(mode="after")
    def _has_files(self) -> Self:
        for setting in ("evaluate", "record"):
            if (getattr(self, setting) is None) != (getattr(self, f"{setting}_file") is None):
                raise ValueError(
                    f"{setting} (the name of a file in the suites folder) and {setting}_file (the "
                    "digest of this file) must be set together"
                )
        return self


SETTING_OF = {"own_evaluation": "evaluate", "own_record": "record"}
"""The settings that name the files of a user's own metrics, by the names of their numbers."""


def parameter_of(name: str) -> str:
    """Return the setting that declares a parameter, from the prefix `evaluate` or `record`."""
    setting = name.partition("_")[0]
    return setting if setting in ("evaluate", "record") else "loss"


class EncoderCell(Coordinates, OwnLossFiles, OwnMetrics, Cell):
    """A cell with the settings of `pretrain` that trains or shares an encoder.

    `trained` is the cell of `pretrain` with the same encoder. An encoder is trained once for all
    cells with the same `training_id`. The subclasses are: `Pretrain` evaluates the encoder, `TSNE`
    maps its features, `FineTune` and `Detection` train it further, `NetworkSize` counts its
    parameters.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, bool | int | float | str]  # parameters of one's own files
    precision: Literal["float32", "bf16"] = "float32"
    method: str

    has_presets: ClassVar[bool] = True
    of_provenance: ClassVar[tuple[str, ...]] = ("log2_train_hours",)
    stack_limit: ClassVar[int] = 1000
    sizes: ClassVar[tuple[str, ...]] = (
        "arch", "stem", "width", "image_size", "precision", "batch_size", "witness",
    )  # fmt: skip
    one_valued: ClassVar[frozenset[str]] = frozenset(NOT_SET)

    @classmethod
    def written_out(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Compute N and the learning rate if they follow from other settings."""
        if settings.get("N") is None:
            settings = settings | {"N": settings.get("batch_size")}
        return settings | ruled(settings, settings["N"])

    @model_validator(mode="after")
    def _coordinates_agree(self) -> Self:
        for name in self.parameters:
            if getattr(self, f"{parameter_of(name)}_file") is None:
                raise ValueError(f"{name}: unknown key. {choices(name, self.setting_names())}")
        if self.loss_file is None and self.target == "own":
            raise ValueError(
                "target 'own' needs a loss that belongs to a method, but loss "
                f"'{self.loss}' belongs to none"
            )
        if self.record is not None and self.target == "own":
            raise ValueError(
                "target 'own' has no queries and keys to record, so `record` cannot be set"
            )
        check_agreement(self)
        return self

    @cached_property
    def trained(self) -> "Pretrain":
        """The cell of `pretrain` with this encoder."""
        settings = {name: getattr(self, name) for name in EncoderCell.model_fields}
        settings |= self.parameters
        version = Pretrain.model_fields["version"].default
        return Pretrain.model_validate(settings | {"experiment": "pretrain", "version": version})

    @property
    def training_id(self) -> str | None:
        """Id of the encoder's training; None if the cell needs no trained encoder."""
        return self.trained.training_id

    @property
    def stack_key(self) -> str:
        """Cells that share an encoder are computed together, so it is trained once."""
        return self.training_id or self.id

    @property
    def batch_over_ranks(self) -> int | None:
        """Images per batch if the ranks share the training of the encoder.

        None for a method with its own code and for a timm network, which has its own batch norm.
        """
        alone = self.training_id is None or self.target == "own" or self.arch.startswith(OF_TIMM)
        return None if alone else self.batch_size

    @property
    def identified(self) -> dict[str, Any]:
        """Every field except labels, with protocols expanded."""
        return self.science | {"linear": self._linear_record()} | warp_record(self.test_warp)

    @property
    def science(self) -> dict[str, Any]:
        """Every field except labels, and except later settings at their defaults."""
        fields = self.model_dump(mode="json", exclude=set(LABELS))
        return without_later(fields, EncoderCell)

    def _linear_record(self) -> dict[str, Any] | None:
        return linear_record(self.linear, once=self.linear_once)

    @property
    def training_work(self) -> float:
        """Training images seen, times pixels and squared width; 0 without a training."""
        if self.training_id is None:
            return 0.0
        return float(self.epochs * images_an_epoch(self) * self.image_size**2 * self.width**2)

    @property
    def work(self) -> float:
        """Images of the evaluations, times pixels and squared width."""
        size = size_of(self.evaluated_set, self.held_out) or GUESS
        taken = None if self.evaluated_on else self.train_images
        images = min(taken or size.train, size.train) + size.test
        return float(images * self.image_size**2 * self.width**2)

    def asked_of_data(self) -> list[Demand]:
        """Return the requirements of the encoder's training on the data set."""
        return [] if self.training_id is None else self.trained.asked_by_training()


class Pretrain(EncoderCell):
    """One encoder trained by contrast, with one protocol per evaluation.

    SimCLR and MoCo have no classes of their own. A method is a combination of settings in
    `axes.py`. A preset in `bench/suites/methods/*.yaml` lists its values, and `rules.py` checks
    which values fit together. `bench/methods/make.py` builds the method from nine settings, such as
    the online network, the target, the negatives and the objective (an entry in `losses.py`).
    `bench/train/loop.py` trains it. `bench/experiments/pretrain.py` evaluates the encoder once for
    each protocol in `EVALUATIONS`. `bench methods simclr` shows the settings of SimCLR. A suite can
    override any of them.
    """

    experiment: Literal["pretrain"]
    version: Literal[2] = 2

    metrics: ClassVar[tuple[str, ...]] = (
        "train_loss", "surrogate", "mi_lower_bound", "q_b", "q_b_std", "q_b_cv", "q_b_low",
        "q_b_mode", "grad_norm_q", "grad_norm_q_std", "grad_norm_last_block",
        "grad_norm_last_block_std", "grad_norm_last_block_cv", "grad_norm_block_before",
        "grad_norm_block_before_std", "grad_norm_block_before_cv", "positive_similarity",
        "negative_similarity", *metrics_of(EVALUATIONS), "knn_top1_best", "online_linear_top1",
        "own_record", "principal_component_ratio", "eigenspace_alignment",
    )  # fmt: skip

    def step_of(self, metric: str) -> float | None:
        """Return the resolution of a metric: the share of one test image, or a bin's width."""
        if metric == "q_b_mode":
            return 1 / Q_B_BINS
        return accuracy_step(self.evaluated_set, metric, self.held_out, draws_of(self.test_warp))

    @property
    def looks_at(self) -> tuple[str, ...]:
        """Data sets of the training and of the evaluations."""
        others = {self.evaluated_on} - {None, NOWHERE}
        return (self.dataset, *map(str, others))

    @property
    def trained(self) -> Self:
        """The cell itself."""
        return self

    @cached_property
    def training_id(self) -> str:
        """Hash of the settings that affect the trained encoder; equal hashes share one encoder.

        The hash has 16 hexadecimal digits. It excludes the evaluations' data sets and protocols.
        """
        around = self.once_a_point("training", lambda cell: around_seed(cell._training()))
        return id_with_seed(around, self.seed)

    def _training(self) -> dict[str, Any]:
        evaluation_fields = {name for kind in EVALUATIONS.values() for name in kind.settings}
        evaluation_fields.add("evaluated_on")
        evaluation_fields |= {n for n in self.parameters if parameter_of(n) == "evaluate"}
        return {k: v for k, v in self.science.items() if k not in evaluation_fields}

    @property
    def evaluation_metrics(self) -> list[str]:
        """Metrics of the evaluations that the cell requests."""
        return metrics_asked(self, EVALUATIONS)

    def evaluation(self, name: str) -> dict[str, Any]:
        """Return the full protocol of an evaluation."""
        fields = EVALUATIONS[name].settings
        used = [f for f in fields if f != "knn_features" or self.knn_features]  # it came later
        record = {field: getattr(self, field) for field in used}
        record |= {"evaluated_on": self.evaluated_on} if self.evaluated_on else {}
        if name == "own":
            record |= {n: v for n, v in self.parameters.items() if parameter_of(n) == "evaluate"}
        if name.endswith("linear"):
            record |= {"protocol": self._linear_record()}
        return record | (warp_record(self.test_warp) if name.startswith("warped") else {})

    def evaluation_id(self, name: str) -> str:
        """16 hexadecimal digits: hash of the training and the protocol of an evaluation."""
        return identity({"training": self.training_id, "evaluation": name} | self.evaluation(name))

    @property
    def is_watched_as_evaluated(self) -> bool:
        """Whether kNN during training uses the protocol of the final kNN evaluation."""
        protocol = (self.watch, self.knn_k, self.knn_tau, self.knn_metric, self.knn_layer)
        return protocol == ("knn", WATCH_K, WATCH_TAU, "cosine", "backbone")

    @property
    def linear_protocol(self) -> LinearProtocol | None:
        """Protocol of the linear classifier, if there is one."""
        return linear_protocol(self.linear, once=self.linear_once)

    def asked_of_data(self) -> list[Demand]:
        """Return the requirements of training and evaluations on the data set."""
        size = size_of(self.evaluated_set, self.held_out)
        images = training_images(self)
        if self.evaluated_on and size is not None:
            images = TrainingImages(self.evaluated_on, size.train, size.train)
        if images is None or size is None:
            return self.asked_by_training()
        labelled = size.train
        if labelled < images.taken:
            knn = Demand(
                "knn_k",
                self.knn_k,
                labelled,
                f"data set {self.dataset} has only {labelled} labelled images",
            )
        else:
            knn = images.demand("knn_k", self.knn_k)
        of_a_class = min(labelled, images.taken) // size.classes
        return [
            *self.asked_by_training(),
            knn,
            images.demand("weights_K", self.weights_K),
            Demand(
                "few_shot",
                self.few_shot or 0,
                of_a_class,
                f"{images.limit}, divided among all classes",
            ),
        ]

    def asked_by_training(self) -> list[Demand]:
        """Return the requirements of steps and negative sampling on the data set."""
        if (images := training_images(self)) is None:
            return []
        from_bank, others = self.negatives == "bank", images.taken - 1
        return [
            *images.demands(self.batch_size, self.N),
            images.demand("K", self.count if from_bank else None, others),
            images.demand("clusters", self.clusters if from_bank else None, others),
            Demand("K", self.count, images.taken, f"{images.limit}, so negatives repeat", False),
        ]


class TransferCell(EncoderCell):
    """A cell that continues training from an encoder of `pretrain`, or from scratch.

    Settings of `pretrain` keep their meaning, but its evaluations are not computed. With start
    'scratch', settings of the pretraining have no effect.
    """

    start: Literal["pretrained", "scratch"] = "pretrained"
    """Initial weights of the encoder: the pretrained weights, or random weights."""

    of_network: ClassVar[tuple[str, ...]] = ()
    """Settings of `pretrain` that also apply to a network from scratch."""

    @property
    def training_id(self) -> str | None:
        """Id of the encoder's training; None from scratch."""
        return super().training_id if self.start == "pretrained" else None

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits: hash of the encoder's training, or network, and the protocol."""
        if self.training_id is not None:
            return identity(self.protocol | {"training": self.training_id})
        fields = self.model_dump(mode="json", include=set(self.of_network))
        return identity(self.protocol | without_later(fields, EncoderCell))

    @property
    def protocol(self) -> dict[str, Any]:
        """The experiment, its version and the settings that `pretrain` lacks."""
        shared = set(EncoderCell.model_fields) - {"experiment", "version"}
        own = self.model_dump(mode="json", exclude=shared | self.parameters.keys())
        return without_later(own, type(self))


NEIGHBOURS = 3  # times the perplexity: images that the map looks at around one


class TSNE(EncoderCell):
    """A t-SNE map of the features of an encoder of `pretrain`.

    Settings of `pretrain` keep their meaning. `features` is the only evaluation setting that has an
    effect.
    """

    experiment: Literal["tsne"]
    version: Literal[1] = 1
    images: PositiveInt = 2000
    """Number of test images in the map, drawn at random; all if there are fewer."""
    perplexity: Annotated[float, Field(ge=1)] = 30.0
    """Perplexity: effective number of neighbours of an image."""

    metrics: ClassVar[tuple[str, ...]] = ("kl_divergence",)

    @model_validator(mode="after")
    def _has_neighbours(self) -> Self:
        if self.images <= NEIGHBOURS * self.perplexity:
            raise ValueError(
                f"the number of images is {self.images}, but must exceed {NEIGHBOURS} times "
                f"the perplexity, which is {self.perplexity:g}"
            )
        return self


NETWORK = (*Encoder.model_fields, "image_size", "colour")


class NetworkSize(EncoderCell):
    """Number of parameters of a method's network; only network settings matter."""

    experiment: Literal["network-size"]
    version: Literal[1] = 1
    counted: Literal["backbone", "with-projector", "with-predictor"] = "with-projector"
    """Last layer that is counted: the features, the outputs, or the predictions."""

    metrics: ClassVar[tuple[str, ...]] = ("params_m",)
    exact: ClassVar[frozenset[str]] = frozenset({"params_m"})

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits: hash of the network, the seed and the counted quantity."""
        fields = self.model_dump(mode="json")
        names = ("experiment", "version", "seed", "counted", *NETWORK)
        return identity({name: fields[name] for name in names})

    @property
    def training_id(self) -> str | None:
        """None: nothing is trained."""
        return None

    @property
    def looks_at(self) -> tuple[str, ...]:
        """Empty: no images are needed."""
        return ()
