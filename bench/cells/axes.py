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
BN = Literal["none", "hidden", "all"]  # where a head has batch normalisation
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
    """Name of the data set; `bench datasets` lists all names."""
    train_images: PositiveInt | None = None
    """Number of training images, taken from the start of a fixed random order; null: all images."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None = later()
    """Share of each class's training images that is held out and replaces the test images; null:
    the test images are used."""
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
    """Images that the encoder trains on; train+unlabeled adds the unlabelled images of STL-10."""
    resized_to: Annotated[int, Field(ge=8)] | None = later()
    """Side in pixels to which images are resized before views are made; null: images are not
    resized."""
    views: ViewSet
    """Random transforms that make the views of an image: the set of a method, or a single
    transform."""
    view_strength: PositiveFloat = 1.0
    """Strength of the random transforms; 1 is the published strength."""
    local_size: PositiveInt | None = later()
    """Side in pixels of the local views of multi-crop."""
    cutmix: bool = later(False)
    """Whether CutMix replaces a patch of each image that the online network sees with a patch of a
    different image."""
    colour: Literal["rgb", "lab"] = later("rgb")
    """Colour space of the views; with lab, one encoder sees the lightness L and a second encoder
    the colours ab."""


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
    """Backbone network. `small` has three residual blocks, for small images on a CPU.
    `small-alexnet` is the network of Wang and Isola's code (arXiv:2005.10242) and needs stem
    'cifar'. `timm:NAME` is a network of the package timm, without pretrained weights."""
    stem: Stem
    """First layers of the backbone: a 7x7 convolution with pooling (imagenet), a 3x3 convolution
    (cifar), or a 3x3 convolution with stride 2 (half)."""
    width: PositiveInt = 64
    """Number of channels of the first stage of the backbone; later stages are multiples of it. 64
    is the published width."""
    zero_init_residual: bool = later(False)
    """Whether the last BN scale of each residual branch is initialised to 0. Then each block
    starts as the identity."""
    projector_layers: NonNegativeInt
    """Number of linear layers of the projector."""
    projector_hidden_dim: PositiveInt | None = None
    """Number of units of each hidden layer of the projector; needed if projector_layers is 2 or
    more."""
    projector_bn: BN | None = None
    """Where the projector has batch normalisation: nowhere, after hidden layers, or after all
    layers."""
    feature_dim: PositiveInt
    """Dimension D of queries and keys."""
    predictor_layers: NonNegativeInt = 0
    """Number of linear layers of the predictor, which follows the projector for queries only."""
    predictor_hidden_dim: PositiveInt | None = None
    """Number of units of each hidden layer of the predictor; needed if predictor_layers is 2 or
    more."""
    predictor_bn: BN | None = None
    """Where the predictor has batch normalisation: nowhere, after hidden layers, or after all
    layers."""
    bn: Literal["plain", "shuffling", "sync"]
    """Batch normalisation: plain normalises each of the bn_groups, shuffling also shuffles the
    keys between groups as in MoCo, sync normalises the whole batch."""
    bn_groups: PositiveInt = 1
    """Number of groups of a batch that BN normalises separately, as it does on several GPUs."""
    bn_over: Literal["views-together", "each-view"]
    """Images that BN normalises together: both views of the batch, or each view separately."""
    norm: Literal["l2", "bn", "none"] = later("l2")
    """Normalisation of the outputs before the loss compares them: to unit length (l2), by BN, or
    none."""
    witness: Literal["dot", "bilinear", "linear", "mlp-1", "mlp-2"] = later("dot")
    """Function that computes the similarity of two outputs, the witness of mutual-information,
    App. I."""


class ComparisonAxis(Axis):
    """Positives and negatives that the loss compares."""

    target: Literal["shared", "stop-gradient", "momentum", "bank", "own"]
    """Network that computes the keys: the query encoder, with gradients (shared) or without
    (stop-gradient); its moving average (momentum); a memory bank of earlier outputs (bank); or the
    method's own code (own)."""
    momentum: Fraction | None = None
    """Momentum coefficient beta of the target encoder."""
    momentum_schedule: Literal["fixed", "cosine"] = "fixed"
    """Schedule of the momentum coefficient; cosine: it rises from momentum to 1 at the end of
    training (arXiv:2006.07733, Sec. 3.3)."""
    bank_rate: Fraction | None = later()
    """Share of the old bank entry M that an update keeps: M <- rate M + (1 - rate) v, where v is
    the output of the current view. With 0, the entry is the last output."""
    bank_start: Literal["uniform"] | None = later()
    """Distribution of the initial bank entries; uniform: each coordinate is uniform around 0;
    null: Gaussian."""
    bank_normalised: bool | None = later()
    """Whether bank entries are scaled to unit length after each update."""
    negatives: Literal["batch", "queue", "bank", "previous", "none"]
    """Source of negatives; with previous, the correlation matrix of all outputs so far replaces
    single negatives."""
    negative_views: Literal["both", "keys"] | None = None
    """Which views of the other images in the batch are negatives: both views, or only the keys."""
    negative_branch: Literal["target", "online"] = later("target")
    """Network that computes the negatives: the network of the keys (target) or of the queries
    (online)."""
    K: PositiveInt | None = None
    """Number of negatives per query; null: all negatives in the batch."""
    queue_size: PositiveInt | None = None
    """Number of keys in the queue, of which K are drawn per query; null: K."""
    queue_start: Literal["random", "empty"] | None = None
    """Content of the queue at the start of training: random unit vectors, or no keys."""
    rho: Fraction | None = later()
    """Decay of the moving average F, the correlation matrix of all previous outputs."""
    drawn: Literal["uniform", "nearest", "ball", "ring", "cave", "earliest", "newest"] | None = (
        later()
    )
    """How the K negatives are chosen from a bank or queue; null with a queue: uniformly at
    random."""
    ball_share: Share | None = later()
    """Share of the bank entries, the nearest to the query, from which negatives are drawn."""
    inner_share: Share | None = later()
    """Share of the bank entries, the nearest to the query, that are never negatives (drawn 'ring')
    or are neighbours (neighbours 's-neighbourhood')."""
    clusters: PositiveInt | None = later()
    """Number of K-means clusters of the bank entries, which are fitted once per epoch."""
    clusterings: PositiveInt | None = later()
    """Number of K-means fits; the neighbourhood of an entry is the union of its clusters in all
    fits."""
    centre: Literal["view", "entry"] | None = later()
    """Point from which distances to bank entries are measured: the output of the query's view, or
    the bank entry of its image."""
    uniform_epochs: NonNegativeInt = later(0)
    """Number of epochs at the start with uniformly drawn negatives and without neighbours."""
    anneal_epochs: PositiveInt | None = later()
    """Number of epochs in which the ball shrinks from the whole bank to ball_share."""
    anneal_every: Literal["epoch", "step"] = later("epoch")
    """How often the share of a shrinking ball or growing ring changes: at each epoch or at each
    step."""
    inner_from_epoch: NonNegativeInt | None = later()
    """Epoch at which the inner share of the bank starts to grow from 0."""
    inner_to_epoch: PositiveInt | None = later()
    """Epoch at which the inner share of the bank reaches inner_share."""
    neighbours: Literal["none", "nearest", "s-neighbourhood", "k-neighbourhood"] = "none"
    """Other images that serve as positives: nearest (the nearest earlier embedding, as in NNCLR),
    s-neighbourhood (the inner share of the bank), or k-neighbourhood (entries of the same
    cluster)."""
    neighbour_count: PositiveInt | None = later()
    """Number of neighbours drawn per query; null: all neighbours that are also among the
    negatives."""
    neighbour_sum: Literal["inside", "outside"] | None = later()
    """Whether the sum over close neighbours is taken inside or outside the logarithm."""
    support_size: PositiveInt | None = None
    """Number of newest embeddings that are stored for NNCLR; the stored embedding nearest to a
    view is used as its query."""
    K_scalar: PositiveInt | None = later()
    """Number of negatives in the scalar component of dual temperature."""
    scalar_size: PositiveInt | None = later()
    """Number of keys in the queue's pool from which the negatives of the scalar component are
    drawn."""
    scalar_drawn: Literal["earliest", "random", "newest"] | None = later()
    """Which keys of the pool of scalar_size keys are the K_scalar negatives."""


