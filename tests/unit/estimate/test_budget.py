"""What is chosen within a limit: whole claims, two seeds of all before a third of one."""

from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.cells.toys import GaussianMI
from bench.errors import LaunchError
from bench.estimate.budget import AffordableCells, Needed, choose
from bench.estimate.predict import CellPrediction
from tests.fakes.toys import toy


@cache
def cell(number: int) -> GaussianMI:
    return toy(seed=number)


def estimate(number: int, own_s: float | None, training: str | None = None) -> CellPrediction:
    """Return what is predicted of a cell; 10 s of a shared training, own_s None: it is done."""
    source, shared = ("done", 0.0) if own_s is None else ("finished", 10.0 if training else 0.0)
    training = None if own_s is None else training
    return CellPrediction(cell(number), training, shared, own_s or 0.0, source, "finished cells")


def needed(name: str, seed: int, *numbers: int) -> Needed:
    return Needed(name, seed, frozenset(cell(i).id for i in numbers))


def numbers(choice: AffordableCells, most: int = 20) -> list[int]:
    return [i for i in range(most) if cell(i).id in choice.cells]


def test_both_sides_of_every_claim_come_before_more_seeds_and_loose_cells() -> None:
    """Claim a: cells 0, 1 with seed 0, then 2, 3 and 4, 5; b: 6, 7; cell 8 is of no claim."""
    claims = [needed("a", s, 2 * s, 2 * s + 1) for s in range(3)] + [needed("b", 0, 6, 7)]
    estimates = [estimate(i, 1.0) for i in range(6)] + [estimate(i, 3.0) for i in (6, 7)]
    estimates.append(estimate(8, 0.5))
    chosen = {limit: choose(estimates, claims, [], limit) for limit in (1.5, 2, 8, 10, 12, 12.5)}
    assert numbers(chosen[1.5]) == [8]
    assert numbers(chosen[2]) == [0, 1]
    assert numbers(chosen[8]) == [0, 1, 6, 7]
    assert numbers(chosen[10]) == [0, 1, 2, 3, 6, 7]
    assert chosen[10].seeds == {"a": [0, 1], "b": [0]}
    assert numbers(chosen[12]) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert numbers(chosen[12.5]) == list(range(9))


def test_what_a_claim_shares_is_paid_once_and_what_is_done_is_free() -> None:
    estimates = [estimate(0, None), estimate(1, 1.0, "T"), estimate(2, 1.0, "T")]
    estimates.append(estimate(3, 13.0))
    claims = [needed("a", 0, 0, 1, 2), needed("b", 0, 0, 1), needed("c", 0, 3)]
    choice = choose(estimates, claims, [], 12.0)
    assert (numbers(choice), choice.seconds) == ([1, 2], 12.0)
    assert choice.seeds == {"a": [0], "b": [0], "c": []}


def test_a_second_seed_of_each_claim_comes_before_a_third() -> None:
    claims = [needed("a", s, s) for s in range(4)] + [needed("b", s, 4 + s) for s in range(4)]
    estimates = [estimate(i, 1.0) for i in range(4)] + [estimate(4 + i, 4.0) for i in range(4)]
    assert choose(estimates, claims, [], 10.0).seeds == {"a": [0, 1], "b": [0, 1]}
    assert choose(estimates, claims, [], 11.0).seeds == {"a": [0, 1, 2], "b": [0, 1]}


def test_printed_values_come_before_cells_of_nothing() -> None:
    estimates = [estimate(i, 1.0) for i in range(4)]
    printed = [needed("row", 0, 2), needed("row", 1, 3)]
    assert numbers(choose(estimates, [], printed, 1.0)) == [2]
    assert numbers(choose(estimates, [], printed, 3.0)) == [0, 2, 3]


@pytest.mark.parametrize("broken", [0, 1])
def test_a_failed_cell_takes_its_claim_with_it(broken: int) -> None:
    failed = CellPrediction(cell(broken), None, 0.0, 0.0, "failed", "failed")
    estimates = [estimate(1 - broken, 1.0), failed]
    choice = choose(estimates, [needed("a", 0, 0, 1)], [], 9.0)
    assert (numbers(choice), choice.seeds) == ([], {"a": []})


def test_unknown_times_are_told() -> None:
    unknown = CellPrediction(cell(0), None, None, None, "unknown", "")
    with pytest.raises(LaunchError, match=f"^the run time of {cell(0).kind} is not known$"):
        choose([unknown], [], [], 1.0)


class Case(NamedTuple):
    estimates: list[CellPrediction]
    claims: list[Needed]


CELLS = 9


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any cells, some done, some sharing trainings; any sets of them as claims."""
    own = st.one_of(st.none(), st.integers(1, 9).map(float))
    training = st.sampled_from([None, "T", "U"])
    estimates = [estimate(i, draw(own), draw(training)) for i in range(CELLS)]
    sets = st.sets(st.integers(0, CELLS - 1), max_size=4)
    claims = [
        needed(name, seed, *draw(sets)) for name in "abcd"[: draw(st.integers(1, 4))]
        for seed in range(draw(st.integers(1, 3)))
    ]  # fmt: skip
    return Case(estimates, claims)


def cost_of(chosen: set[str], estimates: list[CellPrediction]) -> float:
    own = [e for e in estimates if e.cell.id in chosen]
    trainings = {e.training: e.shared_s or 0.0 for e in own if e.training}
    return sum(e.own_s or 0.0 for e in own) + sum(trainings.values())


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(case=cases(), limit=st.integers(1, 60), more=st.integers(0, 60))
def test_costs_stay_within_sets_are_whole_and_more_is_never_less(
    case: Case, limit: int, more: int
) -> None:
    small = choose(*case, [], float(limit))
    large = choose(*case, [], float(limit + more))
    done = {e.cell.id for e in case.estimates if e.source == "done"}
    for choice in (small, large):
        assert cost_of(choice.cells, case.estimates) <= choice.limit_s
        assert choice.seconds == cost_of(choice.cells, case.estimates)
        assert not choice.cells & done
        there = choice.cells | done
        whole = [n for n in case.claims if n.cells and n.cells <= there]
        claimed = {name for n in case.claims for name in n.cells}
        assert choice.cells & claimed <= {name for n in whole for name in n.cells}
        assert choice.seeds == {
            name: [n.seed for n in whole if n.name == name]
            for name in dict.fromkeys(n.name for n in case.claims)
        }
    testable = [{name for name, seeds in c.seeds.items() if seeds} for c in (small, large)]
    assert testable[0] <= testable[1]
