"""The papers' printed numbers go into the claims' checks: they hold, and the opposite fails."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from bench.analysis.printed import (
    judge_printed,
    printed_text,
    published_scales,
    reached,
)
from bench.analysis.verdicts import worst
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.papers.printed_checks import PRINTED
from bench.papers.reader import PAPERS, load_paper
from bench.suites.checks import Check
from bench.suites.suite import Suite
from tests.fakes.paths import SUITES

CONTRADICTED = {
    ("dcl", "batch-flat-small-scale"),  # CIFAR-100, kNN: Table 1
    ("mutual-information", "ring-beats-cave"),  # with Lab and annealing 87.6 and 87.8
}
"""Sentences that the paper's own numbers do not bear out."""
HOLDS, WITHOUT = 68, 71  # claims that hold on the printed numbers, claims without any
FAR = 100.0  # points: beyond every threshold


@cache
def published() -> list[tuple[Suite, str, list[Cell]]]:
    return list(published_scales(SUITES))


@cache
def judged() -> dict[tuple[str, str, str], list[Any]]:
    """Return the checks that printed numbers reach, by suite, scale and claim."""
    found: dict[tuple[str, str, str], list[Any]] = {}
    for suite, scale, cells in published():
        for row in judge_printed(suite, scale, cells, load_paper(str(suite.paper))):
            if reached([row]):
                found.setdefault((suite.name, scale, row.claim.id), []).append(row)
    return found


def test_every_claim_is_in_one_of_three_lists() -> None:
    verdicts: dict[tuple[str, str], set[str]] = {}
    for rows in judged().values():
        claim = rows[0].claim
        verdict = worst(row.verdict for row in rows)
        verdicts.setdefault((claim.paper, claim.id), set()).add(verdict)
    holds = {claim for claim, said in verdicts.items() if said == {"holds"}}
    contradicted = {claim for claim, said in verdicts.items() if "fails" in said}
    every = {(paper, claim) for paper in PAPERS for claim in load_paper(paper).claims}
    without = every - verdicts.keys()
    assert contradicted == CONTRADICTED
    assert (len(holds), len(contradicted), len(without)) == (HOLDS, len(CONTRADICTED), WITHOUT)
    assert len(holds) + len(contradicted) + len(without) == len(every) == 141


def opposite(cells: list[Cell]) -> Any:
    """Return what is added to a cell's number so that a check on it is false by far."""
    axes: dict[tuple[str, str], list[Any]] = {}

    def rank(check: Any, cell: Cell) -> int:
        key = (check.metric, check.over)
        if key not in axes:
            axes[key] = sorted({str(c.settings.get(check.over)).zfill(12) for c in cells})
        return axes[key].index(str(cell.settings.get(check.over)).zfill(12))

    def shift(check: Check, cell: Cell) -> float:
        if not CellIndex([cell]).where(check.where):
            return 0.0
        kind: Any = check
        if kind.check in ("exceeds", "gain-exceeds"):
            return -FAR
        if kind.check in ("equal", "below"):
            return FAR
        if kind.check == "peak":
            low, high = kind.near
            return -FAR if low <= cell.settings[kind.over] <= high else 0.0
        falling = -1.0 if getattr(kind, "direction", "falling") == "rising" else 1.0
        return falling * FAR * rank(check, cell)

    return shift


def opposites() -> Iterator[Any]:
    for suite, scale, cells in published():
        rows = judge_printed(
            suite, scale, cells, load_paper(str(suite.paper)), shift=opposite(cells)
        )
        yield from ((suite.name, scale, row) for row in rows if reached([row]))


def test_planted_opposites_fail() -> None:
    found = [(s, scale, row.claim.id, str(row.verdict)) for s, scale, row in opposites()]
    assert [f for f in found if f[3] != "fails"] == []
    assert len(found) > 100


def test_what_is_shipped_of_checks_is_what_the_printed_numbers_give() -> None:
    """`make printed` writes them."""
    assert PRINTED.read_text() == printed_text(SUITES)
