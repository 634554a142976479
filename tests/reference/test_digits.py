"""Whoever installs bench finds results of every suite that runs on digits."""

import pytest

from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import REFERENCE, SUITES

SCALE = "cpu"
LEFT = {"cifar10-jpeg": "its images are no part of bench"}
"""Suites without all of them, with what stands in the way."""
ON_DIGITS = [path for path in sorted(SUITES.glob("*.yaml")) if SCALE in load_suite(path).scales]


@pytest.fixture(scope="module")
def results() -> Results:
    """The tables are read once."""
    return Results(REFERENCE)


@pytest.mark.parametrize("name", [path.stem for path in ON_DIGITS])
def test_a_suite_on_digits_has_all_its_results(name: str, results: Results) -> None:
    """Cells that diverged count, since divergence is a result."""
    path = SUITES / f"{name}.yaml"
    cells = expand(load_suite(path), SCALE, path)
    done = results.finished(cells)
    held = {cell.id for cell, _ in [*done, *results.failed(cells, done)]}
    missing = [cell.id for cell in cells if cell.id not in held]
    assert bool(missing) == (name in LEFT), missing
