"""The cell of `tsne`: the test images' features of a trained encoder, as points in a plane."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from bench.cells.pretrain import EncoderCell

NEIGHBOURS = 3  # times the perplexity: images that the map looks at around one


class TSNE(EncoderCell):
    """A map of an encoder of `pretrain`, which it shares with the cells of that experiment.

    Every setting of `pretrain` means the same; of the evaluations only `features` matters here.
    """

    experiment: Literal["tsne"]
    version: Literal[1] = 1
    images: PositiveInt = 2000
    """Test images that are mapped, drawn at random; all, where there are fewer."""
    perplexity: Annotated[float, Field(ge=1)] = 30.0
    """How many neighbours an image is close to."""

    metrics: ClassVar[tuple[str, ...]] = ("kl_divergence",)

    @model_validator(mode="after")
    def _has_neighbours(self) -> Self:
        if self.images <= NEIGHBOURS * self.perplexity:
            raise ValueError(
                f"images {self.images}: needs more than {NEIGHBOURS} times the perplexity, "
                f"{self.perplexity:g}"
            )
        return self
