"""Choice of the cells to compute within some hours: complete claims first, with few seeds.

A claim's set contains all cells that it needs for one seed. The next set is the cheapest one of the
claims with the fewest seeds so far. Shared cells count once; finished cells cost nothing. Cells of
published values follow, and cells without a claim come last.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.errors import LaunchError
from bench.estimate.predict import CellPrediction, total_s

ROUNDING = 1e-9  # of the limit: sums of floats


class Needed(NamedTuple):
    """The cells, by id, that a claim or a published value needs for one seed."""

    name: str
    seed: int
    cells: frozenset[str]


@dataclass
class AffordableCells:
    """The cells to compute, and the seeds for which each claim can be judged."""

    limit_s: float
    cells: set[str] = field(default_factory=set)
    seconds: float = 0.0
    seeds: dict[str, list[int]] = field(default_factory=dict)  # claim -> seeds, none if untestable


class _Basket:
    """What was chosen so far."""

    def __init__(self, estimates: Iterable[CellPrediction], limit_s: float) -> None:
        self.choice = AffordableCells(limit_s)
        self.left = {e.cell.id: e for e in estimates if e.is_left}
        self.done = {e.cell.id for e in estimates if e.source == "done"}
        self.trained: set[str | None] = set()
        for estimate in self.left.values():
            if estimate.own_s is None:
                raise LaunchError(f"the run time of {estimate.cell.kind} is not known")

    def possible(self, sets: Iterable[Needed]) -> list[Needed]:
        """Return the sets whose cells are done or will be: a failed one is not."""
        return [s for s in sets if s.cells and s.cells <= self.left.keys() | self.done]

    def extra_s(self, cells: Iterable[str]) -> float:
        """Return what these cells cost in addition to those chosen, whose trainings are paid."""
        new = [self.left[name] for name in sorted(set(cells) - self.choice.cells - self.done)]
        trained = {e.training: e.shared_s for e in new if e.training in self.trained}
        return (total_s(new) or 0.0) - sum(seconds or 0.0 for seconds in trained.values())

    def fits(self, extra_s: float) -> bool:
        return self.choice.seconds + extra_s <= self.choice.limit_s * (1 + ROUNDING)

    def add(self, cells: Iterable[str]) -> None:
        self.choice.seconds += self.extra_s(cells)
        self.choice.cells |= set(cells) - self.done
        self.trained |= {self.left[name].training for name in set(cells) - self.done} - {None}

    def has(self, cells: Iterable[str]) -> bool:
        return self.choice.cells | self.done >= set(cells)


def choose(
    estimates: Sequence[CellPrediction],
    claims: Sequence[Needed],
    printed: Sequence[Needed],
    limit_s: float,
) -> AffordableCells:
    """Return the cells to compute within `limit_s` seconds on one worker.

    A larger limit never makes fewer claims testable, because the order in which claims get their
    first seed does not depend on the limit.

    Args:
        estimates: predictions for all cells.
        claims: the cells that each claim needs for each seed. A claim without cells is never
            testable.
        printed: the cells that each published value needs for each seed.
        limit_s: limit in seconds.

    Raises:
        LaunchError: the time of a cell is unknown.
    """
    basket = _Basket(estimates, limit_s)
    _add_claims(basket, basket.possible(claims))
    _add_in_order(basket, basket.possible(printed))
    claimed = {name for needed in claims for name in needed.cells}
    rest = [e.cell for e in estimates if e.is_left and e.cell.id not in claimed]
    _add_in_order(basket, [Needed(c.but_seed, c.seed, frozenset([c.id])) for c in rest])
    for name, seed, cells in claims:
        seeds = basket.choice.seeds.setdefault(name, [])
        if cells and basket.has(cells):
            seeds.append(seed)
    return basket.choice


def _add_claims(basket: _Basket, sets: Sequence[Needed]) -> None:
    """Give claims seeds while any fits: those with the fewest first, of these the cheapest."""
    left = list(sets)
    while left:
        seeds = Counter(s.name for s in sets if basket.has(s.cells))
        ranked = [(seeds[s.name], basket.extra_s(s.cells), i) for i, s in enumerate(left)]
        fitting = [rank for rank in ranked if basket.fits(rank[1])]
        if not fitting:
            return
        basket.add(left[min(fitting)[2]].cells)
        left = [s for s in left if not basket.has(s.cells)]


def _add_in_order(basket: _Basket, sets: Sequence[Needed]) -> None:
    """Add the sets that fit, the first seed of each name first, of these the cheapest."""
    counted = Counter[str]()
    ranked: list[tuple[int, float, int, Needed]] = []
    for needed in sets:
        ranked.append((counted[needed.name], basket.extra_s(needed.cells), len(ranked), needed))
        counted[needed.name] += 1
    for *_, needed in sorted(ranked):
        if basket.fits(basket.extra_s(needed.cells)):
            basket.add(needed.cells)
