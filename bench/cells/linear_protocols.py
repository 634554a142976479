"""Named protocols for training a linear classifier on a frozen encoder."""

import math
from typing import Any, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.errors import choices
from bench.record import Record


class LinearProtocol(Record):
    """Protocol of a linear classifier on frozen features; unused settings keep their defaults."""

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
    # What the classifier is shown of a training image: the image as it is, a new random crop
    # (8 % of its area or more) and flip in every epoch, or a new view as in pretraining.
    shown: Literal["image", "crop-flip", "as-pretraining"] = "image"

    @model_validator(mode="after")
    def _drops_belong_to_the_schedule(self) -> Self:
        if bool(self.lr_drops) != (self.schedule == "step"):
            raise ValueError("lr_drops must be set with schedule 'step', and only with it")
        if bool(self.plateau_drops) != (self.schedule == "plateau"):
            raise ValueError("plateau_drops must be set with schedule 'plateau', and only with it")
        if self.shown != "image" and (self.normalise != "none" or self.optimizer == "lbfgs"):
            raise ValueError(
                "the setting shown can be 'crop-flip' or 'as-pretraining' only with "
                "normalise 'none' and an optimizer other than 'lbfgs'"
            )
        return self

    def record(self) -> dict[str, Any]:
        """Return every setting for cell ids; `shown` only if it differs from its default."""
        return self.model_dump(mode="json", exclude={"shown"} if self.shown == "image" else set())

    def lr_at(self, epoch: int, batch_size: int, plateaus: int = 0) -> float:
        """Return the learning rate of an epoch, counted from 0, after this many plateaus.

        Args:
            epoch: 0 to epochs - 1; the cosine would reach 0 after the last one.
            batch_size: images per step, at most the protocol's.
            plateaus: drops so far, schedule plateau.
        """
        lr = self.base_lr * (batch_size / 256 if self.lr_scaling == "linear" else 1.0)
        if self.schedule == "cosine":
            return lr * 0.5 * (1 + math.cos(math.pi * epoch / self.epochs))
        return lr / self.factor ** (plateaus + sum(epoch >= drop for drop in self.lr_drops))


_LARS: dict[str, Any] = {
    "optimizer": "lars", "lr_scaling": "linear", "batch_size": 4096, "epochs": 90,
    "shown": "crop-flip",
}  # fmt: skip
_THIRTY: dict[str, Any] = {
    "optimizer": "sgd", "base_lr": 30.0, "epochs": 100, "schedule": "step", "lr_drops": (60, 80),
    "shown": "crop-flip",
}  # fmt: skip
_MUTUAL_INFORMATION: dict[str, Any] = {
    "optimizer": "sgd", "base_lr": 0.01, "epochs": 30, "schedule": "plateau", "weight_decay": 1e-5,
    "shown": "as-pretraining",  # App. C.2: the same augmentations as in pretraining
}  # fmt: skip
# The numbers are those of `bench/papers/data` where a paper prints them; what is assumed stands
# beside them.
# Where no paper says what is shown, it is a crop and a flip, as in the codes that they name.
LINEAR_PROTOCOLS: dict[str, LinearProtocol] = {
    # dcl, protocol linear-eval-openselfsup (App. 4)
    "openselfsup": LinearProtocol(**_THIRTY),
    # dcl, protocol linear-eval-simsiam (App. 4); assumed: SimSiam's own scaling of the rate
    "simsiam": LinearProtocol(**_LARS, base_lr=1.2),
    # unigrad, protocol linear-eval (App. B); assumed: the scaling of its released code
    "unigrad": LinearProtocol(**_LARS, base_lr=0.02),
    # unigrad, protocol released-code-linear-eval; the last epoch counts, not the best one
    "unigrad-released": LinearProtocol(**_LARS, base_lr=0.1),
    # mutual-information, protocol linear-transfer (App. C.2); assumed: the factor is that of
    # pretraining, and the plateau is one of a tenth of the training images
    "mutual-information": LinearProtocol(**_MUTUAL_INFORMATION, plateau_drops=2),
    "mutual-information-cifar10": LinearProtocol(**_MUTUAL_INFORMATION, plateau_drops=1),
    # SimCLR, arXiv:2002.05709, README of its released code: rate 0.1 at 256, no weight decay;
    # assumed: plain momentum, which is Nesterov's there, and a cosine
    "simclr": LinearProtocol(
        optimizer="sgd",
        base_lr=0.1,
        lr_scaling="linear",
        batch_size=4096,
        epochs=90,
        shown="crop-flip",
    ),
    # Wang and Isola, arXiv:2005.10242, released code for STL-10; momentum is Adam's beta_1
    "hypersphere": LinearProtocol(
        optimizer="adam",
        base_lr=1e-3,
        batch_size=128,
        epochs=100,
        schedule="step",
        lr_drops=(60, 80),
        factor=5.0,
        momentum=0.5,
        shown="crop-flip",
    ),
    # MoCo, arXiv:1911.05722, Sec. 4.1: as openselfsup, which took it over
    "moco": LinearProtocol(**_THIRTY),
    # logistic regression as scikit-learn poses it, for data small enough to reach the optimum
    "logistic": LinearProtocol(optimizer="lbfgs", epochs=1000, normalise="standardise"),
}


def linear_protocol(name: str | None, *, once: bool = False) -> LinearProtocol | None:
    """Return a protocol by name; None if the name is None.

    Args:
        name: name of a protocol, or None.
        once: whether features are computed once, without augmentation.

    Raises:
        ValueError: the protocol does not exist.
    """
    if name is None:
        return None
    if name not in LINEAR_PROTOCOLS:
        known = choices(name, list(LINEAR_PROTOCOLS))
        raise ValueError(f"the linear protocol '{name}' is unknown. {known}")
    protocol = LINEAR_PROTOCOLS[name]
    return protocol.model_copy(update={"shown": "image"}) if once else protocol


def linear_record(name: str | None, *, once: bool = False) -> dict[str, Any] | None:
    """Return all settings of a protocol for cell ids; see `linear_protocol`."""
    protocol = linear_protocol(name, once=once)
    return None if protocol is None else protocol.record()
