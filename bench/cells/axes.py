"""The settings of `pretrain`, axis by axis, and the evaluations of a trained encoder.

A setting that came after the first results is `later`: at its default it enters no id.
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
from bench.cells.learning_rate import Rule
from bench.cells.losses import LossName
from bench.record import Record

Fraction = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]
BN = Literal["none", "hidden", "all"]  # of a head: nowhere, after hidden layers, after each layer
ViewSet = Literal[
    "simclr", "simclr-cifar", "moco-v1", "moco-v1-lab", "moco-v2", "byol", "hypersphere",
    "multi-crop", "crop-flip", "affine", "none", "crop", "flip", "jitter", "grayscale", "blur",
    "solarize", "lab-filters",
]  # fmt: skip


class Axis(Record):
    """Settings of one axis; the text below each is its description, in the schema too."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ImageSet(Axis):
    """Which images are looked at."""

    dataset: Annotated[str, Field(min_length=1)]
    """The name of a data set: see `bench datasets`."""
    train_images: PositiveInt | None = None
    """The first so many of a fixed random order; null: all."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None = later()
    """Share of each class's training images that takes the place of the test images."""
    image_size: Annotated[int, Field(ge=8)]
    """Pixels a side, of a view."""


class PlainImages(ImageSet):
    """Images of which one view is seen at a time, and nothing else can be set.

    The constants are settings of `DataAndViews`, which sources of images ask every cell for.
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
    """STL-10 has unlabelled images too."""
    resized_to: Annotated[int, Field(ge=8)] | None = later()
    """Pixels a side that images are resized to before views are made of them; null: as they are."""
    views: ViewSet
    """The random transforms that make views of an image: a method's set, or one alone."""
    view_strength: PositiveFloat = 1.0
    """1: the published one."""
    local_size: PositiveInt | None = later()
    """Pixels a side of multi-crop's local views."""
    cutmix: bool = later(False)
    """The online network sees images with a patch of another one."""
    colour: Literal["rgb", "lab"] = later("rgb")
    """Lab: L and ab have an encoder each."""


def training_images(cell: PlainImages | DataAndViews) -> TrainingImages | None:
    """Return the images that a cell trains on; None where the data set's size is not known."""
    size = size_of(cell.dataset, cell.held_out)
    if size is None:
        return None
    available = size.train + (size.unlabeled if cell.pretrain_on == "train+unlabeled" else 0)
    return TrainingImages(cell.dataset, available, cell.train_images or available)


def images_an_epoch(cell: PlainImages | DataAndViews) -> int:
    """Return how many images a cell trains on, guessed where the size is not known."""
    images = training_images(cell)
    return images.taken if images else cell.train_images or GUESS.train


class Encoder(Axis):
    """The network that learns."""

    arch: Arch
    """The backbone; `small` has three residual blocks, for small images on a CPU; `small-alexnet`
    is that of Wang and Isola's code (arXiv:2005.10242) and has the stem 'cifar'; `timm:NAME` is a
    network of the package timm, without its weights."""
    stem: Stem
    """How the backbone begins: 7x7 and pooling, 3x3, or 3x3 at stride 2."""
    width: PositiveInt = 64
    """Channels of the first stage, before 2x and 4x; 64 is the published."""
    zero_init_residual: bool = later(False)
    """Each residual branch begins at 0."""
    projector_layers: NonNegativeInt
    """Linear layers behind the backbone."""
    projector_hidden_dim: PositiveInt | None = None
    """Units of each hidden layer of the projector; needed with 2 projector_layers or more."""
    projector_bn: BN | None = None
    """Batch norm of the projector: nowhere, behind hidden layers, or behind all layers."""
    feature_dim: PositiveInt
    """D, of queries and keys."""
    predictor_layers: NonNegativeInt = 0
    """Linear layers behind the projector, for queries alone."""
    predictor_hidden_dim: PositiveInt | None = None
    """Units of each hidden layer of the predictor; needed with 2 predictor_layers or more."""
    predictor_bn: BN | None = None
    """Batch norm of the predictor: nowhere, behind hidden layers, or behind all layers."""
    bn: Literal["plain", "shuffling", "sync"]
    """Batch normalisation: of each part, with keys shuffled, or of the whole batch."""
    bn_groups: PositiveInt = 1
    """Parts of a batch that BN normalises apart, as several GPUs do."""
    bn_over: Literal["views-together", "each-view"]
    """What one batch of BN is."""
    norm: Literal["l2", "bn", "none"] = later("l2")
    """Of outputs, before they are compared."""
    witness: Literal["dot", "bilinear", "linear", "mlp-1", "mlp-2"] = later("dot")
    """How alike two outputs are (mutual-information, App. I)."""


