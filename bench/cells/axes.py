"""Settings of `pretrain`, grouped by axis, and the evaluations of a trained encoder.

A setting added after the first results is declared with `later`: cell ids omit it at its default.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import (
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.cells.architectures import Arch, Stem
from bench.cells.cell import later
from bench.cells.datasets import GUESS, TrainingImages, size_of
from bench.cells.learning_rate import ScalingRule
from bench.cells.losses import LossName
from bench.cells.view_recipes import Share
from bench.record import Record

Fraction = Annotated[float, Field(ge=0, lt=1)]
BN = Literal["none", "hidden", "all"]  # of a head: nowhere, after hidden layers, after each layer
ViewSet = Literal[
    "simclr", "simclr-cifar", "moco-v1", "moco-v1-lab", "moco-v2", "byol", "hypersphere",
    "multi-crop", "crop-flip", "affine", "none", "crop", "flip", "jitter", "grayscale", "blur",
    "solarize", "lab-filters",
]  # fmt: skip


class Axis(Record):
    """Settings of one axis; the docstring below each setting is its description in the schema."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ImageSet(Axis):
    """Data set of images."""

    dataset: Annotated[str, Field(min_length=1)]
    """The name of a data set: see `bench datasets`."""
    train_images: PositiveInt | None = None
    """Number of training images, the first in a fixed random order; null: all."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None = later()
    """Share of each class's training images that replaces the test images."""
    image_size: Annotated[int, Field(ge=8)]
    """Side of a view, in pixels."""


class PlainImages(ImageSet):
    """Images with one view at a time and no further settings.

    The constants replace the settings of `DataAndViews` that image sources read from every cell.
    """

    pretrain_on: ClassVar[str] = "train"
    one_view: ClassVar[bool] = True
    resized_to: ClassVar[int | None] = None
    local_size: ClassVar[int | None] = None
    colour: ClassVar[str] = "rgb"
    cutmix: ClassVar[bool] = False


class DataAndViews(ImageSet):
    """Data set and augmentations."""

    pretrain_on: Literal["train", "train+unlabeled"] = "train"
    """Training images: with or without STL-10's unlabelled images."""
    resized_to: Annotated[int, Field(ge=8)] | None = later()
    """Side in pixels to which images are resized before views are made; null: not resized."""
    views: ViewSet
    """The random transforms that make views of an image: a method's set, or one alone."""
    view_strength: PositiveFloat = 1.0
    """Augmentation strength; 1 is the published strength."""
    local_size: PositiveInt | None = later()
    """Side of multi-crop's local views, in pixels."""
    cutmix: bool = later(False)
    """Whether the online network sees images with a patch of another image."""
    colour: Literal["rgb", "lab"] = later("rgb")
    """Colour space; with lab, L and ab each have their own encoder."""


def training_images(cell: PlainImages | DataAndViews) -> TrainingImages | None:
    """Return the number of images that a cell trains on; None if it is unknown."""
    size = size_of(cell.dataset, cell.held_out)
    if size is None:
        return None
    available = size.train + (size.unlabeled if cell.pretrain_on == "train+unlabeled" else 0)
    return TrainingImages(cell.dataset, available, cell.train_images or available)


def images_an_epoch(cell: PlainImages | DataAndViews) -> int:
    """Return the number of images per epoch, estimated if the data set's size is unknown."""
    images = training_images(cell)
    return images.taken if images else cell.train_images or GUESS.train


