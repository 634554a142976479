"""Cells of `speech`: an encoder of raw audio pretrained by contrast, and its baselines."""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from bench.cells.axes import Axis, StepsAxis
from bench.cells.cell import Cell, identity, without_later
from bench.cells.learning_rate import check_rate, ruled
from bench.cells.losses import LOSSES
from bench.cells.view_recipes import Share

SetName = Annotated[str, Field(pattern=r"^\w[\w.+-]*$", max_length=100)]
LEAST_FRAMES = 4  # of a recording: two are masked, and each has a distractor
SAMPLES_PER_FRAME = {"wav2vec2-base": 320, "wav2vec2-small": 80, "wav2vec2-tiny": 80}
TASKS = ("speaker", "word")
ACCURACIES = tuple(f"{task}_top1" for task in TASKS)
OPTIONS = ("alpha", "tau_beta", "form")
LABELS = frozenset({"base_lr", "lr_scaling"})
"""Fields that the learning rate is computed from; they do not enter an id."""


class AudioSize(NamedTuple):
    """Number of recordings in a data set."""

    train: int
    test: int


TONES = "tones"
AUDIO_SETS = {
    TONES: AudioSize(96, 48),
    "fsdd": AudioSize(2700, 300),
    "librispeech": AudioSize(281_241, 5559),
    "voxceleb1": AudioSize(138_361, 8251),
    "fluent-speech-commands": AudioSize(23_132, 3793),
}
"""Known recordings, by name; any folder of recordings is another data set."""


class Recordings(Axis):
    """Data set, network and evaluation of audio features."""

    packages: ClassVar[tuple[str, ...]] = ("transformers", "soundfile")
    recordings: SetName
    """Training recordings of the encoder: `tones`, which are generated, or a folder of
    recordings."""
    speaker_recordings: SetName | None = None
    """Recordings whose speakers are classified; null: those of `recordings`."""
    word_recordings: SetName | None = None
    """Recordings whose words or intents are classified; null: those of `recordings`."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share of each class's training recordings that is held out and replaces the test recordings;
    null: the test recordings are used."""
    sample_rate: Annotated[int, Field(ge=1000, le=192_000)]
    """Sampling rate in Hz; recordings with a different sampling rate are resampled."""
    crop_s: PositiveFloat
    """Largest number of seconds of a recording that a step uses."""
    arch: Literal["wav2vec2-base", "wav2vec2-small", "wav2vec2-tiny"]
    """Network; `wav2vec2-small` has five convolutions and three transformer layers of 96 units."""
    labels_per_class: PositiveInt | None = None
    """Number of labelled training recordings per class for a classifier; null: all recordings."""
    label_draws: PositiveInt = 1
    """Number of random draws of labelled recordings; the mean accuracy over the draws is
    reported."""

    def set_of(self, task: str) -> str:
        """Return the recordings of a task."""
        named = self.speaker_recordings if task == "speaker" else self.word_recordings
        return named or self.recordings

    @property
    def sets(self) -> list[str]:
        """All sets of recordings that the cell uses."""
        return list(dict.fromkeys([self.recordings, *map(self.set_of, TASKS)]))

    def step_of(self, metric: str) -> float | None:
        """Return the percentage of one test recording in a metric; None if it is unknown."""
        task = metric.removesuffix("_top1")
        size = AUDIO_SETS.get(self.set_of(task)) if task in TASKS else None
        if size is None:
            return None
        test = round(self.held_out * size.train) if self.held_out else size.test
        return 100 / (max(1, test) * self.label_draws)

    def heard(self, epochs: int) -> float:
        """Return the number of recordings processed in a training and its evaluations."""
        guess = AUDIO_SETS["fsdd"]
        evaluated = [sum(AUDIO_SETS.get(self.set_of(task), guess)) for task in TASKS]
        return float(epochs * AUDIO_SETS.get(self.recordings, guess).train + sum(evaluated))


