"""Cells that run on one core: toy experiments and identities of papers.

Field names are the papers' symbols. Published settings use the keys of `bench/papers/data`, so
measured and published rows can be joined by name.
"""

import math
from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from bench.cells.axes import Fraction
from bench.cells.cell import Cell

MOST_NUMBERS = 2**26  # of a tensor of one cell: 256 MiB in float32, and there are several


class SmallCell(Cell, ABC):
    """A cell that needs one core and little memory."""

    precision: Literal["float32"] = "float32"

    @property
    @abstractmethod
    def tensors(self) -> dict[str, int]:
        """Numbers of elements of the largest tensors, with descriptions."""

    @model_validator(mode="after")
    def _is_small(self) -> Self:
        what, numbers = max(self.tensors.items(), key=lambda tensor: tensor[1])
        if numbers > MOST_NUMBERS:
            raise ValueError(
                f"memory must hold {what} = {numbers} numbers at once, more than the limit "
                f"of {MOST_NUMBERS}; reduce these settings"
            )
        return self


class MarginCell(SmallCell):
    """A cell with a margin in InfoNCE: none, or EqCo's m = tau log(alpha / K) (EqCo, Eq. 5)."""

    loss: Literal["infonce", "eqco"]
    alpha: PositiveFloat | None = None  # how many negatives the margin imitates; eqco only

    @model_validator(mode="after")
    def _alpha_belongs_to_eqco(self) -> Self:
        if (self.alpha is None) != (self.loss == "infonce"):
            raise ValueError("alpha must be set with loss 'eqco' and left out with loss 'infonce'")
        return self


class GaussianMI(MarginCell):
    """Mutual-information bound of correlated Gaussians (EqCo, App. C, Table 9)."""

    experiment: Literal["gaussian-mi"]
    version: Literal[1] = 1
    mi_true: PositiveFloat  # nats, Eq. 15
    d: PositiveInt  # dimensions of X and of Y
    K: Annotated[int, Field(ge=2)]  # pairs per step, as App. C counts; K - 1 negatives per query
    steps: PositiveInt
    optimizer: Literal["adam"]
    lr: PositiveFloat
    eval_repeats: PositiveInt
    hidden_layers: Literal[1]
    hidden_units: PositiveInt
    activation: Literal["relu"]
    embedding_dim: PositiveInt
    output_relu: bool  # ReLU after the last layer too
    tau: PositiveFloat
    margin_count: Literal["negatives", "pairs"]  # margin tau log(alpha / (K - 1)) or (alpha / K)
    bound_constant: Literal[
        "one-plus-alpha", "alpha"
    ]  # eqco's log(1 + alpha) - L or log(alpha) - L

    metrics: ClassVar[tuple[str, ...]] = ("mi_lower_bound", "mi_lower_bound_std")
    stacks_over: ClassVar[frozenset[str]] = frozenset({"mi_true", "loss", "alpha", "seed"})
    stack_limit: ClassVar[int] = 10
    sizes: ClassVar[tuple[str, ...]] = ("K", "d", "hidden_units")
    cuttable: ClassVar[tuple[str, ...]] = ("steps", "eval_repeats")

    @property
    def blocks(self) -> tuple[int, ...]:
        """Elements of inputs, activations, similarities, weights and biases."""
        hidden, out, pairs = self.hidden_units, self.embedding_dim, self.K
        return (self.d * pairs, pairs * hidden, pairs * out, pairs**2, self.d * hidden, hidden, out)

    @property
    def tensors(self) -> dict[str, int]:
        """Similarities of all pairs, or one layer of an encoder."""
        widest = max(self.d, self.hidden_units, self.embedding_dim)
        return {
            "K x K": self.K**2,
            "K x the widest layer": self.K * widest,
            "d x hidden_units": self.d * self.hidden_units,
            "hidden_units x embedding_dim": self.hidden_units * self.embedding_dim,
            "eval_repeats": self.eval_repeats,
        }


class OptimalBound(MarginCell):
    """EqCo's bound with the optimal critic, the exact density ratio (EqCo, Theorem 1)."""

    experiment: Literal["optimal-bound"]
    version: Literal[2] = 2
    mi_true: PositiveFloat  # nats
    d: PositiveInt
    K: PositiveInt  # negatives per query
    samples: PositiveInt  # Monte Carlo queries

    metrics: ClassVar[tuple[str, ...]] = ("mi_lower_bound", "mi_lower_bound_approximate")
    exact: ClassVar[frozenset[str]] = frozenset(metrics)
    sizes: ClassVar[tuple[str, ...]] = ("K", "d")
    cuttable: ClassVar[tuple[str, ...]] = ("samples",)

    @model_validator(mode="after")
    def _correlation_is_below_1(self) -> Self:
        if math.sqrt(-math.expm1(-2 * self.mi_true / self.d)) ** 2 >= 1:
            raise ValueError(
                f"mi_true {self.mi_true} is too large: in {self.d} dimensions the "
                "correlation rounds to 1"
            )
        return self

    @property
    def tensors(self) -> dict[str, int]:
        """The queries, or all negatives of one query."""
        return {"max(K, samples) x d": max(self.K, self.samples) * self.d}


