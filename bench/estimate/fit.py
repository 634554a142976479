"""What a unit of each term takes, fitted to cells whose seconds are known.

Seconds are a sum of amounts times coefficients that are never negative. Relative errors count, so
that a cell of a second says as much as one of an hour, and cells that took far longer or shorter
than their like, on a machine that did other work, count little. What the sum leaves over is taken
from the cells nearest in settings.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from bench.cells.costs import Terms

PRIOR = 0.01  # weight of the belief that all terms take equal shares; a cell has weight 1
USUAL_ERROR = 0.3  # relative; cells that are much farther off count little
ALL = ""  # what every cell is like
ROUNDS = 8  # of weighting


@dataclass(frozen=True)
class Measured:
    """The seconds of one part of a cell."""

    terms: Terms
    seconds: float  # above 0
    keys: tuple[str, ...]  # what it is like, from far to near


class CostModel:
    """Coefficients of the terms, and what is left over by nearness."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        """Fit.

        Args:
            measured: at least one.
        """
        self.seconds_per_unit = _fitted(measured)
        self._left_over: dict[str, list[float]] = defaultdict(list)
        for m in measured:
            ratio = m.seconds / max(self._sum(m.terms), 1e-12)
            for key in (ALL, *m.keys):
                self._left_over[key].append(math.log(ratio))

    def unknown(self, terms: Terms) -> list[str]:
        """Return the terms of which no cell had any."""
        return [name for name, amount in terms.items() if amount and not self._knows(name)]

    def seconds(self, terms: Terms, keys: Sequence[str]) -> float:
        """Return the seconds of these terms, as of cells with the same keys.

        Of n cells with a key the middle error counts n / (n + 1), from far to near.
        """
        error = 0.0
        for key in (ALL, *keys):
            if errors := self._left_over.get(key):
                error += len(errors) / (len(errors) + 1) * (median(errors) - error)
        return self._sum(terms) * math.exp(error)

    def _knows(self, name: str) -> bool:
        return name in self.seconds_per_unit

    def _sum(self, terms: Terms) -> float:
        return sum(self.seconds_per_unit.get(k, 0.0) * v for k, v in terms.items())


def _fitted(measured: Sequence[Measured]) -> Mapping[str, float]:
    """Return the seconds of a unit of each term, by weighted non-negative least squares."""
    from scipy.optimize import nnls  # half a second, where there is nothing to predict

    names = sorted({name for m in measured for name, amount in m.terms.items() if amount})
    shares = np.array([[m.terms.get(n, 0.0) / m.seconds for n in names] for m in measured])
    counted = (shares > 0).sum(axis=1, keepdims=True)
    usual = [1 / np.median((shares * counted)[shares[:, j] > 0, j]) for j in range(len(names))]
    relative = shares * usual  # each coefficient in terms of the usual one
    prior = math.sqrt(PRIOR) * np.eye(len(names))
    target = np.append(np.ones(len(measured)), math.sqrt(PRIOR) * np.ones(len(names)))
    weights = np.ones(len(measured))
    factors = np.ones(len(names))
    for _ in range(ROUNDS):
        root = np.sqrt(weights)
        rows = np.vstack([root[:, None] * relative, prior])
        factors = nnls(rows, np.append(root, target[len(root) :]))[0]
        errors = np.log(np.maximum(relative @ factors, 1e-12))
        weights = 1 / (1 + (errors / USUAL_ERROR) ** 2)
    return {name: float(f * u) for name, f, u in zip(names, factors, usual, strict=True)}
