"""Checks of claims find their cells at a scale and leave out its baselines."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from bench.analysis.contrasts import cells_of_check
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.cli.selection import check_scales, select
from bench.cli.workspace import Workspace
from bench.errors import BenchError
from bench.suites.checks import Check, Peak
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from bench.suites.suite import Suite
from tests.fakes.paths import SUITES

SMOKE = "smoke"  # to see that everything runs: its grids are cut without regard to claims
OTHER_DATA = {
    # The sentence is about ImageNet, the suite's figure about CIFAR-10.
    ("mutual-information-figure-9", "la-needs-ir-initialisation"),
}
"""Claims whose checks speak of data that no scale of the suite has."""
NOT_JUDGED = {
    # CMC is run without augmentation and with all: nothing is judged of its single transforms.
    ("mutual-information-figure-5", "cifar", "collision-free-augmentations-useless"),
}
"""Claims of which a scale has some of a check's cells, as the suite says."""


PATHS = suite_paths(SUITES)


@cache
def loaded(name: str) -> Suite:
    return load_suite(PATHS[name])


@cache
def cells_by_scale(name: str) -> dict[str, list[Cell]]:
    """Return the cells of every scale but smoke, if the suite has claims."""
    suite = loaded(name)
    return {
        scale: without_baselines(expand(suite, scale, PATHS[name], seeds=[0]))
        for scale in suite.scales
        if scale != SMOKE and suite.claims
    }


def checks_of(name: str) -> Iterator[tuple[str, Check]]:
    for claim, checks in loaded(name).claims.items():
        yield from ((claim, check) for check in checks)


def is_for_another_scale(check: Check, cells: Sequence[Cell]) -> bool:
    """Return whether a side without cells names a value that no cell of the scale has."""
    known, index = [c.known for c in cells], CellIndex(cells)
    empty = [side for side in check.sides if not index.where(side)]
    absent = any(all(c.get(k) != v for c in known) for side in empty for k, v in side.items())
    if isinstance(check, Peak):
        low, high = check.near
        return absent or not any(low <= c[check.over] <= high for c in known)
    return absent


@pytest.mark.parametrize("name", PATHS)
def test_a_check_finds_cells_on_all_its_sides_or_is_for_another_scale(name: str) -> None:
    astray = [
        (name, scale, claim, check.check)
        for scale, cells in cells_by_scale(name).items()
        for claim, check in checks_of(name)
        if (name, scale, claim) not in NOT_JUDGED
        and not cells_of_check(check, cells)
        and not is_for_another_scale(check, cells)
    ]
    assert astray == []


@pytest.mark.parametrize("name", PATHS)
def test_every_check_finds_cells_at_some_scale(name: str) -> None:
    scales = cells_by_scale(name).values()
    dead = [
        (name, claim, check.check)
        for claim, check in checks_of(name)
        if (name, claim) not in OTHER_DATA
        and not any(cells_of_check(check, cells) for cells in scales)
    ]
    assert dead == []


@pytest.mark.parametrize("name", PATHS)
def test_no_check_keeps_a_scale_from_being_planned(name: str, tmp_path: Path) -> None:
    refused = dict[str, str]()
    for scale in loaded(name).scales:
        try:
            check_scales(select(Workspace(SUITES, tmp_path, tmp_path), name, scale=scale))
        except (BenchError, KeyError) as why:
            refused[scale] = str(why)
    assert refused == {}


def test_the_exceptions_are_needed() -> None:
    for name, claim in OTHER_DATA:
        checks = [check for own, check in checks_of(name) if own == claim]
        cells = cells_by_scale(name).values()
        assert not any(cells_of_check(check, own) for check in checks for own in cells)
    for name, scale, claim in NOT_JUDGED:
        cells_there = cells_by_scale(name)[scale]
        checks = [check for own, check in checks_of(name) if own == claim]
        found = [check for check in checks if not cells_of_check(check, cells_there)]
        assert any(not is_for_another_scale(check, cells_there) for check in found)