class ObjectiveAxis(Axis):
    """The loss and its options; `losses.py` lists which losses take which option."""

    loss: LossName
    """Name of the loss."""
    tau: PositiveFloat | None = None
    """Temperature by which similarities are divided; the recorded q_B and MI bounds use it with
    every loss."""
    alpha: PositiveFloat | None = None
    """EqCo's alpha (EqCo, Eq. 5); optional for loss 'dual-temperature'."""
    weight: Literal["vmf", "exp"] | None = None
    """Form of the weight in DCLW: von Mises-Fisher or exponential."""
    sigma: PositiveFloat | None = None
    """Parameter sigma of the weight in DCLW: the width with weight 'vmf', or the decay with weight
    'exp'."""
    delta: PositiveFloat | None = None
    """Factor delta of the exponential weight in DCLW, delta e^(-sigma s), where s is the
    similarity of the positive pair."""
    through_weight: bool | None = None
    """Whether gradients flow through the weight in DCLW."""
    tau_beta: PositiveFloat | None = None
    """Temperature of the scalar component of dual temperature."""
    form: Literal["released", "printed"] | None = None
    """Interpretation of dual temperature: the authors' code or the paper's text."""
    align_alpha: Annotated[float, Field(ge=1)] | None = None
    """Alpha of align-uniform: the power to which the distance between the embeddings of two views
    is raised."""
    uniform_t: PositiveFloat | None = None
    """Parameter t of align-uniform: two embeddings at distance d have the potential e^(-t d^2)."""
    align_weight: NonNegativeFloat | None = None
    """Weight of the alignment term of align-uniform."""
    uniform_weight: NonNegativeFloat | None = None
    """Weight of the uniformity term of align-uniform."""
    kappa: PositiveFloat | None = later()
    """Normaliser of the original instance recognition (IR), divided by the number of bank entries;
    null with normaliser 'constant': it is estimated as the mean of e^(s / tau) over the negatives
    of the first batches."""
    normaliser: Literal["sampled", "constant"] | None = later()
    """Normaliser of the original instance recognition (IR) and local aggregation (LA). constant:
    noise-contrastive estimation with one number for all queries. sampled: a sum over samples,
    multiplied by kappa."""
    own_entry: Literal["always", "if-near"] | None = later()
    """When the bank entry of the query's own image is one of LA's close neighbours: always, or
    only if it is one of the K nearest entries (if-near)."""
    balance: PositiveFloat | None = later()
    """Factor lambda that balances the two terms of the loss; null in loss 'gradient': it is
    computed at each step."""
    cov_weight: NonNegativeFloat | None = later()
    """VICReg's lambda_1, the weight of the covariance term."""
    var_weight: NonNegativeFloat | None = later()
    """VICReg's lambda_2, the weight of the variance term."""
    gamma: PositiveFloat | None = later()
    """Standard deviation gamma of an output; below it, VICReg's variance term acts."""
    eps: PositiveFloat | None = later()
    """DirectPred's epsilon, which is added to the eigenvalues of the predictor."""
    positive_gradient: Literal["target", "predictor", "whitened"] | None = later()
    """Form of the gradient of the positive in loss 'gradient' (UniGrad, Table 2)."""
    negative_gradient: Literal["softmax", "online", "target", "variance"] | None = later()
    """Form of the gradient of the negatives in loss 'gradient', which sets their weights (UniGrad,
    Table 2)."""
    gradient_scale: PositiveFloat | None = later()
    """Constant factor of the whole gradient in loss 'gradient'."""
    half_power: bool | None = later()
    """Whether the gradient of DirectPred includes the term with F^(1/2)."""
    symmetric: bool
    """Whether both views of an image are queries; then the loss is symmetric."""


