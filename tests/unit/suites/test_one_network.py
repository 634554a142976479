"""The methods of a suite have networks with the same initialisation."""

import pytest

from bench.cells.baseline import without_baselines
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from tests.fakes.paths import SUITES

SETTING = "zero_init_residual"
APART = {
    "collapse": "compares no methods",
    "dcl-table-10-params": "counts parameters",
    "dcl-table-8": "at scales other than cpu and cifar, each method starts as in its own paper",
    "search-map-families": "the first search of MoCo is kept at the scale cpu-short",
    "search-siamese": "the first search of MoCo is kept",
}
"""Suites in which they differ, with the reason."""
PATHS = suite_paths(SUITES)


@pytest.mark.parametrize("name", PATHS)
def test_residual_branches_start_alike_in_all_methods_of_a_suite(name: str) -> None:
    suite = load_suite(PATHS[name])
    different = []
    for scale in suite.scales:
        cells = without_baselines(expand(suite, scale, PATHS[name], seeds=[0]))
        ways = {cell.known.get(SETTING) for cell in cells} - {None}
        if len(ways) > 1:
            different.append(scale)
    assert bool(different) == (name in APART), different