class GradientNorm(MarginCell):
    """Norm of dL/dq over random negatives, and its upper bound (EqCo, Theorem 2)."""

    experiment: Literal["gradient-norm"]
    version: Literal[1] = 1
    K: PositiveInt  # negatives per query
    tau: PositiveFloat
    d: Annotated[int, Field(ge=2)]  # dimensions of the unit sphere the keys are drawn from
    positive_cosine: Annotated[float, Field(ge=-1, le=1)]  # q . k_0, kept fixed as the theorem does
    draws: Annotated[int, Field(ge=2)]

    metrics: ClassVar[tuple[str, ...]] = (
        "gradient_norm", "gradient_norm_std", "gradient_norm_bound",
    )  # fmt: skip
    exact: ClassVar[frozenset[str]] = frozenset(metrics)
    sizes: ClassVar[tuple[str, ...]] = ("K", "d")
    cuttable: ClassVar[tuple[str, ...]] = ("draws",)

    @property
    def tensors(self) -> dict[str, int]:
        """The keys of one random sample."""
        return {"max(K, draws) x d": max(self.K, self.draws) * self.d}


class VinceGaussian(SmallCell):
    """InfoNCE and VINCE on two correlated scalars (mutual-information, App. E, Table 3)."""

    experiment: Literal["vince-gaussian"]
    version: Literal[1] = 1
    method: Literal["infonce", "vince"]
    valid_percent: Annotated[
        float, Field(gt=0, le=100)
    ]  # eligible share of the bank, nearest first
    dataset_size: PositiveInt
    K: PositiveInt  # negatives drawn per pair, the positive not counted
    epochs: PositiveInt
    batch_size: PositiveInt
    optimizer: Literal["adam"]
    lr: PositiveFloat
    weight_decay: Annotated[float, Field(ge=0)]
    layers: Annotated[int, Field(ge=2)]  # linear layers of each encoder
    hidden_units: PositiveInt
    embedding_dim: PositiveInt
    towers: Literal["two", "shared"]  # encoders g_theta and g_phi, or one for both
    normalised: bool  # embeddings of unit length
    tau: PositiveFloat
    bank_rate: Fraction  # M[i] <- rate M[i] + (1 - rate) g(y_i); the bank ranks the negatives
    negatives_from: Literal["encoder", "bank"]  # their representation: g(y_j), or M[j] as stored
    eval_repeats: PositiveInt

    metrics: ClassVar[tuple[str, ...]] = (
        "mi_true", "vince_bound_train", "vince_bound_fresh", "infonce_bound_train",
        "infonce_bound_fresh",
    )  # fmt: skip
    exact: ClassVar[frozenset[str]] = frozenset({"mi_true"})  # the closed form; the rest is trained
    stacks_over: ClassVar[frozenset[str]] = frozenset({"method", "valid_percent", "seed"})
    stack_limit: ClassVar[int] = 18
    sizes: ClassVar[tuple[str, ...]] = ("K", "dataset_size", "hidden_units")
    cuttable: ClassVar[tuple[str, ...]] = ("epochs", "eval_repeats")

    @model_validator(mode="after")
    def _infonce_takes_all(self) -> Self:
        if self.method == "infonce" and self.valid_percent != 100:
            raise ValueError(
                "method 'infonce' draws negatives from all samples, so valid_percent must be 100"
            )
        return self

    @model_validator(mode="after")
    def _data_is_enough(self) -> Self:
        others = self.dataset_size - 1
        if others < self.K:
            raise ValueError(
                f"K is {self.K}, but there are only {others} other samples to draw negatives from"
            )
        if self.batch_size > self.dataset_size:
            raise ValueError(
                f"batch_size is {self.batch_size}, but dataset_size is only {self.dataset_size}"
            )
        return self

    @property
    def tensors(self) -> dict[str, int]:
        """Negatives of all samples, their distances, or one layer of all samples."""
        samples, widest = self.dataset_size, max(self.hidden_units, self.embedding_dim)
        return {
            "dataset_size x K x embedding_dim": samples * self.K * self.embedding_dim,
            "dataset_size squared": samples**2,
            "dataset_size x the widest layer": samples * widest,
            "hidden_units squared": self.hidden_units**2,
        }

    @property
    def blocks(self) -> tuple[int, ...]:
        """Elements of batches, of an epoch's last batch and of the bank; widths are padded."""
        return (self.batch_size, self.dataset_size % self.batch_size, self.dataset_size)


