"""Cells that must be finished before a claim or published value can be judged."""

from collections.abc import Iterator, Sequence

from bench.analysis.compare import base_of, cells_of_value
from bench.analysis.contrasts import cells_of_check
from bench.cells.baseline import ACCURACIES
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.papers.reader import Paper
from bench.suites.baselines import baseline_cells
from bench.suites.checks import Check
from bench.suites.suite import Suite

Sets = list[tuple[str, int, frozenset[str]]]
"""A claim's name, a seed, and the ids of the cells that the claim needs with this seed."""


def needed_by_claims(suite: Suite, scale: str, cells: Sequence[Cell]) -> Sets:
    """Return the cells that each claim of the suite needs for each seed.

    A check on an accuracy also needs the baselines of its cells, if the scale has any. Checks
    without an effect among these cells need nothing. A claim with only such checks gets an empty
    set.

    Args:
        suite: the suite.
        scale: one of its scales.
        cells: the cells of the scale that the claims use.
    """
    settings = suite.scales[scale].baselines

    def needed(check: Check, cells_of_seed: Sequence[Cell]) -> list[Cell]:
        tested = cells_of_check(check, cells_of_seed)
        if settings is None or check.metric not in ACCURACIES:
            return tested
        return [*tested, *baseline_cells(tested, settings)]

    return [
        (
            claim,
            seed,
            frozenset(cell.id for check in checks for cell in needed(check, cells_of_seed)),
        )
        for claim, checks in suite.claims.items()
        for seed, cells_of_seed in _by_seed(cells)
    ]


def needed_by_printed(suite: Suite, cells: Sequence[Cell], paper: Paper) -> Sets:
    """Return the cells that each published value needs for each seed.

    Args:
        suite: the suite, with its comparisons. A gain needs two cells; a reduction needs all cells
            of an axis.
        cells: all cells of the selection.
        paper: the paper with the published values.
    """
    index = CellIndex(cells)
    needed: Sets = []
    for comparison in suite.compare:
        for i, value in enumerate(paper.artifact(comparison.artifact).values):
            name = f"{comparison.artifact} {comparison.metric} {i}"
            for seed, cells_of_seed in _by_seed(cells_of_value(value, comparison, suite, index)):
                if comparison.over is not None:
                    needed.append((name, seed, frozenset(cell.id for cell in cells_of_seed)))
                elif comparison.gain_over:
                    pairs = (
                        (c, base_of(c, value, comparison, suite, index)) for c in cells_of_seed
                    )
                    needed += [(name, seed, frozenset([c.id, b.id])) for c, b in pairs if b]
                else:
                    needed += [(name, seed, frozenset([cell.id])) for cell in cells_of_seed]
    return needed


def _by_seed(cells: Sequence[Cell]) -> Iterator[tuple[int, list[Cell]]]:
    for seed in dict.fromkeys(cell.seed for cell in cells):
        yield seed, [cell for cell in cells if cell.seed == seed]
