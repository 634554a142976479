"""Differences between two settings of a suite in the reference results, and its notes."""

from functools import cache
from typing import Any

from bench.analysis.contrasts import difference
from bench.analysis.measured import Measured
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import REFERENCE, SUITES


@cache
def measured_in(suite: str, scale: str) -> tuple[list[Cell], Measured]:
    path = SUITES / f"{suite}.yaml"
    cells = without_baselines(expand(load_suite(path), scale, path))
    return cells, Measured(cells, Results(REFERENCE).finished(cells))


def has(cell: Cell, settings: dict[str, Any]) -> bool:
    return all(cell.known.get(name) == value for name, value in settings.items())


def gain_of(
    suite: str, scale: str, one: dict[str, Any], than: dict[str, Any], metric: str, *, seeds: int
) -> tuple[float, float, float]:
    """Return a difference and the ends of its interval.

    `than` lists the other side's settings that differ.
    """
    cells, measured = measured_in(suite, scale)
    sides = [[c for c in cells if has(c, settings)] for settings in (one, one | than)]
    assert [len(side) for side in sides] == [seeds, seeds]
    found = difference(metric, [(sides[0], sides[1])], measured)
    assert found is not None
    gain = found.interval()
    assert gain.low is not None
    assert gain.high is not None
    return gain.mean, gain.low, gain.high


def shown(gain: tuple[float, float, float], *, digits: int = 1) -> str:
    mean, low, high = (f"{at:.{digits}f}" for at in gain)
    return f"{mean} [{low}, {high}]"


def notes_of(suite: str, scale: str) -> str:
    """Return all notes of a suite at a scale, on one line."""
    return " ".join(" ".join(load_suite(SUITES / f"{suite}.yaml").notes_at(scale)).split())
