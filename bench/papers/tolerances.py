"""Tolerances for comparisons with published values, with reasons, in one file."""

from functools import cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from bench.errors import PublishedError
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml
from bench.record import Record

TOLERANCES = Path(__file__).parent / "tolerances.yaml"
Amount = Annotated[float, Field(ge=0)]


class Tolerance(Record):
    """Largest allowed distance of a mean from a published value, with the reason."""

    tolerance: Amount = 0.0  # in `unit`
    spreads: Amount = 0.0  # of those printed beside the value, added to it
    share: Amount = 0.0  # of the printed value, added to it
    nothing: float | None = None  # what the metric gives where nothing is learned
    unit: str
    why: str

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if self.tolerance == self.spreads == self.share == 0:
            raise ValueError(
                "the tolerance may not be 0, because every measured mean would then differ from "
                "the published value"
            )
        return self

    @property
    def in_words(self) -> str:
        """The tolerance with its reason, as text."""
        if self.spreads:
            return f"{self.spreads:g} published standard deviations: {self.why}"
        if self.share:
            share = f" and {self.share:.0%} of the published value"
            return f"{self.tolerance:g} {self.unit}{share}: {self.why}"
        return f"{self.tolerance:g} {self.unit}: {self.why}"

    def of(self, spread: float | None, value: float | None = None) -> float:
        """Return the tolerance of a published value, given its printed standard deviation."""
        return self.tolerance + self.spreads * (spread or 0.0) + self.share * abs(value or 0.0)


class Tolerances(Record):
    """Content of the file; entries of artifacts override those of metrics."""

    metrics: dict[str, Tolerance]
    gains: dict[str, Tolerance] = {}  # by metric: of differences of two measured values
    artifacts: dict[str, Tolerance]


def read_tolerances(path: Path) -> Tolerances:
    """Read a file of tolerances.

    Raises:
        PublishedError: the file is invalid.
    """
    try:
        return Tolerances.model_validate(load_yaml(path, PublishedError))
    except ValidationError as error:
        raise explain(PublishedError, error, path, root=Tolerances) from None


@cache
def _shipped() -> Tolerances:
    return read_tolerances(TOLERANCES)


def tolerance_of(
    paper: str,
    artifact: str,
    metric: str,
    over: str | None = None,
    *,
    gain: bool = False,
    own: Tolerance | None = None,
) -> Tolerance:
    """Return the tolerance for comparing a measured with a published value.

    Args:
        paper: the paper's id.
        artifact: the artifact whose published values are compared.
        metric: name of the metric.
        over: the axis over which the metric is reduced to one number. This number has another unit
            or noise than the metric, so its artifact needs an entry.
        gain: whether a difference of two values of the metric is compared.
        own: tolerance from the paper's file, which overrides all others.

    Raises:
        PublishedError: the file has no such tolerance.
    """
    if own is not None:
        return own
    known, artifact_name = _shipped(), f"{paper}/{artifact}"
    tolerance = known.artifacts.get(artifact_name)
    if tolerance is None and over is None:
        tolerance = (known.gains if gain else known.metrics).get(metric)
    if tolerance is None:
        named = f"a gain in {metric}" if gain else metric
        needed = artifact_name if over is not None else f"{named} or {artifact_name}"
        raise PublishedError(
            f"{TOLERANCES}: there is no tolerance for {needed}; add one with a reason, "
            "in this file or under `tolerances` in the file of the paper"
        )
    return tolerance