class StepsAxis(Axis):
    """Number of steps and learning rate."""

    epochs: PositiveInt
    """Number of passes over the training images."""
    batch_size: Annotated[int, Field(ge=2)]
    """Number of images encoded together."""
    optimizer: Literal["sgd", "lars", "adam", "adamw", "muon"]
    """Optimiser. adam and adamw (arXiv:1711.05101) use beta_2 = 0.999, lars a trust coefficient of
    0.001. muon (K. Jordan, 2024) updates weights with two axes or more, including first and last
    layers; SGD with Nesterov's momentum updates biases and BN. All optimisers except sgd normalise
    gradients."""
    lr: PositiveFloat
    """Learning rate of the training, for steps of N queries."""
    base_lr: PositiveFloat | None = None
    """Learning rate per 256 queries, from which lr_scaling computes lr."""
    lr_scaling: ScalingRule | None = None
    """How lr is computed from base_lr: without change, times N / 256, or times sqrt(N / 256)."""
    sgd_momentum: Fraction = 0.9
    """Momentum of sgd, lars and muon; beta_1 of adam and adamw."""
    nesterov: bool = later(False)
    """Whether sgd uses Nesterov's momentum; muon always does."""
    weight_decay: NonNegativeFloat
    """Weight decay. sgd, lars and adam add the decay times the weight to the gradient, before lars
    and adam normalise it. adamw, and muon for the weights that it updates itself, subtract lr
    times the decay times the weight instead."""
    exempt: bool = False
    """Whether biases and BN are exempt from weight decay and from LARS's adaptation."""
    lr_schedule: Literal["constant", "cosine", "step", "plateau", "triangular"]
    """Schedule of the learning rate after warm-up. With cosine and triangular (linear:
    arXiv:1506.01186, Sec. 3.1) it falls to 0, with step and plateau by a factor at each drop. The
    peak of triangular is at the end of the warm-up."""
    warmup_epochs: NonNegativeInt = 0
    """Number of epochs at the start in which the learning rate rises linearly from 0 to lr."""
    lr_drop_epochs: Annotated[str, Field(pattern=r"^\d+(,\d+)*$")] | None = None
    """Epochs after which the learning rate drops, such as 120,160."""
    lr_drop_factor: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Factor by which each drop multiplies the learning rate."""

    @model_validator(mode="after")
    def _steps_agree(self) -> Self:
        if self.nesterov and (self.optimizer != "sgd" or not self.sgd_momentum):
            raise ValueError(
                "nesterov can be true only with optimizer 'sgd' and sgd_momentum above 0"
            )
        if self.optimizer == "muon" and not self.sgd_momentum:
            raise ValueError("optimizer 'muon' needs a value of sgd_momentum above 0")
        if self.lr_schedule == "triangular" and not self.warmup_epochs:
            raise ValueError(
                "lr_schedule 'triangular' needs warmup_epochs of 1 or more, in which the "
                "learning rate rises"
            )
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
    """Whether negatives come from all batches of a step instead of one batch, if N is above
    batch_size. Gradient caching (arXiv:2101.06983) then encodes each batch twice. BN still
    normalises each batch separately."""
    lr_bias: PositiveFloat | None = later()
    """Learning rate of biases and BN, for steps of N queries; null: lr, or half of lr with muon.
    Needs exempt or optimizer 'muon'."""
    base_lr_bias: PositiveFloat | None = later()
    """Learning rate of biases and BN per 256 queries; lr_scaling computes lr_bias from it."""
    weight_decay_end: NonNegativeFloat | None = later()
    """Weight decay at the end of training, to which weight_decay moves along a cosine; null: the
    weight decay is constant."""
    clip_norm: PositiveFloat | None = later()
    """Largest norm of the whole gradient of a step; larger gradients are scaled down to it; null:
    no limit."""
    clip_each: PositiveFloat | None = later()
    """Largest norm of the gradient of each weight tensor, as in DINO's released code; null: no
    limit."""
    plateau_patience: PositiveInt | None = None
    """Number of epochs without a better kNN accuracy after which lr_schedule 'plateau' lowers the
    learning rate."""
    plateau_drops: PositiveInt | None = None
    """Largest number of drops of lr_schedule 'plateau'."""
    knn_every_epochs: NonNegativeInt = 0
    """Number of epochs between kNN evaluations on the test images during training (k = 200, tau =
    0.1); 0: no such evaluations."""
    watch: Literal["knn", "nn"] = later("knn")
    """What the evaluations during training measure: kNN accuracy (knn), or the accuracy of the
    nearest neighbour of the outputs (nn)."""
    components: bool = later(False)
    """Whether the evaluations during training also measure the principal component ratio of the
    outputs."""
    eigenspaces: bool = later(False)
    """Whether the evaluations during training also measure how well a linear predictor is aligned
    with the eigenvectors of F."""
    q_b_limit: Annotated[float, Field(gt=0, lt=1)] | None = later()
    """Limit below which a query's q_B counts as small; the metric q_b_low is the share of such
    queries in an epoch; null: they are not counted."""
    online_linear: bool = False
    """Whether a linear classifier is trained along with the encoder, on its features, without
    gradients to the encoder."""


class Accuracies(Axis):
    """Protocols for accuracies of frozen features."""

    knn_k: PositiveInt = 200
    """Number k of nearest labelled training images that vote in kNN."""
    knn_tau: PositiveFloat | None = 0.1
    """Temperature of the kNN votes; null: all votes are equal."""
    knn_metric: Literal["cosine", "euclidean"] = "cosine"
    """How kNN compares features: by cosine similarity or by Euclidean distance."""
    linear: str | None = None
    """Name of the protocol that trains the linear classifier; null: no linear evaluation."""
    few_shot: PositiveInt | None = None
    """Number of labels per class for the few-shot classifier; null: no few-shot evaluation."""
    few_shot_draws: PositiveInt = 10
    """Number of random draws of labelled images for the few-shot classifier; the mean and standard
    deviation of its accuracy over the draws are reported."""
    test_warp: Literal["none", "digits-25"] = later("none")
    """Warp of an extra copy of the test images; digits-25: random rotations by up to 25 degrees,
    scales from 1 / 1.3 to 1.3, and shifts."""


NOWHERE = "none"
"""Value of `evaluated_on` that means no evaluation."""


class Evaluation(Accuracies):
    """Evaluations of the trained encoder."""

    evaluated_on: Annotated[str, Field(min_length=1)] | None = later()
    """Labelled data set of the evaluations, all of whose images are used; null: the training data
    set; none: no evaluations."""
    features: Literal["backbone", "projector"] = "backbone"
    """Layer whose outputs are evaluated: the backbone, or the projector before normalisation."""
    knn_features: Literal["backbone", "projector"] | None = later()
    """Layer whose outputs kNN uses; null: the layer of `features`."""
    linear_once: bool = later(False)
    """Whether the linear classifier trains on unchanged images, even if its protocol uses random
    crops."""
    weights_K: PositiveInt | None = later()
    """Number of negatives used to compare the weights r_+ that two draws of negatives give; null:
    not measured."""
    spread: bool = later(False)
    """Whether the standard deviation of the outputs is measured; near 0, the outputs have
    collapsed."""
    ranks: bool = later(False)
    """Whether the ranks of the features are measured, also for finished cells whose encoder is
    stored."""

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
        """Number of images compared with each other: the images of a batch, or of a step with
        cached_negatives."""
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
