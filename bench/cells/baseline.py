"""The cell of `baseline`: accuracies of trivial baselines and of supervised training.

Fields shared with `pretrain` have the same meaning, and the evaluations are the same.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.cells.architectures import Stem, Timm
from bench.cells.axes import ACCURACIES as EVALUATED
from bench.cells.axes import (
    Accuracies,
    Fraction,
    PlainImages,
    ViewSet,
    metrics_asked,
    metrics_of,
    training_images,
)
from bench.cells.cell import Cell, varied_settings
from bench.cells.datasets import GUESS, Demand, accuracy_step, size_of
from bench.cells.learning_rate import ScalingRule, check_rate, ruled
from bench.cells.linear_protocols import LinearProtocol, linear_protocol, linear_record
from bench.cells.speech import ACCURACIES as OF_SPEECH
from bench.cells.speech import SpeechBaseline
from bench.cells.view_recipes import draws_of, warp_record

LABELS = frozenset({"base_lr", "lr_scaling"})
"""Fields that the learning rate is computed from; they do not enter an id."""
BASELINES = ("raw", "untrained", "labels")
NETWORK = ("arch", "stem", "width")
TRAINING = (
    "views", "view_strength", "epochs", "batch_size", "optimizer", "lr", "base_lr", "lr_scaling",
    "sgd_momentum", "weight_decay", "lr_schedule", "warmup_epochs",
)  # fmt: skip
NEEDED = ("epochs", "batch_size", "optimizer", "lr", "weight_decay", "lr_schedule")
MEANINGLESS = {
    "raw": frozenset((*NETWORK, "zero_init_residual", *TRAINING)),
    "untrained": frozenset(TRAINING),
    "labels": frozenset({"zero_init_residual"}),
}
"""Settings that a baseline ignores, so one grid may contain all baselines."""


class Baseline(Accuracies, PlainImages, Cell):
    """Raw inputs, the untrained network, or the supervised network, with equal evaluations."""

    experiment: Literal["baseline"]
    version: Literal[1] = 1
    precision: Literal["float32"] = "float32"
    baseline: Literal["raw", "untrained", "labels"]

    # encoder; null of raw inputs
    arch: Literal["small", "resnet18", "resnet50"] | Timm | None = None
    stem: Stem | None = None
    width: PositiveInt | None = None
    zero_init_residual: bool = False

    # training by cross-entropy; null without one
    views: ViewSet = "none"
    view_strength: PositiveFloat = 1.0
    epochs: PositiveInt | None = None
    batch_size: Annotated[int, Field(ge=2)] | None = None
    optimizer: Literal["sgd", "lars", "adam"] | None = None
    lr: PositiveFloat | None = None
    base_lr: PositiveFloat | None = None
    lr_scaling: ScalingRule | None = None
    sgd_momentum: Fraction = 0.9
    weight_decay: NonNegativeFloat | None = None
    lr_schedule: Literal["constant", "cosine"] | None = None
    warmup_epochs: NonNegativeInt = 0

    metrics: ClassVar[tuple[str, ...]] = metrics_of(EVALUATED)
    sizes: ClassVar[tuple[str, ...]] = ("baseline", "arch", "stem", "width", "image_size")
    features: ClassVar[Literal["backbone"]] = "backbone"  # evaluations ask for these
    knn_layer: ClassVar[Literal["backbone"]] = "backbone"

    @classmethod
    def written_out(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Omit settings without effect on the baseline; compute the learning rate from its rule."""
        dropped = MEANINGLESS.get(settings.get("baseline", ""), frozenset())
        kept = {name: value for name, value in settings.items() if name not in dropped}
        return kept | ruled(kept, kept.get("batch_size"))

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "Baseline":
        for name in (*NETWORK, *NEEDED):
            needed = name not in MEANINGLESS[self.baseline]
            if needed and getattr(self, name) is None:
                raise ValueError(f"{name} must be set with baseline '{self.baseline}'")
        if self.lr is not None:
            check_rate(lr=self.lr, base_lr=self.base_lr, lr_scaling=self.lr_scaling, N=self.N)
        if self.test_warp != "none" and self.dataset != "digits":
            raise ValueError(f"test_warp '{self.test_warp}' can be used only with dataset 'digits'")
        linear_protocol(self.linear)
        return self

    @property
    def linear_protocol(self) -> LinearProtocol | None:
        """Protocol of the linear classifier, if there is one, without augmentation."""
        return linear_protocol(self.linear, once=True)

    def step_of(self, metric: str) -> float | None:
        """Return the resolution of a metric: the percentage of one test image."""
        return accuracy_step(self.dataset, metric, self.held_out, draws_of(self.test_warp))

    @property
    def evaluation_metrics(self) -> list[str]:
        """Metrics of the evaluations that the baseline requests."""
        return metrics_asked(self, EVALUATED)

    @property
    def N(self) -> int:
        """Images per step; 1 if nothing is trained."""
        return self.batch_size or 1

    @property
    def identified(self) -> dict[str, Any]:
        """Every field except labels, with protocols expanded."""
        fields = self.model_dump(mode="json", exclude=set(LABELS))
        return (
            fields | {"linear": linear_record(self.linear, once=True)} | warp_record(self.test_warp)
        )

    @property
    def work(self) -> float:
        """Images in training and evaluation, times pixels and squared width."""
        size = size_of(self.dataset, self.held_out) or GUESS
        seen = (1 + (self.epochs or 0)) * (self.train_images or size.train) + size.test
        return float(seen * self.image_size**2 * (self.width or 1) ** 2)

    def asked_of_data(self) -> list[Demand]:
        """Return the requirements of training steps and kNN on the data set."""
        images = training_images(self)
        if images is None:
            return []
        return [*images.demands(self.N, self.N), images.demand("knn_k", self.knn_k)]


AnyBaseline = Baseline | SpeechBaseline
ACCURACIES = (*(name for name in Baseline.metrics if not name.endswith("_std")), *OF_SPEECH)
"""The metrics whose trivial baseline or supervised accuracy a baseline gives."""


def without_baselines(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells that are not baselines; claims and tables use these."""
    return [cell for cell in cells if not isinstance(cell, AnyBaseline)]


def baselines_among(cells: Iterable[Cell]) -> list[AnyBaseline]:
    """Return the cells that are baselines."""
    return [cell for cell in cells if isinstance(cell, AnyBaseline)]


def settings_apart(cells: Sequence[Cell]) -> list[str]:
    """Return the settings that distinguish cells; baselines differ only by their kind."""
    judged = without_baselines(cells)
    if not judged or len(judged) == len(cells):
        return varied_settings(cells)
    return ["baseline", *varied_settings(judged)]
