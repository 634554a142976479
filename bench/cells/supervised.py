"""The cell of `supervised`: an image classifier trained by cross-entropy or one of its relatives.

Fields that `pretrain` has too mean the same here.
"""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.cells.architectures import Stem
from bench.cells.axes import Fraction, ViewSet
from bench.cells.cell import Cell, identity
from bench.cells.costs import BACKWARD_TOO, Costs, Network, plus, read, steps
from bench.cells.datasets import (
    GUESS,
    Demand,
    accuracy_step,
    images_there,
    size_of,
    training_images,
)
from bench.cells.later import later, without_later
from bench.cells.learning_rate import Rule, check_rate, ruled
from bench.cells.rules import Belongs

LABELS = frozenset({"base_lr", "lr_scaling"})
"""Fields that say where the learning rate comes from, and so enter no id."""
ONLY_WITH = {
    "tau_beta": Belongs("loss", ("dual-temperature",)),
    "lr_drop_epochs": Belongs("lr_schedule", ("step",)),
}
"""Fields that belong to one value of another."""


def of_one_size(views: str) -> str:
    """Return the name of a view set.

    Raises:
        ValueError: its views are of two sizes.
    """
    if views == "multi-crop":
        raise ValueError("views 'multi-crop' are of two sizes: a classifier sees one view")
    return views


class Supervised(Cell):
    """One classifier (DCL, App. 7; dual temperature, Sec. E), tested after every epoch."""

    experiment: Literal["supervised"]
    version: Literal[2] = 2

    # data
    dataset: Annotated[str, Field(min_length=1)]
    train_images: PositiveInt | None = None  # the first so many of a fixed random order; null: all
    held_out: Annotated[float, Field(gt=0, lt=1)] | None = later()
    image_size: Annotated[int, Field(ge=8)]  # pixels a side, of a view
    label_noise: Literal["none", "symmetric", "asymmetric"] = "none"  # of the training images
    eta: Annotated[float, Field(ge=0, le=1)] = 0.0  # probability that a label is made wrong
    views: Annotated[ViewSet, AfterValidator(of_one_size)]  # an image is seen by the first recipe
    view_strength: PositiveFloat = 1.0

    # classifier: an encoder and one linear layer with a bias
    arch: Literal["small", "resnet18", "resnet20", "resnet50"]
    stem: Stem
    width: PositiveInt  # channels of the first stage; 16 is resnet20's, 64 that of 18 and 50

    # objective
    loss: Literal["cross-entropy", "dcl", "dual-temperature"]
    tau: PositiveFloat = 1.0  # of the logits, which are not normalised
    tau_beta: PositiveFloat | None = None

    # training
    epochs: PositiveInt
    batch_size: Annotated[int, Field(ge=2)]
    optimizer: Literal["sgd", "lars", "adam"]
    lr: PositiveFloat
    base_lr: PositiveFloat | None = None  # at 256 images, where lr comes from the rule
    lr_scaling: Rule | None = None
    sgd_momentum: Fraction = 0.9
    weight_decay: NonNegativeFloat
    exempt: bool = False  # biases and BN from weight decay and from LARS's adaptation
    lr_schedule: Literal["constant", "cosine", "step"]
    warmup_epochs: NonNegativeInt = 0
    lr_drop_epochs: Annotated[str, Field(pattern=r"^\d+(,\d+)*$")] | None = None  # such as 100,150
    lr_drop_factor: Annotated[float, Field(gt=0, lt=1)] = 0.1

    metrics: ClassVar[tuple[str, ...]] = (
        "test_top1", "test_top1_best", "train_loss", "train_top1", "q_b", "q_b_first",
    )  # fmt: skip
    # What sources of images ask, and a classifier has no choice of.
    pretrain_on: ClassVar[str] = "train"
    one_view: ClassVar[bool] = True
    resized_to: ClassVar[int | None] = None
    local_size: ClassVar[int | None] = None
    colour: ClassVar[str] = "rgb"
    cutmix: ClassVar[bool] = False

    def step_of(self, metric: str) -> float | None:
        """Return what one test image is worth."""
        return accuracy_step(self.dataset, metric, self.held_out)

    @property
    def N(self) -> int:
        """Images of a step: one batch."""
        return self.batch_size

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_rate(cls, settings: Any) -> Any:
        """Write out the learning rate that a rule gives."""
        if not isinstance(settings, dict):
            return settings
        return settings | ruled(settings, settings.get("batch_size"))

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        settings = dict(self)
        for name, rule in ONLY_WITH.items():
            if not rule.holds(name, settings):
                raise ValueError(rule.message(name))
        if (self.eta > 0) != (self.label_noise != "none"):
            raise ValueError(
                "eta above 0 is needed with label_noise and has no meaning with 'none'"
            )
        if self.warmup_epochs > self.epochs:
            raise ValueError(f"warmup_epochs {self.warmup_epochs}: there are {self.epochs} epochs")
        check_rate(lr=self.lr, base_lr=self.base_lr, lr_scaling=self.lr_scaling, N=self.N)
        return self

    @cached_property
    def id(self) -> str:
        """16 hex digits over every field but the labels, and what came later at its default."""
        fields = self.model_dump(mode="json", exclude=set(LABELS))
        return identity(without_later(fields, type(self)))

    @property
    def multiply_adds(self) -> float:
        """Forward and backward of every training image; the test images are left out."""
        return BACKWARD_TOO * self.epochs * self._images * self.network.multiply_adds

    @property
    def network(self) -> Network:
        """The classifier without its last layer."""
        return Network(self.arch, self.stem, self.width, self.image_size)

    @property
    def _images(self) -> int:
        """How many images an epoch has."""
        found = images_there(self.dataset, held_out=self.held_out)
        return self.train_images or found or GUESS.train

    @property
    def costs(self) -> Costs:
        """The steps, and the test after each epoch."""
        seen, network = float(self.epochs * self._images), self.network
        tested = float(self.epochs * (size_of(self.dataset, self.held_out) or GUESS).test)
        unshared = plus(
            {"start": 1.0},
            read(self.dataset, seen + tested),
            steps(self.epochs * max(1, self._images // self.batch_size), self.views, seen),
            network.forward(BACKWARD_TOO * seen + tested),
        )
        kept = network.step_bytes(self.batch_size)
        return Costs("images", network.name, network.multiply_adds, {}, unshared, 0.0, kept)

    @property
    def cost_family(self) -> str:
        """The cells with this network."""
        return f"{self.experiment} {self.network.in_words}"

    @property
    def cost_kind(self) -> str:
        """Those of them with this batch size."""
        return f"{self.cost_family} batch {self.batch_size}"

    def asked_of_data(self) -> list[Demand]:
        """Return what a step asks of the data set."""
        images = training_images(self.dataset, self.train_images, held_out=self.held_out)
        return [] if images is None else images.demands(self.batch_size, self.N)
