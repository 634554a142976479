"""How the spread of seeds is estimated: fixed beforehand, in one table, from other seeds.

What the seeds that are judged refute of it, that points share one spread, is not kept up.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import TypeAdapter, ValidationError
from scipy.special import chdtrc

from bench.errors import PublishedError
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml
from bench.record import Record

SPREAD = Path(__file__).parent / "spread.yaml"
UNEQUAL = 0.01  # how often points of one spread may be taken for points of several


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


def unequal_spread(groups: Iterable[Sequence[float]], step: float = 0.0) -> bool:
    """Whether Bartlett's test refutes, at UNEQUAL, that several points share one variance.

    Bartlett (1937), Proc. R. Soc. A 160, for normal values.

    Args:
        groups: the numbers of each point; below two they say nothing.
        step: in which the metric moves; no point is taken to have less spread than its rounding.
    """
    enough = [values for values in groups if len(values) > 1]
    freedom = np.array([len(values) - 1 for values in enough])
    least = step**2 / 12
    variances = np.array([max(float(np.var(values, ddof=1)), least) for values in enough])
    if len(enough) < 2 or not variances.any():
        return False
    if not variances.all():
        return True
    total = int(freedom.sum())
    shared = float(freedom @ variances) / total
    statistic = total * np.log(shared) - float(freedom @ np.log(variances))
    small = 1 + ((1 / freedom).sum() - 1 / total) / (3 * (len(enough) - 1))
    return bool(chdtrc(len(enough) - 1, statistic / small) < UNEQUAL)