class Encoder(Axis):
    """The network to train."""

    arch: Arch
    """The backbone; `small` has three residual blocks, for small images on a CPU; `small-alexnet`
    is the network of Wang and Isola's code (arXiv:2005.10242) and has the stem 'cifar'; `timm:NAME`
    is a network of the package timm, without its weights."""
    stem: Stem
    """First layers of the backbone: 7x7 convolution and pooling, 3x3, or 3x3 at stride 2."""
    width: PositiveInt = 64
    """Channels of the first stage, before 2x and 4x; 64 is the published width."""
    zero_init_residual: bool = later(False)
    """Whether each residual branch starts at 0."""
    projector_layers: NonNegativeInt
    """Number of linear layers of the projector."""
    projector_hidden_dim: PositiveInt | None = None
    """Units of each hidden layer of the projector; needed with 2 projector_layers or more."""
    projector_bn: BN | None = None
    """Batch norm of the projector: nowhere, after hidden layers, or after all layers."""
    feature_dim: PositiveInt
    """D, the dimension of queries and keys."""
    predictor_layers: NonNegativeInt = 0
    """Number of linear layers of the predictor, which follows the projector for queries only."""
    predictor_hidden_dim: PositiveInt | None = None
    """Units of each hidden layer of the predictor; needed with 2 predictor_layers or more."""
    predictor_bn: BN | None = None
    """Batch norm of the predictor: nowhere, after hidden layers, or after all layers."""
    bn: Literal["plain", "shuffling", "sync"]
    """Batch normalisation: of each part, with keys shuffled, or of the whole batch."""
    bn_groups: PositiveInt = 1
    """Number of parts of a batch that BN normalises separately, as several GPUs do."""
    bn_over: Literal["views-together", "each-view"]
    """Images that BN normalises together: both views, or each view alone."""
    norm: Literal["l2", "bn", "none"] = later("l2")
    """Normalisation of outputs before they are compared."""
    witness: Literal["dot", "bilinear", "linear", "mlp-1", "mlp-2"] = later("dot")
    """Similarity of two outputs (mutual-information, App. I)."""


class ComparisonAxis(Axis):
    """Positives and negatives that the loss compares."""

    target: Literal["shared", "stop-gradient", "momentum", "bank", "own"]
    """Network that computes the keys, and whether gradients flow through it; own: a method's own
    code."""
    momentum: Fraction | None = None
    """Momentum coefficient beta of the target encoder."""
    momentum_schedule: Literal["fixed", "cosine"] = "fixed"
    """Schedule of beta; cosine: from momentum up to 1 at the end (arXiv:2006.07733, Sec. 3.3)."""
    bank_rate: Fraction | None = later()
    """Update rate of a bank entry, M <- rate M + (1 - rate) v; 0 keeps the last view."""
    bank_start: Literal["uniform"] | None = later()
    """Initial bank entries; uniform: each coordinate uniform around 0; null: Gaussian."""
    bank_normalised: bool | None = later()
    """Whether bank entries are scaled to unit length."""
    negatives: Literal["batch", "queue", "bank", "previous", "none"]
    """Source of negatives; previous: the correlation matrix of all outputs so far."""
    negative_views: Literal["both", "keys"] | None = None
    """Views of the other images in the batch that are negatives."""
    negative_branch: Literal["target", "online"] = later("target")
    """Network whose outputs are negatives."""
    K: PositiveInt | None = None
    """Negatives per query; null: all of the batch."""
    queue_size: PositiveInt | None = None
    """Number of keys in the queue, of which K are drawn per query; null: K."""
    queue_start: Literal["random", "empty"] | None = None
    """Initial content of the queue: random unit vectors, or nothing."""
    rho: Fraction | None = later()
    """Decay of the correlation matrix F of all previous outputs."""
    drawn: Literal["uniform", "nearest", "ball", "ring", "cave", "earliest", "newest"] | None = (
        later()
    )
    """Which keys of a bank or queue are the K negatives; null with a queue: uniform."""
    ball_share: Share | None = later()
    """Share of the bank, nearest first, that negatives are drawn from."""
    inner_share: Share | None = later()
    """Share of the bank, nearest first, that is left out (ring) or forms a neighbourhood."""
    clusters: PositiveInt | None = later()
    """Number of K-means clusters of the bank, fitted once per epoch."""
    clusterings: PositiveInt | None = later()
    """Number of K-means fits; the neighbourhood is the union of their clusters."""
    centre: Literal["view", "entry"] | None = later()
    """Point from which distances are measured: the view, or its entry in the bank."""
    uniform_epochs: NonNegativeInt = later(0)
    """Number of first epochs with uniform draws and without neighbours."""
    anneal_epochs: PositiveInt | None = later()
    """Epochs in which the ball shrinks from the whole bank to its share."""
    anneal_every: Literal["epoch", "step"] = later("epoch")
    """How often the share of an annealed ball or ring changes."""
    inner_from_epoch: NonNegativeInt | None = later()
    """Epoch at which the inner share starts to grow from 0."""
    inner_to_epoch: PositiveInt | None = later()
    """Epoch at which the inner share reaches its value."""
    neighbours: Literal["none", "nearest", "s-neighbourhood", "k-neighbourhood"] = "none"
    """Other images as positives: NNCLR's, the inner ball's, or the cluster's."""
    neighbour_count: PositiveInt | None = later()
    """Number of neighbours drawn; null: all that are also negatives."""
    neighbour_sum: Literal["inside", "outside"] | None = later()
    """Whether the sum over close neighbours is taken inside or outside the logarithm."""
    support_size: PositiveInt | None = None
    """Number of newest embeddings kept; a view's nearest one is its query (NNCLR)."""
    K_scalar: PositiveInt | None = later()
    """Number of negatives in the scalar component."""
    scalar_size: PositiveInt | None = later()
    """Number of newest keys that the scalar component's negatives are drawn from."""
    scalar_drawn: Literal["earliest", "random", "newest"] | None = later()
    """Which of these keys are the K_scalar negatives."""


