"""Which cells to compute within so many hours: whole claims first, with the fewest seeds.

A claim's set is all the cells that it needs with one seed. Sets come one by one, the cheapest of
those of the claims with the fewest seeds so far; what sets share is paid once, what is done costs
nothing. Then come cells that stand beside a printed value, and last those of no claim at all.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.errors import LaunchError
from bench.estimate.predict import Estimate

ROUNDING = 1e-9  # of the limit: sums of floats


class Needed(NamedTuple):
    """The cells, by id, that a claim or a printed value needs with one seed."""

    name: str
    seed: int
    cells: frozenset[str]


@dataclass
class Choice:
    """The cells to compute, and the seeds with which each claim can be judged."""

    limit_s: float
    cells: set[str] = field(default_factory=set)
    seconds: float = 0.0
    seeds: dict[str, list[int]] = field(default_factory=dict)  # claim -> seeds, none if untestable


class Costs:
    """What cells cost, a training that several share once."""

    def __init__(self, estimates: Iterable[Estimate]) -> None:
        """Take estimates that are all known; cells that are done are free.

        Raises:
            LaunchError: nothing is known of a cell's time.
        """
        self.own: dict[str, float] = {}
        self.shared: dict[str, tuple[str, float]] = {}
        self.free: set[str] = set()
        for e in estimates:
            if e.source == "done":
                self.free.add(e.cell.id)
            elif e.is_left:
                if e.own_s is None or e.shared_s is None:
                    raise LaunchError(f"the run time of {e.kind} is not known")
                self.own[e.cell.id] = e.own_s
                if e.training is not None:
                    self.shared[e.cell.id] = (e.training, e.shared_s)

    def can_have(self, cells: Iterable[str]) -> bool:
        """Return whether all of these are done or will be: a failed one is not."""
        return all(name in self.own or name in self.free for name in cells)

    def of(self, cells: Iterable[str], chosen: set[str], paid: set[str]) -> float:
        """Return what these cells cost beside those chosen, trainings in `paid` being paid.

        Args:
            cells: ids of known cells, see `can_have`.
            chosen: ids of cells that are computed anyway.
            paid: ids of shared trainings that are computed anyway.

        Returns:
            Seconds of one worker.
        """
        new = [n for n in sorted(cells) if n not in chosen and n not in self.free]
        trainings = dict(self.shared[n] for n in new if n in self.shared)
        unpaid = [seconds for name, seconds in trainings.items() if name not in paid]
        return math.fsum([self.own[n] for n in new] + unpaid)


class _Basket:
    """What was chosen so far."""

    def __init__(self, costs: Costs, limit_s: float) -> None:
        self.costs, self.choice = costs, Choice(limit_s)
        self.paid: set[str] = set()

    def extra_s(self, cells: Iterable[str]) -> float:
        return self.costs.of(cells, self.choice.cells, self.paid)

    def fits(self, extra_s: float) -> bool:
        return self.choice.seconds + extra_s <= self.choice.limit_s * (1 + ROUNDING)

    def add(self, cells: Iterable[str]) -> None:
        cells = set(cells)
        self.choice.seconds += self.extra_s(cells)
        self.choice.cells |= cells - self.costs.free
        self.paid |= {self.costs.shared[n][0] for n in cells if n in self.costs.shared}

    def has(self, cells: Iterable[str]) -> bool:
        return all(n in self.choice.cells or n in self.costs.free for n in cells)


def choose(
    estimates: Sequence[Estimate],
    claims: Sequence[Needed],
    printed: Sequence[Needed],
    limit_s: float,
) -> Choice:
    """Return the cells to compute within `limit_s` seconds of one worker.

    A larger limit never leaves fewer claims testable: claims get their first seed in an order
    that does not depend on the limit.

    Args:
        estimates: of all cells.
        claims: what each claim needs, seed by seed; one with no cells is never testable.
        printed: the same of printed values.
        limit_s: at most so much.

    Raises:
        LaunchError: nothing is known of a cell's time.
    """
    costs = Costs(estimates)
    basket = _Basket(costs, limit_s)
    possible = [s for s in claims if s.cells and costs.can_have(s.cells)]
    _add_first_seeds(basket, possible)
    _add_more_seeds(basket, possible)
    _add_in_order(basket, [s for s in printed if s.cells and costs.can_have(s.cells)])
    claimed = {name for needed in claims for name in needed.cells}
    rest = [
        Needed(e.cell.but_seed, e.cell.seed, frozenset([e.cell.id])) for e in estimates if e.is_left
    ]
    _add_in_order(basket, [s for s in rest if not s.cells & claimed])
    for name, seed, cells in claims:
        seeds = basket.choice.seeds.setdefault(name, [])
        if cells and basket.has(cells):
            seeds.append(seed)
    return basket.choice


def _add_first_seeds(basket: _Basket, sets: Sequence[Needed]) -> None:
    """Give every claim one seed, the cheapest first, until the next does not fit."""
    left = [s for s in sets if s.name not in _testable(basket, sets)]
    while left:
        cheapest = min(left, key=lambda s: basket.extra_s(s.cells))
        if not basket.fits(basket.extra_s(cheapest.cells)):
            return
        basket.add(cheapest.cells)
        left = [s for s in left if s.name not in _testable(basket, sets)]


def _add_more_seeds(basket: _Basket, sets: Sequence[Needed]) -> None:
    """Give testable claims further seeds: those with the fewest first, of these the cheapest."""
    while True:
        seeds = _testable(basket, sets)
        open_ = [s for s in sets if s.name in seeds and not basket.has(s.cells)]
        fitting = [(basket.extra_s(s.cells), s) for s in open_]
        fitting = [(extra, s) for extra, s in fitting if basket.fits(extra)]
        if not fitting:
            return
        basket.add(min(fitting, key=lambda pair: (seeds[pair[1].name], pair[0]))[1].cells)


def _add_in_order(basket: _Basket, sets: Sequence[Needed]) -> None:
    """Add the sets that fit, the first seed of each name first, of these the cheapest."""
    counted: dict[str, int] = defaultdict(int)
    ranked: list[tuple[int, float, int, Needed]] = []
    for needed in sets:
        ranked.append((counted[needed.name], basket.extra_s(needed.cells), len(ranked), needed))
        counted[needed.name] += 1
    for *_, needed in sorted(ranked):
        if basket.fits(basket.extra_s(needed.cells)):
            basket.add(needed.cells)


def _testable(basket: _Basket, sets: Sequence[Needed]) -> dict[str, int]:
    """Return how many seeds each testable claim has."""
    counted: dict[str, int] = defaultdict(int)
    for needed in sets:
        if basket.has(needed.cells):
            counted[needed.name] += 1
    return dict(counted)
