"""How the spread of seeds is estimated: fixed beforehand, in one table, from other seeds."""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from bench.errors import PublishedError
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml
from bench.record import Record

SPREAD = Path(__file__).parent / "spread.yaml"


class Spread(Record):
    """How it is done for some metrics of an experiment at a scale, and what was measured."""

    experiment: str
    scale: str
    metrics: list[str]
    how: Literal["paired", "pooled"]
    apart: list[str] = []  # settings in which cells must agree to share a variance
    why: str


TABLE: TypeAdapter[list[Spread]] = TypeAdapter(list[Spread])


def read_spread(path: Path) -> list[Spread]:
    """Return what a file says.

    Raises:
        PublishedError: what is wrong with it.
    """
    try:
        return TABLE.validate_python(load_yaml(path, PublishedError))
    except ValidationError as error:
        raise PublishedError(explain(error, path)) from None


@cache
def _shipped() -> list[Spread]:
    return read_spread(SPREAD)


@cache
def spread_of(experiment: str, scale: str, metric: str) -> Spread | None:
    """Return how the spread of a metric is estimated; None: nothing is known, every cell its own.

    Args:
        experiment: of the cells that are compared.
        scale: of the suite.
        metric: the cells'.
    """
    rows = (row for row in _shipped() if (row.experiment, row.scale) == (experiment, scale))
    return next((row for row in rows if metric in row.metrics), None)