class ObjectiveAxis(Axis):
    """The loss and its options; `losses.py` lists which losses take which option."""

    loss: LossName
    """The objective."""
    tau: PositiveFloat | None = None
    """Temperature of the similarities; the probes q_B and MI use it with every loss."""
    alpha: PositiveFloat | None = None
    """EqCo's alpha (Eq. 5); dual-temperature may use it too."""
    weight: Literal["vmf", "exp"] | None = None
    """DCLW's weight: von Mises-Fisher or exponential."""
    sigma: PositiveFloat | None = None
    """Parameter of DCLW's weight: the width of vmf, or the rate of exp."""
    delta: PositiveFloat | None = None
    """Factor delta of DCLW's weight delta e^(-sigma s), where s is the positive's similarity."""
    through_weight: bool | None = None
    """Whether gradients flow through dclw's weight."""
    tau_beta: PositiveFloat | None = None
    """Temperature of the scalar component of dual temperature."""
    form: Literal["released", "printed"] | None = None
    """Interpretation of dual temperature: the authors' code or the paper's text."""
    align_alpha: Annotated[float, Field(ge=1)] | None = None
    """Alpha of align-uniform: the power of the distance of two views' embeddings."""
    uniform_t: PositiveFloat | None = None
    """The t of the potential e^(-t d^2) of two embeddings at distance d."""
    align_weight: NonNegativeFloat | None = None
    """Factor of the alignment in the loss."""
    uniform_weight: NonNegativeFloat | None = None
    """Factor of the uniformity in the loss."""
    kappa: PositiveFloat | None = later()
    """Normaliser of the original IR over the number of entries; null with normaliser 'constant':
    the mean of e^(s / tau) over the negatives of the first batches."""
    normaliser: Literal["sampled", "constant"] | None = later()
    """Normaliser of the original IR and LA; constant: noise-contrastive estimation with one number
    for all queries; sampled: kappa before a sum over samples."""
    own_entry: Literal["always", "if-near"] | None = later()
    """When a query's own entry is among LA's close neighbours; if-near: as one of the K nearest."""
    balance: PositiveFloat | None = later()
    """Balance factor lambda; null with a gradient form: dynamic."""
    cov_weight: NonNegativeFloat | None = later()
    """VICReg's lambda_1, the weight of the covariance term."""
    var_weight: NonNegativeFloat | None = later()
    """VICReg's lambda_2, the weight of the variance term."""
    gamma: PositiveFloat | None = later()
    """Standard deviation below which VICReg's variance term acts."""
    eps: PositiveFloat | None = later()
    """DirectPred's epsilon."""
    positive_gradient: Literal["target", "predictor", "whitened"] | None = later()
    """Positive gradient of UniGrad's Table 2."""
    negative_gradient: Literal["softmax", "online", "target", "variance"] | None = later()
    """Negative gradient of UniGrad's Table 2: the weights of the negatives."""
    gradient_scale: PositiveFloat | None = later()
    """Leading constant of a gradient form."""
    half_power: bool | None = later()
    """Whether DirectPred's gradient has its term in F^(1/2)."""
    symmetric: bool
    """Whether both views are queries."""


