"""The cell of `identity`: a paper's algebra on random features."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveInt

from bench.cells.small_cell import SmallCell

IdentityName = Literal[
    "q-b-in-every-gradient", "dcl-has-no-q-b", "q-b-easy-cases", "mean-of-dclw-weight",
    "dclw-tends-to-dcl", "hard-pair-among-negatives", "potential-of-distance",
    "infonce-tends-to-dcl", "prior-under-eqco", "prior-without-margin", "permuted-bank",
    "simclr-is-infonce", "la0-is-ball", "la-below-la0", "la-is-a-difference", "gradient-of-moco",
    "gradient-of-simclr", "gradient-of-directpred", "gradient-of-barlow-twins",
    "gradient-of-vicreg", "gradient-of-unigrad", "directpred-parallel-term", "shared-target",
    "memory-of-f", "cross-entropy-is-infonce",
]  # fmt: skip
"""Each is a function in `bench/experiments/identities`."""


class Identity(SmallCell):
    """Both sides of an equation or an inequality of a paper, on random features in float64."""

    experiment: Literal["identity"]
    version: Literal[1] = 1
    identity: IdentityName
    N: Annotated[int, Field(ge=4)]  # samples of one draw
    d: Annotated[int, Field(ge=2)]  # dimensions of the features
    draws: PositiveInt  # of features, and of a temperature where there is one

    metrics: ClassVar[tuple[str, ...]] = (
        "largest_difference",
        "smallest_margin",
        "violated_share",
    )
    exact: ClassVar[frozenset[str]] = frozenset(metrics)
    sizes: ClassVar[tuple[str, ...]] = ("N", "d")
    cuttable: ClassVar[tuple[str, ...]] = ("draws",)

    @property
    def largest_tensor(self) -> tuple[str, int]:
        """Similarities of all samples, correlations of all dimensions, or the features."""
        return "the larger of N and d, squared", max(self.N, self.d) ** 2