class Comparison(Axis):
    """Who is compared with whom."""

    target: Literal["shared", "stop-gradient", "momentum", "bank", "own"]
    """What makes keys, and whether gradients flow through them; own: a method's own code."""
    momentum: Fraction | None = None
    """Beta."""
    momentum_schedule: Literal["fixed", "cosine"] = "fixed"
    """Of beta; cosine: from momentum up to 1 at the end (arXiv:2006.07733, Sec. 3.3)."""
    bank_rate: Fraction | None = later()
    """M <- rate M + (1 - rate) v; 0: the last view."""
    bank_start: Literal["uniform"] | None = later()
    """What coordinates of the first entries are drawn from, alike around 0; null: Gaussian."""
    bank_normalised: bool | None = later()
    """Entries are brought to unit length."""
    negatives: Literal["batch", "queue", "bank", "previous", "none"]
    """Where negatives come from; previous: the correlation matrix of all outputs so far."""
    negative_views: Literal["both", "keys"] | None = None
    """Of the other images of the batch."""
    negative_branch: Literal["target", "online"] = later("target")
    """Whose outputs negatives are."""
    K: PositiveInt | None = None
    """Negatives per query; null: all of the batch."""
    queue_size: PositiveInt | None = None
    """Keys kept, of which K are drawn per query; null: K."""
    queue_start: Literal["random", "empty"] | None = None
    """What the queue holds at first: random unit vectors, or nothing."""
    rho: Fraction | None = later()
    """Decay of the correlation matrix F of all previous outputs."""
    drawn: Literal["uniform", "nearest", "ball", "ring", "cave", "earliest", "newest"] | None = (
        later()
    )
    """Which keys of a bank or queue the K are; null with a queue: uniform."""
    ball_share: Share | None = later()
    """Of the bank, nearest first: negatives lie in it."""
    inner_share: Share | None = later()
    """The nearest of all: a ring's hole, a neighbourhood."""
    clusters: PositiveInt | None = later()
    """Of K-means on the bank, fitted once an epoch."""
    clusterings: PositiveInt | None = later()
    """K-means with so many starts; their union counts."""
    centre: Literal["view", "entry"] | None = later()
    """What nearness is to."""
    uniform_epochs: NonNegativeInt = later(0)
    """That begin with uniform draws, no neighbours."""
    anneal_epochs: PositiveInt | None = later()
    """The ball shrinks from everything to its share."""
    anneal_every: Literal["epoch", "step"] = later("epoch")
    """When the shares of an annealed ball or ring move."""
    inner_from_epoch: NonNegativeInt | None = later()
    """The inner share grows from 0 here ..."""
    inner_to_epoch: PositiveInt | None = later()
    """... to itself here."""
    neighbours: Literal["none", "nearest", "s-neighbourhood", "k-neighbourhood"] = "none"
    """Other images as positives: NNCLR's, those of the inner ball, those of the cluster."""
    neighbour_count: PositiveInt | None = later()
    """Drawn; null: all that are negatives too."""
    neighbour_sum: Literal["inside", "outside"] | None = later()
    """Of the logarithm."""
    support_size: PositiveInt | None = None
    """Embeddings kept, the newest; the one nearest to a view is its query (NNCLR)."""
    K_scalar: PositiveInt | None = later()
    """Negatives of the scalar component alone."""
    scalar_size: PositiveInt | None = later()
    """Keys that these are drawn from, the newest."""
    scalar_drawn: Literal["earliest", "random", "newest"] | None = later()
    """Which of these keys the K_scalar are."""


