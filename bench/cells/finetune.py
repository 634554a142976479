"""The cell of `finetune`: an encoder of `pretrain` and a linear classifier, trained with labels."""

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

from bench.cells.architectures import ARCHITECTURES
from bench.cells.axes import Fraction, ViewSet, training_images
from bench.cells.datasets import GUESS, Demand, accuracy_step, size_of
from bench.cells.pretrain import TransferCell
from bench.cells.supervised import of_one_size
from bench.cells.view_recipes import draws_of, warp_record

PUBLISHED_LISTS = {0.01: "1percent.txt", 0.1: "10percent.txt"}
"""The lists of labelled images of ImageNet, by their share (google-research/simclr at be133b3)."""


class FineTune(TransferCell):
    """A classifier on top of an encoder, both trained with labels."""

    experiment: Literal["finetune"]
    version: Literal[1] = 1
    label_fraction: Annotated[float, Field(gt=0, le=1)]
    """Share of each class's training images that have a label, at least one image per class."""
    labelled: Literal["stratified", "published"] = "stratified"
    """Which images have a label: drawn with the cell's seed, or taken from a published list."""
    tune_layers: Literal["all", "last-stage", "head"] = "all"
    """Part that is trained: the whole network, the last stage and the classifier, or the classifier
    alone."""
    tune_views: Annotated[ViewSet, AfterValidator(of_one_size)]
    """Transforms of a labelled training image."""
    tune_epochs: PositiveInt
    """Number of passes over the labelled images."""
    tune_batch_size: Annotated[int, Field(ge=2)]
    """Number of images per step; all labelled images if there are fewer."""
    tune_optimizer: Literal["sgd", "lars", "adam"]
    """Optimiser of the fine-tuning."""
    tune_lr: PositiveFloat
    """Learning rate of the classifier."""
    tune_backbone_lr: PositiveFloat | None = None
    """Learning rate of the encoder; null: `tune_lr`."""
    tune_momentum: Fraction = 0.9
    """Momentum of sgd and lars; beta_1 of adam."""
    tune_weight_decay: NonNegativeFloat = 0.0
    """Weight decay: this number times a weight is added to its gradient."""
    tune_lr_schedule: Literal["constant", "cosine"]
    """Schedule of `tune_lr` and `tune_backbone_lr` after warm-up."""
    tune_warmup_epochs: NonNegativeInt = 0
    """Number of epochs at the start in which `tune_lr` and `tune_backbone_lr` rise linearly
    from 0."""

    of_network: ClassVar[tuple[str, ...]] = (
        "precision", "seed", "dataset", "pretrain_on", "train_images", "held_out", "image_size",
        "resized_to", "colour", "arch", "stem", "width", "zero_init_residual",
    )  # fmt: skip
    metrics: ClassVar[tuple[str, ...]] = (
        "finetune_top1", "finetune_top5", "warped_finetune_top1", "warped_finetune_top5",
        "train_loss", "train_top1",
    )  # fmt: skip

    @model_validator(mode="after")
    def _protocol_agrees(self) -> Self:
        if self.tune_layers == "head" and self.tune_backbone_lr is not None:
            raise ValueError(
                "tune_backbone_lr cannot be set with tune_layers 'head', which keeps the "
                "backbone frozen"
            )
        stages = self.arch in ARCHITECTURES and self.colour == "rgb"
        if self.tune_layers == "last-stage" and not stages:
            raise ValueError(
                "tune_layers 'last-stage' needs a residual network as arch, and colour 'rgb'"
            )
        if self.tune_warmup_epochs > self.tune_epochs:
            raise ValueError(
                f"tune_warmup_epochs = {self.tune_warmup_epochs} is above "
                f"tune_epochs = {self.tune_epochs}"
            )
        has_list = self.dataset == "imagenet1k" and self.label_fraction in PUBLISHED_LISTS
        if self.labelled == "published" and not has_list:
            raise ValueError(
                "the setting labelled = 'published' needs dataset 'imagenet1k' and "
                "label_fraction 0.01 or 0.1"
            )
        return self

    @property
    def protocol(self) -> dict[str, Any]:
        """Settings that `pretrain` lacks, and the warp of the test images."""
        return super().protocol | warp_record(self.test_warp)

    @property
    def own_epochs(self) -> int:
        """Epochs of the fine-tuning."""
        return self.tune_epochs

    def step_of(self, metric: str) -> float | None:
        """Return the resolution of a metric: the percentage of one test image."""
        return accuracy_step(self.dataset, metric, self.held_out, draws_of(self.test_warp))

    @property
    def work(self) -> float:
        """Labelled and test images seen, times pixels and squared width."""
        size = size_of(self.dataset, self.held_out) or GUESS
        labelled = self.label_fraction * min(self.train_images or size.train, size.train)
        seen = self.tune_epochs * max(size.classes, round(labelled)) + size.test
        return float(seen * self.image_size**2 * self.width**2)

    def asked_of_data(self) -> list[Demand]:
        """Return the requirements of the encoder's training on the data set."""
        if self.start == "pretrained":
            return super().asked_of_data()
        images = training_images(self)
        return [] if images is None else images.demands(1, 1)[:1]
