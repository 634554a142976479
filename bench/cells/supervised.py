"""The cell of `supervised`: an image classifier trained with cross-entropy or a variant of it.

Fields shared with `pretrain` have the same meaning.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.cells.architectures import Stem, Timm
from bench.cells.axes import PlainImages, StepsAxis, ViewSet, images_an_epoch, training_images
from bench.cells.cell import Cell, without_later
from bench.cells.datasets import Demand, accuracy_step
from bench.cells.learning_rate import check_rate, ruled
from bench.cells.rules import Belongs

LABELS = frozenset({"base_lr", "lr_scaling"})
"""Fields that the learning rate is computed from; they do not enter an id."""
ONLY_WITH = {
    "tau_beta": Belongs("loss", ("dual-temperature",)),
    "lr_drop_epochs": Belongs("lr_schedule", ("step",)),
}
"""Fields that apply to only one value of another field."""


def of_one_size(views: str) -> str:
    """Check that all views of a view set have one size, and return its name.

    Raises:
        ValueError: the views have two sizes.
    """
    if views == "multi-crop":
        raise ValueError(
            "a classifier sees one view, so views cannot be 'multi-crop', which has "
            "views of two sizes"
        )
    return views


class Supervised(StepsAxis, PlainImages, Cell):
    """One classifier (DCL, App. 7; dual temperature, Sec. E), tested after every epoch."""

    experiment: Literal["supervised"]
    version: Literal[2] = 2
    precision: Literal["float32"] = "float32"

    # data
    label_noise: Literal["none", "symmetric", "asymmetric"] = "none"  # of the training images
    eta: Annotated[float, Field(ge=0, le=1)] = 0.0  # probability that a label is made wrong
    views: Annotated[ViewSet, AfterValidator(of_one_size)]  # an image is seen by the first recipe
    view_strength: PositiveFloat = 1.0

    # classifier: an encoder and one linear layer with a bias
    arch: Literal["small", "resnet18", "resnet20", "resnet50"] | Timm
    stem: Stem
    width: PositiveInt  # channels of the first stage; 16 is resnet20's, 64 that of 18 and 50

    # objective
    loss: Literal["cross-entropy", "dcl", "dual-temperature"]
    tau: PositiveFloat = 1.0  # of the logits, which are not normalised
    tau_beta: PositiveFloat | None = None

    lr_schedule: Literal["constant", "cosine", "step", "triangular"]

    metrics: ClassVar[tuple[str, ...]] = (
        "test_top1", "test_top1_best", "train_loss", "train_top1", "q_b", "q_b_first",
    )  # fmt: skip
    sizes: ClassVar[tuple[str, ...]] = ("arch", "stem", "width", "image_size", "batch_size")

    def step_of(self, metric: str) -> float | None:
        """Return the resolution of a metric: the percentage of one test image."""
        return accuracy_step(self.dataset, metric, self.held_out)

    @property
    def N(self) -> int:
        """Images per step: one batch."""
        return self.batch_size

    @classmethod
    def written_out(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Compute the learning rate from its rule."""
        return settings | ruled(settings, settings.get("batch_size"))

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        settings = dict(self)
        for name, rule in ONLY_WITH.items():
            if not rule.holds(name, settings):
                raise ValueError(rule.message(name))
        if (self.eta > 0) != (self.label_noise != "none"):
            raise ValueError(
                "eta must be above 0 with label noise, and left out with label_noise 'none'"
            )
        check_rate(lr=self.lr, base_lr=self.base_lr, lr_scaling=self.lr_scaling, N=self.N)
        return self

    @property
    def identified(self) -> dict[str, Any]:
        """Every field except labels and later fields at their defaults."""
        return without_later(self.model_dump(mode="json", exclude=set(LABELS)), type(self))

    @property
    def work(self) -> float:
        """Training images seen, times pixels and squared width."""
        return float(self.epochs * images_an_epoch(self) * self.image_size**2 * self.width**2)

    def asked_of_data(self) -> list[Demand]:
        """Return the requirements of a step on the data set."""
        images = training_images(self)
        return [] if images is None else images.demands(self.batch_size, self.N)
