"""Coefficients that were planted are found."""

import math

import numpy as np
import pytest

from bench.cells.costs import Terms
from bench.estimate.fit import CostModel, Measured

PLANTED = {"start": 3.0, "steps": 0.01, "views": 1e-4, "multiply-adds": 1e-10}


def seconds(terms: Terms) -> float:
    return sum(PLANTED[name] * amount for name, amount in terms.items())


def grid() -> list[Terms]:
    """Cells of several batch sizes, lengths and networks."""
    return [
        {
            "start": 1.0,
            "steps": images / batch,
            "views": 2.0 * images,
            "multiply-adds": images * one,
        }
        for images in (2e3, 2e4, 2e5)
        for batch in (16, 128)
        for one in (1e5, 1e7)
    ]


def measured(factor: float = 1.0, key: str = "kind", **changes: float) -> list[Measured]:
    return [Measured(t | changes, factor * seconds(t | changes), (key,)) for t in grid()]


def test_planted_coefficients_are_found() -> None:
    model = CostModel(measured())
    assert model.seconds_per_unit == pytest.approx(PLANTED, rel=0.05)
    other = {"start": 1.0, "steps": 5e4, "views": 1e6, "multiply-adds": 1e12}
    assert model.seconds(other, ()) == pytest.approx(seconds(other), rel=0.02)


@pytest.mark.parametrize("factor", [5.0, 0.2], ids=["busy machine", "faster machine"])
def test_cells_that_are_far_off_count_little(factor: float) -> None:
    """Every fifth cell took so many times as long; the others are off by 5 % at random."""
    generator = np.random.default_rng(0)
    noise = [
        factor if i % 5 == 0 else math.exp(generator.normal(0, 0.05))
        for i in range(3 * len(grid()))
    ]
    planted = measured() * 3
    model = CostModel(
        [Measured(m.terms, m.seconds * n, ()) for m, n in zip(planted, noise, strict=True)]
    )
    errors = [model.seconds(t, ()) / seconds(t) for t in grid()]
    assert min(errors) > 0.85
    assert max(errors) < 1.15


def test_two_cells_give_sense() -> None:
    """Terms that two cells cannot tell apart share their time: no other size is far off."""
    small = {"start": 1.0, "steps": 100.0, "views": 1e4, "multiply-adds": 1e9}
    model = CostModel([Measured(small, 4.0, ()), Measured(small, 6.0, ())])
    assert all(value > 0 for value in model.seconds_per_unit.values())
    assert 4 < model.seconds(small, ()) < 6
    longer = small | {"steps": 1000.0, "views": 1e5, "multiply-adds": 1e10}
    assert 5 * 4 < model.seconds(longer, ()) < 10 * 6


def test_what_the_sum_leaves_over_is_taken_from_the_nearest() -> None:
    """Cells with another loss take twice as long, which no term says."""
    model = CostModel(measured() + measured(2.0, key="slow"))
    terms = grid()[5]
    assert model.seconds(terms, ("kind",)) == pytest.approx(seconds(terms), rel=0.1)
    assert model.seconds(terms, ("slow",)) == pytest.approx(2 * seconds(terms), rel=0.1)
    assert model.seconds(terms, ("kind", "slow")) == pytest.approx(2 * seconds(terms), rel=0.1)
    assert seconds(terms) < model.seconds(terms, ("never",)) < 2 * seconds(terms)


def test_terms_that_no_cell_had_are_named() -> None:
    model = CostModel(measured())
    assert model.unknown({"steps": 3.0, "t-SNE": 2000.0, "linear": 0.0}) == ["t-SNE"]