class Spirals(SmallCell):
    """Separation of two spirals after contrastive learning (mutual-information, App. G, Fig. 6)."""

    experiment: Literal["spirals"]
    version: Literal[1] = 1
    eta: Annotated[float, Field(ge=0)]  # views add U(0, eta) to each coordinate
    source: Literal["bank", "batch"]  # negatives: the memory bank as stated, or the other views
    K: PositiveInt | None = None  # negatives drawn from the bank; the batch has 2 batch_size - 2
    bank_rate: Fraction | None = None
    points: Annotated[int, Field(ge=4, multiple_of=4)]  # of both spirals together
    turns: PositiveFloat
    arms: Literal["rotated", "mirrored"]  # the second spiral: turned by 180 degrees, or mirrored
    layers: Annotated[int, Field(ge=2)]
    hidden_units: PositiveInt
    normalised: bool
    tau: PositiveFloat
    optimizer: Literal["sgd"]
    lr: PositiveFloat
    momentum: Fraction
    weight_decay: Annotated[float, Field(ge=0)]
    batch_size: Annotated[int, Field(ge=2)]
    iterations: PositiveInt

    metrics: ClassVar[tuple[str, ...]] = ("linear_top1", "final_loss")
    of_history: ClassVar[tuple[str, ...]] = ("loss",)
    stacks_over: ClassVar[frozenset[str]] = frozenset({"eta", "seed"})
    stack_limit: ClassVar[int] = 10
    sizes: ClassVar[tuple[str, ...]] = ("source", "batch_size", "hidden_units")
    cuttable: ClassVar[tuple[str, ...]] = ("iterations",)

    @model_validator(mode="after")
    def _bank_settings_belong_to_the_bank(self) -> Self:
        bank = self.source == "bank"
        if (self.K is None) == bank or (self.bank_rate is None) == bank:
            raise ValueError(
                "K and bank_rate must be set with source 'bank' and left out with source 'batch'"
            )
        if self.K is not None and self.points // 2 < self.K:
            raise ValueError(
                f"K is {self.K}, but there are only {self.points // 2} training points to "
                "draw negatives from"
            )
        if self.batch_size > self.points // 2:
            raise ValueError(
                f"batch_size is {self.batch_size}, but there are only {self.points // 2} "
                "training points"
            )
        return self

    @property
    def tensors(self) -> dict[str, int]:
        """Similarities of a batch, or one layer of all points."""
        return {
            "batch_size x K": self.batch_size * (self.K or 0),
            "twice batch_size, squared": (2 * self.batch_size) ** 2,
            "points x hidden_units": self.points * self.hidden_units,
            "hidden_units squared": self.hidden_units**2,
        }

    @property
    def blocks(self) -> tuple[int, ...]:
        """Elements of batches of 2-d points, hidden layers, and the memory bank."""
        return (2 * self.batch_size, self.hidden_units, self.points)


IdentityName = Literal[
    "q-b-in-every-gradient", "dcl-has-no-q-b", "q-b-easy-cases", "mean-of-dclw-weight",
    "dclw-tends-to-dcl", "hard-pair-among-negatives", "potential-of-distance",
    "infonce-tends-to-dcl", "prior-under-eqco", "prior-without-margin", "permuted-bank",
    "simclr-is-infonce", "la0-is-ball", "la-below-la0", "la-is-a-difference", "gradient-of-moco",
    "gradient-of-simclr", "gradient-of-directpred", "gradient-of-barlow-twins",
    "gradient-of-vicreg", "gradient-of-unigrad", "directpred-parallel-term", "shared-target",
    "memory-of-f", "cross-entropy-is-infonce", "drift-of-all-keys",
    "cached-is-large-batch",
]  # fmt: skip
"""Each is a function in `bench/experiments/identities`."""


class Identity(SmallCell):
    """Both sides of an equation or an inequality of a paper, on random features in float64."""

    experiment: Literal["identity"]
    version: Literal[1] = 1
    identity: IdentityName
    N: Annotated[int, Field(ge=4)]  # samples of one draw
    d: Annotated[int, Field(ge=2)]  # dimensions of the features
    draws: PositiveInt  # of features, and of a temperature where there is one

    metrics: ClassVar[tuple[str, ...]] = (
        "largest_difference", "smallest_margin", "violated_share",
    )  # fmt: skip
    exact: ClassVar[frozenset[str]] = frozenset(metrics)
    sizes: ClassVar[tuple[str, ...]] = ("N", "d")
    cuttable: ClassVar[tuple[str, ...]] = ("draws",)

    @property
    def tensors(self) -> dict[str, int]:
        """Similarities of all samples, correlations of all dimensions, or the features."""
        return {"the larger of N and d, squared": max(self.N, self.d) ** 2}