class StepsAxis(Axis):
    """Number of steps and learning rate."""

    epochs: PositiveInt
    """Passes over the training images."""
    batch_size: Annotated[int, Field(ge=2)]
    """Number of images encoded together."""
    optimizer: Literal["sgd", "lars", "adam", "adamw", "muon"]
    """Adam, adamw (arXiv:1711.05101): beta_2 = 0.999; lars: a trust of 0.001; muon (K. Jordan,
    2024): weights with two axes or more, first and last layers too, and SGD with Nesterov's
    momentum for biases and BN. All but sgd normalise gradients."""
    lr: PositiveFloat
    """Learning rate at N, the rate that training uses."""
    base_lr: PositiveFloat | None = None
    """Learning rate per 256 queries, from which lr_scaling computes lr."""
    lr_scaling: ScalingRule | None = None
    """How lr is computed from base_lr, for every optimiser: equal, times N / 256, or times sqrt(N /
    256)."""
    sgd_momentum: Fraction = 0.9
    """Momentum of sgd, lars and muon; beta_1 of adam and adamw."""
    nesterov: bool = later(False)
    """Whether sgd uses Nesterov's momentum, which muon always has."""
    weight_decay: NonNegativeFloat
    """Weight decay: coefficient of a weight in its gradient, before lars and adam normalise it;
    adamw, and muon for the weights that it does not leave to SGD, subtract lr times it from the
    weight instead."""
    exempt: bool = False
    """Whether biases and BN are exempt from weight decay and from LARS's adaptation."""
    lr_schedule: Literal["constant", "cosine", "step", "plateau", "triangular"]
    """Schedule after warm-up; cosine and triangular (linear: arXiv:1506.01186, Sec. 3.1) fall to 0,
    step and plateau by a factor. The peak of triangular is the end of the warm-up."""
    warmup_epochs: NonNegativeInt = 0
    """First epochs, in which the learning rate rises linearly from 0 to lr."""
    lr_drop_epochs: Annotated[str, Field(pattern=r"^\d+(,\d+)*$")] | None = None
    """Epochs after which the learning rate falls, such as 120,160."""
    lr_drop_factor: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Factor by which each drop multiplies the learning rate."""

    @model_validator(mode="after")
    def _steps_agree(self) -> Self:
        if self.nesterov and (self.optimizer != "sgd" or not self.sgd_momentum):
            raise ValueError("nesterov has a meaning with optimizer 'sgd' and its momentum alone")
        if self.optimizer == "muon" and not self.sgd_momentum:
            raise ValueError("optimizer 'muon' needs sgd_momentum above 0")
        if self.lr_schedule == "triangular" and not self.warmup_epochs:
            raise ValueError("lr_schedule 'triangular' rises in warmup_epochs, 1 or more")
        if self.warmup_epochs > self.epochs:
            raise ValueError(
                f"warmup_epochs = {self.warmup_epochs} is above epochs = {self.epochs}"
            )
        return self


class Optimisation(StepsAxis):
    """Training schedule, optimiser and monitoring."""

    N: PositiveInt
    """Queries per optimiser step: gradients of N / batch_size batches are summed."""
    cached_negatives: bool = later(False)
    """With N above batch_size: negatives are the images of the whole step instead of one batch's,
    by gradient caching (arXiv:2101.06983), which encodes each batch twice. BN still normalises each
    batch separately."""
    lr_bias: PositiveFloat | None = later()
    """Learning rate of biases and BN at N; null: lr, with muon half of it. Needs exempt or muon."""
    base_lr_bias: PositiveFloat | None = later()
    """Learning rate of biases and BN per 256 queries; lr_scaling computes lr_bias from it."""
    weight_decay_end: NonNegativeFloat | None = later()
    """Weight decay at the end of training, reached from weight_decay by a cosine; null:
    constant."""
    clip_norm: PositiveFloat | None = later()
    """Largest norm of a step's whole gradient; larger ones are scaled down to it; null: no
    limit."""
    clip_each: PositiveFloat | None = later()
    """Largest norm of each weight's own gradient, as in DINO's released code."""
    plateau_patience: PositiveInt | None = None
    """Epochs without a better kNN accuracy before a drop."""
    plateau_drops: PositiveInt | None = None
    """Largest number of drops."""
    knn_every_epochs: NonNegativeInt = 0
    """Epochs between kNN evaluations (k 200, tau 0.1) on the test images; 0: never."""
    watch: Literal["knn", "nn"] = later("knn")
    """What the kNN evaluations during training measure; nn: the nearest neighbour of the
    outputs."""
    components: bool = later(False)
    """Whether the evaluations during training also measure the principal component ratio of the
    outputs."""
    eigenspaces: bool = later(False)
    """Whether they also measure the alignment of a linear predictor with the eigenvectors of F."""
    online_linear: bool = False
    """Whether a linear classifier is trained along with the encoder, on detached features."""


class Accuracies(Axis):
    """Protocols for accuracies of frozen features."""

    knn_k: PositiveInt = 200
    """Number of labelled training images that vote."""
    knn_tau: PositiveFloat | None = 0.1
    """Temperature of the votes; null: equal votes."""
    knn_metric: Literal["cosine", "euclidean"] = "cosine"
    """Similarity for kNN: the cosine, or the Euclidean distance of the features."""
    linear: str | None = None
    """Name of the linear protocol."""
    few_shot: PositiveInt | None = None
    """Labels per class of the few-shot classifier."""
    few_shot_draws: PositiveInt = 10
    """Number of draws of labelled images; their mean and standard deviation are reported."""
    test_warp: Literal["none", "digits-25"] = later("none")
    """Warp of extra test images; digits-25: rotated by up to 25 degrees, scaled by 1.3, shifted."""


NOWHERE = "none"
"""Value of `evaluated_on` that means no evaluation."""


class Evaluation(Accuracies):
    """Evaluations of the trained encoder."""

    evaluated_on: Annotated[str, Field(min_length=1)] | None = later()
    """The labelled data set of the evaluations, with all of its images; null: the training data
    set; none: no evaluations."""
    features: Literal["backbone", "projector"] = "backbone"
    """The layer that is evaluated: the backbone, or the projector before normalisation."""
    knn_features: Literal["backbone", "projector"] | None = later()
    """The layer that kNN uses; null: the layer of `features`."""
    linear_once: bool = later(False)
    """Whether the classifier sees each image unchanged, whatever the protocol says."""
    weights_K: PositiveInt | None = later()
    """Negatives used to measure the weights r_+ of two draws."""
    spread: bool = later(False)
    """Whether the standard deviation of the outputs is measured; near 0 they have collapsed."""
    ranks: bool = later(False)
    """Whether ranks of the features are measured, also for finished cells with a kept encoder."""

    @property
    def knn_layer(self) -> str:
        """Layer whose features kNN uses."""
        return self.knn_features or self.features


class Coordinates(Evaluation, Optimisation, ObjectiveAxis, ComparisonAxis, Encoder, DataAndViews):
    """All axes together: method, data, training and evaluations."""

    @property
    def evaluated_set(self) -> str:
        """Data set used by the evaluations."""
        return self.evaluated_on or self.dataset

    @property
    def images_compared(self) -> int:
        """Number of images compared with each other: those of a batch or of a step."""
        return self.N if self.cached_negatives else self.batch_size

    @property
    def pool(self) -> int:
        """Number of possible negatives of a query among the compared images."""
        return (self.images_compared - 1) * (2 if self.negative_views == "both" else 1)

    @property
    def count(self) -> int:
        """K as a number: negatives per query."""
        return self.pool if self.K is None else self.K

    @property
    def one_view(self) -> bool:
        """Whether a step uses one view of an image and the memory bank provides the other."""
        return self.target == "bank"


class EvaluationKind(NamedTuple):
    """An evaluation of a trained encoder: its protocol and its metrics."""

    settings: tuple[str, ...]
    """Settings of the evaluation's protocol; they enter its id, the metrics do not."""
    metrics: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """Settings that a cell needs for this evaluation."""

    def is_asked_by(self, cell: object) -> bool:
        """Return whether a cell requests this evaluation."""
        somewhere = getattr(cell, "evaluated_on", None) != NOWHERE
        return somewhere and all(
            getattr(cell, name) not in (None, "none", False) for name in self.needs
        )

    def warped(self) -> "EvaluationKind":
        """Return the same evaluation on warped test images."""
        return EvaluationKind(
            (*self.settings, "test_warp"),
            tuple(f"warped_{name}" for name in self.metrics),
            (*self.needs, "test_warp"),
        )