class Speech(StepsAxis, Recordings, Cell):
    """An encoder pretrained like wav2vec 2.0 (arXiv:2006.11477), then frozen."""

    experiment: Literal["speech"]
    version: Literal[1] = 1
    precision: Literal["float32"] = "float32"

    mask_prob: Share
    """Share of the frames at which a masked span begins."""
    mask_length: PositiveInt
    """Number of frames in a span."""
    K: PositiveInt
    """Number of negatives per masked frame, drawn from other masked frames of the recording."""
    loss: Literal["infonce", "eqco", "dcl", "dual-temperature"]
    """Loss, computed from cosine similarities."""
    tau: PositiveFloat
    """Temperature of the similarities."""
    alpha: PositiveFloat | None = None
    """EqCo's alpha (EqCo, Eq. 5); optional for loss 'dual-temperature'."""
    tau_beta: PositiveFloat | None = None
    """Temperature of the scalar component of dual temperature."""
    form: Literal["released", "printed"] | None = None
    """Interpretation of dual temperature: the authors' code or the paper's text."""
    diversity_weight: NonNegativeFloat
    """Weight of the loss term that favours equal use of all code words."""
    gumbel_start: PositiveFloat
    """Temperature of the Gumbel softmax in the first step."""
    gumbel_end: PositiveFloat
    """Lowest temperature of the Gumbel softmax."""
    gumbel_decay: Share
    """Factor that multiplies the Gumbel temperature in each step."""

    metrics: ClassVar[tuple[str, ...]] = (
        "train_loss", "train_top1", "q_b", "perplexity", *ACCURACIES,
    )  # fmt: skip
    sizes: ClassVar[tuple[str, ...]] = ("arch", "batch_size")
    negatives: ClassVar[str] = "batch"  # what makers of objectives ask every cell for
    kappa: ClassVar[None] = None
    neighbour_sum: ClassVar[None] = None

    @property
    def count(self) -> int:
        """K as a number: negatives per query."""
        return self.K

    @classmethod
    def written_out(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Compute the learning rate from its rule."""
        return settings | ruled(settings, settings.get("batch_size"))

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        loss = LOSSES[self.loss]
        for name in OPTIONS:
            if name in loss.needs and getattr(self, name) is None:
                raise ValueError(f"{name} must be set with loss '{self.loss}'")
            if name not in (*loss.needs, *loss.may) and getattr(self, name) is not None:
                raise ValueError(
                    f"{name} cannot be set with loss '{self.loss}', which does not use it"
                )
        frames = round(self.crop_s * self.sample_rate) // SAMPLES_PER_FRAME[self.arch]
        most = max(LEAST_FRAMES, frames) - 1
        if most < self.K:
            raise ValueError(
                f"K is {self.K}, but a crop of {self.crop_s} s has only {most} other frames "
                "to use as negatives"
            )
        if self.gumbel_end > self.gumbel_start:
            raise ValueError(
                "gumbel_end may not be above gumbel_start, because the temperature falls "
                "from gumbel_start to gumbel_end"
            )
        if self.lr_schedule == "plateau":
            raise ValueError("lr_schedule 'plateau' can be used only in experiment 'pretrain'")
        check_rate(lr=self.lr, base_lr=self.base_lr, lr_scaling=self.lr_scaling, N=self.batch_size)
        return self

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits: hash of all fields except labels and later defaults."""
        fields = self.model_dump(mode="json", exclude=set(LABELS))
        return identity(without_later(fields, type(self)))

    @property
    def work(self) -> float:
        """Recordings of training and evaluations, times the longest crop."""
        return self.heard(self.epochs) * self.crop_s


NEEDED = ("epochs", "batch_size", "optimizer", "lr", "weight_decay", "lr_schedule")


class SpeechBaseline(Recordings, Cell):
    """Log-mel statistics, the untrained network, or the network trained with all labels.

    All use the evaluations of `speech`. The supervised network learns both tasks at once, from the
    mean of its last layer.
    """

    experiment: Literal["speech-baseline"]
    version: Literal[1] = 1
    precision: Literal["float32"] = "float32"
    baseline: Literal["raw", "untrained", "labels"]
    """Features or network of the baseline. raw: mean and standard deviation over time of 40 log-mel
    energies. untrained: the network with random weights. labels: the network trained with all
    labels."""

    # training by cross-entropy; null without one
    epochs: PositiveInt | None = None
    batch_size: Annotated[int, Field(ge=2)] | None = None
    optimizer: Literal["sgd", "adam", "adamw"] | None = None
    lr: PositiveFloat | None = None
    weight_decay: NonNegativeFloat | None = None
    lr_schedule: Literal["constant", "cosine", "triangular"] | None = None
    warmup_epochs: NonNegativeInt = 0
    sgd_momentum: ClassVar[float] = 0.9  # what makers of optimisers ask every cell for
    exempt: ClassVar[bool] = False
    nesterov: ClassVar[bool] = False
    lr_drop_epochs: ClassVar[None] = None
    lr_drop_factor: ClassVar[float] = 0.1

    metrics: ClassVar[tuple[str, ...]] = ("train_loss", *ACCURACIES)
    sizes: ClassVar[tuple[str, ...]] = ("baseline", "arch")

    @classmethod
    def written_out(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Omit training settings if nothing is trained."""
        if settings.get("baseline") == "labels":
            return settings
        return {k: v for k, v in settings.items() if k not in (*NEEDED, "warmup_epochs")}

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if self.baseline == "labels":
            for name in NEEDED:
                if getattr(self, name) is None:
                    raise ValueError(f"{name} must be set with baseline 'labels'")
            if len(self.sets) > 1:
                raise ValueError(
                    "baseline 'labels' learns speakers and words from one set of recordings; "
                    "leave out speaker_recordings and word_recordings"
                )
        return self

    @property
    def work(self) -> float:
        """Recordings of training and evaluations, times the longest crop."""
        return self.heard(self.epochs or 0) * self.crop_s


AnySpeech = Speech | SpeechBaseline