class Objective(Axis):
    """What is made small; options belong to the losses that `losses.py` says."""

    loss: LossName
    """The objective."""
    tau: PositiveFloat | None = None
    """Temperature of the similarities; with every loss it is also that of the probes q_B and MI."""
    alpha: PositiveFloat | None = None
    """EqCo's, Eq. 5; also with dual-temperature."""
    weight: Literal["vmf", "exp"] | None = None
    """DCLW's: von Mises-Fisher or exponential."""
    sigma: PositiveFloat | None = None
    """Of DCLW's weight: the width of vmf, the rate of exp."""
    delta: PositiveFloat | None = None
    """Of DCLW's weight delta e^(-sigma s), s the positive's similarity: its factor."""
    through_weight: bool | None = None
    """Whether gradients flow through dclw's weight."""
    tau_beta: PositiveFloat | None = None
    """Temperature of the scalar component of dual temperature."""
    form: Literal["released", "printed"] | None = None
    """Which of two readings: the authors' code or the paper's text."""
    align_alpha: Annotated[float, Field(ge=1)] | None = None
    """Alpha of align-uniform: the power of the distance of two views' embeddings."""
    uniform_t: PositiveFloat | None = None
    """The t of the potential e^(-t d^2) of two embeddings at distance d."""
    align_weight: NonNegativeFloat | None = None
    """Factor of the alignment in the loss."""
    uniform_weight: NonNegativeFloat | None = None
    """Factor of the uniformity in the loss."""
    kappa: PositiveFloat | None = later()
    """Of the original IR: its normaliser over the number of entries; null with normaliser
    'constant': the mean of e^(s / tau) over the negatives of the first batches."""
    normaliser: Literal["sampled", "constant"] | None = later()
    """Of the original IR and LA; constant: noise-contrastive estimation with one number for all
    queries; sampled: kappa before a sum over samples."""
    own_entry: Literal["always", "if-near"] | None = later()
    """When a query's own entry is among LA's close neighbours; if-near: as one of the K nearest."""
    balance: PositiveFloat | None = later()
    """Lambda; null with a gradient: dynamic."""
    cov_weight: NonNegativeFloat | None = later()
    """VICReg's lambda_1."""
    var_weight: NonNegativeFloat | None = later()
    """VICReg's lambda_2."""
    gamma: PositiveFloat | None = later()
    """VICReg's least standard deviation."""
    eps: PositiveFloat | None = later()
    """DirectPred's."""
    positive_gradient: Literal["target", "predictor", "whitened"] | None = later()
    """Of UniGrad's Table 2."""
    negative_gradient: Literal["softmax", "online", "target", "variance"] | None = later()
    """Of UniGrad's Table 2: what the negatives are weighed by."""
    gradient_scale: PositiveFloat | None = later()
    """The leading constant of a gradient form."""
    half_power: bool | None = later()
    """DirectPred's gradient with its term in F^(1/2)."""
    symmetric: bool
    """Both views are queries."""


class Steps(Axis):
    """How long, how fast."""

    epochs: PositiveInt
    """Passes over the training images."""
    batch_size: Annotated[int, Field(ge=2)]
    """Images encoded together."""
    optimizer: Literal["sgd", "lars", "adam", "adamw", "muon"]
    """Adam, adamw (arXiv:1711.05101): beta_2 = 0.999; lars: a trust of 0.001; muon (K. Jordan,
    2024): weights with two axes or more, first and last layers too, and SGD with Nesterov's
    momentum for biases and BN. All but sgd normalise gradients."""
    lr: PositiveFloat
    """At N; the rate that is used."""
    base_lr: PositiveFloat | None = None
    """At 256, where lr comes from the rule."""
    lr_scaling: Rule | None = None
    """How lr comes from base_lr: equal to it, times N / 256, or times sqrt(N / 256); with every
    optimizer alike."""
    sgd_momentum: Fraction = 0.9
    """Momentum of sgd, lars and muon; beta_1 of adam and adamw."""
    nesterov: bool = later(False)
    """Of sgd: Nesterov's momentum, which muon always has."""
    weight_decay: NonNegativeFloat
    """Coefficient of a weight in its gradient, before lars and adam normalise it; adamw, and muon
    for what is not left to SGD, take lr times it off the weight instead."""
    exempt: bool = False
    """Biases and BN from weight decay and from LARS's adaptation."""
    lr_schedule: Literal["constant", "cosine", "step", "plateau", "triangular"]
    """After warm-up; cosine and triangular (on a line: arXiv:1506.01186, Sec. 3.1) fall to 0, step
    and plateau by a factor. The peak of a triangle lies where warm-up ends."""
    warmup_epochs: NonNegativeInt = 0
    """Epochs at the beginning in which the rate rises from 0 to lr on a line."""
    lr_drop_epochs: Annotated[str, Field(pattern=r"^\d+(,\d+)*$")] | None = None
    """Such as 120,160."""
    lr_drop_factor: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """What each drop multiplies the rate by."""

    @model_validator(mode="after")
    def _steps_agree(self) -> Self:
        if self.nesterov and (self.optimizer != "sgd" or not self.sgd_momentum):
            raise ValueError("nesterov has a meaning with optimizer 'sgd' and its momentum alone")
        if self.optimizer == "muon" and not self.sgd_momentum:
            raise ValueError("optimizer 'muon' needs sgd_momentum above 0")
        if self.lr_schedule == "triangular" and not self.warmup_epochs:
            raise ValueError("lr_schedule 'triangular' rises in warmup_epochs, 1 or more")
        if self.warmup_epochs > self.epochs:
            raise ValueError(f"warmup_epochs {self.warmup_epochs}: there are {self.epochs} epochs")
        return self


