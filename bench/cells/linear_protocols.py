"""How a linear classifier is trained on a frozen encoder: the protocols by name."""

import math
from typing import Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.record import Record


class LinearProtocol(Record):
    """A linear classifier on frozen features; what an optimiser does not use keeps its default."""

    optimizer: Literal["sgd", "lars", "adam", "lbfgs"]
    base_lr: PositiveFloat = 1.0  # at the batch size, or per 256 images with lr_scaling linear
    lr_scaling: Literal["none", "linear"] = "none"
    batch_size: PositiveInt = 256  # images; the whole training part if that is smaller
    epochs: PositiveInt  # for lbfgs: iterations at most
    schedule: Literal["cosine", "step", "plateau"] = "cosine"  # the rate changes between epochs
    lr_drops: tuple[PositiveInt, ...] = ()  # step: epochs after which the rate is divided
    plateau_drops: NonNegativeInt = 0  # plateau: at most this many
    patience: PositiveInt = 10  # plateau: epochs without a better held-out accuracy
    held_out: float = Field(default=0.1, gt=0, lt=1)  # plateau: share of the training part
    factor: PositiveFloat = 10.0  # what a drop divides the rate by
    momentum: NonNegativeFloat = 0.9
    weight_decay: NonNegativeFloat = 0.0  # on weights and biases
    C: PositiveFloat = 1.0  # lbfgs: inverse strength of the L2 penalty on the sum over images
    normalise: Literal["none", "l2", "standardise"] = "none"

    @model_validator(mode="after")
    def _drops_belong_to_the_schedule(self) -> Self:
        if bool(self.lr_drops) != (self.schedule == "step"):
            raise ValueError("lr_drops and schedule step need each other")
        if bool(self.plateau_drops) != (self.schedule == "plateau"):
            raise ValueError("plateau_drops and schedule plateau need each other")
        return self

    def lr_at(self, epoch: int, batch_size: int, plateaus: int = 0) -> float:
        """Return the learning rate of an epoch, counted from 0, after so many plateaus.

        Args:
            epoch: 0 to epochs - 1; the cosine would reach 0 after the last one.
            batch_size: images a step, at most the protocol's.
            plateaus: drops so far, schedule plateau.
        """
        lr = self.base_lr * (batch_size / 256 if self.lr_scaling == "linear" else 1.0)
        if self.schedule == "cosine":
            return lr * 0.5 * (1 + math.cos(math.pi * epoch / self.epochs))
        return lr / self.factor ** (plateaus + sum(epoch >= drop for drop in self.lr_drops))


# The numbers are those of `published` where it prints them; what is assumed stands beside them.
LINEAR_PROTOCOLS: dict[str, LinearProtocol] = {
    # dcl, protocol linear-eval-openselfsup (App. 4)
    "openselfsup": LinearProtocol(
        optimizer="sgd", base_lr=30.0, epochs=100, schedule="step", lr_drops=(60, 80)
    ),
    # dcl, protocol linear-eval-simsiam (App. 4); assumed: SimSiam's own scaling of the rate
    "simsiam": LinearProtocol(
        optimizer="lars", base_lr=1.2, lr_scaling="linear", batch_size=4096, epochs=90
    ),
    # unigrad, protocol linear-eval (App. B); assumed: the scaling of its released code
    "unigrad": LinearProtocol(
        optimizer="lars", base_lr=0.02, lr_scaling="linear", batch_size=4096, epochs=90
    ),
    # unigrad, protocol released-code-linear-eval; the last epoch counts, not the best one
    "unigrad-released": LinearProtocol(
        optimizer="lars", base_lr=0.1, lr_scaling="linear", batch_size=4096, epochs=90
    ),
    # mutual-information, protocol linear-transfer (App. C.2; 1 drop on CIFAR-10); assumed: the
    # factor is that of pretraining, and the plateau is one of a tenth of the training images
    "mutual-information": LinearProtocol(
        optimizer="sgd",
        base_lr=0.01,
        epochs=30,
        schedule="plateau",
        plateau_drops=2,
        weight_decay=1e-5,
    ),
    # MoCo, arXiv:1911.05722, Sec. 4.1: as openselfsup, which took it over
    "moco": LinearProtocol(
        optimizer="sgd", base_lr=30.0, epochs=100, schedule="step", lr_drops=(60, 80)
    ),
    # logistic regression as scikit-learn poses it, for data small enough to reach the optimum
    "logistic": LinearProtocol(optimizer="lbfgs", epochs=1000, normalise="standardise"),
}
