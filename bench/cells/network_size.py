"""The cell of `network-size`: how many parameters the network of a method has."""

from functools import cached_property
from typing import ClassVar, Literal

from bench.cells.axes import Encoder
from bench.cells.cell import identity
from bench.cells.pretrain import EncoderCell

NETWORK = (*Encoder.model_fields, "image_size", "colour")


class NetworkSize(EncoderCell):
    """A count for a method of `pretrain`; of its settings those of the network alone matter."""

    experiment: Literal["network-size"]
    version: Literal[1] = 1
    counted: Literal["backbone", "with-projector", "with-predictor"] = "with-projector"
    """Which layers are counted: to the features, to the outputs, or to the predictions."""

    metrics: ClassVar[tuple[str, ...]] = ("params_m",)
    exact: ClassVar[frozenset[str]] = frozenset({"params_m"})

    @cached_property
    def id(self) -> str:
        """16 hex digits over the network, the seed and what is counted."""
        fields = self.model_dump(mode="json")
        names = ("experiment", "version", "seed", "counted", *NETWORK)
        return identity({name: fields[name] for name in names})

    @property
    def training_id(self) -> str | None:
        """Nothing is trained."""
        return None

    @property
    def looks_at(self) -> str | None:
        """No image."""
        return None