_ACCURACIES = {
    "knn": EvaluationKind(
        ("features", "knn_features", "knn_k", "knn_tau", "knn_metric"), ("knn_top1", "knn_top5")
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
    "spread": EvaluationKind(("spread",), ("output_std",), ("spread",)),
    "own": EvaluationKind(
        ("features", "evaluate", "evaluate_file"), ("own_evaluation",), ("evaluate",)
    ),
    "ranks": EvaluationKind(("features",), ("rankme", "effective_rank", "lidar"), ("ranks",)),
    **ACCURACIES,
}
"""Evaluations of a trained encoder, by name.

A metric is a name here and a number in `bench/experiments/evaluations.py`. Finished cells whose
encoder is kept get a new metric from the next `bench run`.
"""


def metrics_asked(cell: object, kinds: Mapping[str, EvaluationKind]) -> list[str]:
    """Return the metrics of the evaluations that a cell requests."""
    return [name for kind in kinds.values() if kind.is_asked_by(cell) for name in kind.metrics]


def metrics_of(kinds: Mapping[str, EvaluationKind]) -> tuple[str, ...]:
    """Return the metrics of these evaluations."""
    return tuple(name for kind in kinds.values() for name in kind.metrics)


LABELS = frozenset({"method", "base_lr", "base_lr_bias", "lr_scaling", "linear_once", "ranks"})
"""Fields that do not enter an id: they are sources of other fields, are part of a protocol's
record, or request a metric that was added later."""
HEADS = tuple(
    name
    for name in Encoder.model_fields
    if name not in ("arch", "stem", "width", "zero_init_residual")
)
TEMPERATURES = tuple(name for name in ObjectiveAxis.model_fields if name.startswith("tau"))
"""Settings that are temperatures: name a new one `tau_...`, so `bench.analysis.doubts` checks it
too."""
OWN_OF_LOSS = frozenset(ObjectiveAxis.model_fields) - {"tau"}
"""Settings that define a loss; the temperature is a training setting of every method."""
OWN_OF_METHOD = OWN_OF_LOSS | frozenset(ComparisonAxis.model_fields) | frozenset(HEADS) | {"method"}
"""Settings that define a method: its loss, which outputs it compares, and the heads."""
