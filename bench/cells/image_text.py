"""Cells of `image-text`: an image and a text encoder trained by contrast, as CLIP is."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PositiveFloat, model_validator

from bench.cells.axes import StepsAxis
from bench.cells.cell import Cell

TRAIN_PAIRS, TEST_PAIRS = 4000, 500
"""Number of pictures with captions."""
LEAST_TAU = 0.01
"""Lower limit of a learned temperature (arXiv:2103.00020, Sec. 2.5)."""
RETRIEVAL = ("image_to_text_top1", "text_to_image_top1")
"""Shares of test queries whose nearest item is their own, in percent."""


class ImageText(StepsAxis, Cell):
    """An image and a text encoder trained on pictures with captions (arXiv:2103.00020, Sec. 2.3).

    A picture's negatives are the other captions of the batch; a caption's are the other pictures.
    """

    experiment: Literal["image-text"]
    version: Literal[1] = 1
    precision: Literal["float32"] = "float32"

    pairs: Literal["drawn-scenes"]
    """Pictures with captions: `drawn-scenes`, two drawn shapes each, described in a sentence."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share of the training pairs that is held out and replaces the test pairs; null: the test
    pairs are used."""
    arch: Literal["clip-small", "clip-tiny"]
    """Two transformers, one for pictures and one for captions; in `clip-small`, each has two layers
    of 64 units."""
    loss: Literal["infonce", "dcl"]
    """Loss, computed from cosine similarities and averaged over pictures and captions."""
    tau: PositiveFloat
    """Temperature of the similarities; with `learned_tau`, its value at the start of training."""
    learned_tau: bool = False
    """Whether the temperature is learned; it stays at 0.01 or above (arXiv:2103.00020,
    Sec. 2.5)."""

    metrics: ClassVar[tuple[str, ...]] = (
        "train_loss", "train_top1", "q_b", "tau_end", *RETRIEVAL,
    )  # fmt: skip
    packages: ClassVar[tuple[str, ...]] = ("transformers",)
    sizes: ClassVar[tuple[str, ...]] = ("arch", "batch_size")

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        if self.lr_schedule == "plateau":
            raise ValueError("lr_schedule 'plateau' can be used only in experiment 'pretrain'")
        if self.base_lr is not None or self.lr_scaling is not None:
            raise ValueError(
                "base_lr and lr_scaling can be used only in experiment 'pretrain'; set lr instead"
            )
        if self.learned_tau and self.tau < LEAST_TAU:
            raise ValueError(
                "with learned_tau, training starts at the temperature tau, "
                f"which must be at least {LEAST_TAU}"
            )
        if self.batch_size > self.train_count:
            raise ValueError(
                f"batch_size = {self.batch_size} is above the number of training pairs, "
                f"{self.train_count}"
            )
        return self

    @property
    def test_count(self) -> int:
        """Number of test pairs."""
        return round(self.held_out * TRAIN_PAIRS) if self.held_out else TEST_PAIRS

    @property
    def train_count(self) -> int:
        """Number of training pairs."""
        return TRAIN_PAIRS - (self.test_count if self.held_out else 0)

    def step_of(self, metric: str) -> float | None:
        """Return the percentage of one test pair in a metric; None if it is unknown."""
        return 100 / self.test_count if metric in RETRIEVAL else None

    @property
    def work(self) -> float:
        """Pairs of training and evaluation."""
        return float(self.epochs * self.train_count + self.test_count)
