"""How far off still counts as the same: by metric and artifact, with the reason, in one file."""

from functools import cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from bench.config.explain import explain
from bench.config.record import Record
from bench.config.suite import Comparison
from bench.config.yaml_file import load_yaml
from bench.errors import PublishedError

TOLERANCES = Path(__file__).parent / "tolerances.yaml"
Amount = Annotated[float, Field(ge=0)]


class Tolerance(Record):
    """How far a mean may lie from a printed value, and why."""

    tolerance: Amount = 0.0  # in `unit`
    spreads: Amount = 0.0  # of those printed beside the value, added to it
    unit: str
    why: str

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if self.tolerance == self.spreads == 0:
            raise ValueError("a tolerance of 0 calls every measured mean another one")
        return self

    @property
    def told(self) -> str:
        """The tolerance in words, with its reason."""
        if self.spreads:
            return f"{self.spreads:g} printed spreads: {self.why}"
        return f"{self.tolerance:g} {self.unit}: {self.why}"

    def of(self, spread: float | None) -> float:
        """Return the tolerance of a value with the spread printed beside it."""
        return self.tolerance + self.spreads * (spread or 0.0)


class Tolerances(Record):
    """The whole file; an artifact's own entry goes before that of the metric."""

    metrics: dict[str, Tolerance]
    artifacts: dict[str, Tolerance]


def read_tolerances(path: Path) -> Tolerances:
    """Return what a file says.

    Raises:
        PublishedError: what is wrong with it.
    """
    try:
        return Tolerances.model_validate(load_yaml(path, PublishedError))
    except ValidationError as error:
        raise PublishedError(explain(error, path, root=Tolerances)) from None


@cache
def _shipped() -> Tolerances:
    return read_tolerances(TOLERANCES)


def tolerance_of(paper: str, comparison: Comparison) -> Tolerance:
    """Return the tolerance under which a comparison is judged.

    Raises:
        PublishedError: the file has none. What is made of a metric over an axis has another unit or
            noise than the metric, so it needs an entry of its artifact.
    """
    known, artifact = _shipped(), f"{paper}/{comparison.artifact}"
    found = known.artifacts.get(artifact)
    if found is None and comparison.over is None:
        found = known.metrics.get(comparison.metric)
    if found is None:
        needed = artifact if comparison.over else f"{comparison.metric} or {artifact}"
        raise PublishedError(f"{TOLERANCES}: no tolerance of {needed}; add one with its reason")
    return found