class Optimisation(Steps):
    """How long, how fast, and what is watched meanwhile."""

    N: PositiveInt
    """Queries per optimiser step: gradients of N / batch_size batches are summed."""
    cached_negatives: bool = later(False)
    """With N above batch_size: negatives are the images of the whole step instead of one batch's,
    by gradient caching (arXiv:2101.06983), which encodes each batch twice. BN sees single batches
    still."""
    lr_bias: PositiveFloat | None = later()
    """Of biases and BN, at N; null: lr, with muon half of it. Needs exempt or muon."""
    base_lr_bias: PositiveFloat | None = later()
    """At 256, where lr_bias comes from it by the rule of lr."""
    plateau_patience: PositiveInt | None = None
    """Epochs without a better kNN."""
    plateau_drops: PositiveInt | None = None
    """How many drops there may be."""
    knn_every_epochs: NonNegativeInt = 0
    """KNN (k 200, tau 0.1) of the test images; 0: never."""
    watch: Literal["knn", "nn"] = later("knn")
    """Nn: the nearest neighbour of the outputs instead."""
    components: bool = later(False)
    """Beside it the principal component ratio of the outputs."""
    eigenspaces: bool = later(False)
    """Beside it how far a linear predictor has the eigenvectors of F, here of the test images."""
    online_linear: bool = False
    """A linear classifier beside, trained on detached features."""


class Accuracies(Axis):
    """Protocols of the accuracies of frozen features."""

    knn_k: PositiveInt = 200
    """Neighbours, of the labelled training images, that vote."""
    knn_tau: PositiveFloat | None = 0.1
    """Null: a plain majority."""
    knn_metric: Literal["cosine", "euclidean"] = "cosine"
    """What nearness is: the cosine, or the distance of features as they are."""
    linear: str | None = None
    """A protocol's name."""
    few_shot: PositiveInt | None = None
    """Labels per class."""
    few_shot_draws: PositiveInt = 10
    """Draws of labelled images; their mean and standard deviation are reported."""
    test_warp: Literal["none", "digits-25"] = later("none")
    """Of test images, beside plain ones; digits-25: turned to 25 degrees, scaled to 1.3, moved."""


class Evaluation(Accuracies):
    """What is asked of the trained encoder."""

    features: Literal["backbone", "projector"] = "backbone"
    """The layer that is evaluated: the backbone, or the projector before normalisation."""
    knn_features: Literal["backbone", "projector"] | None = later()
    """The layer that kNN looks at; null: that of `features`."""
    linear_once: bool = later(False)
    """Each image is shown as it is, whatever the protocol shows: features are computed once."""
    weights_K: PositiveInt | None = later()
    """Negatives of the weights r_+ of two draws."""
    spread: bool = later(False)
    """Whether the spread of the outputs is measured: near 0 they have collapsed."""
    ranks: bool = later(False)
    """Whether ranks of the features are measured, of finished cells too, whose encoder was kept."""

    @property
    def knn_layer(self) -> str:
        """The layer that kNN looks at."""
        return self.knn_features or self.features


class Coordinates(Evaluation, Optimisation, Objective, Comparison, Encoder, DataAndViews):
    """Every axis: a method, its data and training, and what is measured of it, as one point."""

    @property
    def images_compared(self) -> int:
        """How many images are compared with each other: of a batch, or of a step."""
        return self.N if self.cached_negatives else self.batch_size

    @property
    def pool(self) -> int:
        """How many negatives a query finds among the images that it is compared with."""
        return (self.images_compared - 1) * (2 if self.negative_views == "both" else 1)

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
        return all(getattr(cell, name) not in (None, "none", False) for name in self.needs)

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
    """Return the metrics of the evaluations that a cell asks for."""
    return [name for kind in kinds.values() if kind.is_asked_by(cell) for name in kind.metrics]


def metrics_of(kinds: Mapping[str, EvaluationKind]) -> tuple[str, ...]:
    """Return the metrics of all these evaluations."""
    return tuple(name for kind in kinds.values() for name in kind.metrics)


LABELS = frozenset({"method", "base_lr", "base_lr_bias", "lr_scaling", "linear_once", "ranks"})
"""Fields that enter no id: they say where others come from, stand in a protocol's record, or ask
for a metric that came later."""
HEADS = tuple(
    name
    for name in Encoder.model_fields
    if name not in ("arch", "stem", "width", "zero_init_residual")
)
TEMPERATURES = tuple(name for name in Objective.model_fields if name.startswith("tau"))
"""Settings that are temperatures: name a new one `tau_...`, so that doubts look at it too."""
OWN_OF_LOSS = frozenset(Objective.model_fields) - {"tau"}
"""Settings that say what a loss is; the temperature is a training setting of every method."""
OWN_OF_METHOD = OWN_OF_LOSS | frozenset(Comparison.model_fields) | frozenset(HEADS) | {"method"}
"""Settings that say what a method is: its loss, what is compared with what, and the heads."""
