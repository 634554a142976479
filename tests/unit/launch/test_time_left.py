"""The time left of a run is learnt from cells that are over and from steps of those that run."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from bench.launch.time_left import Expected, Steady, TimeLeft
from bench.results.standing import Standing
from bench.results.store import CellState, State

Look = Callable[..., float | None]


class Clock:
    """A clock that is set by hand."""

    now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("bench.launch.time_left.time.monotonic", lambda: clock.now)
    return clock


def states(*names: str) -> list[CellState]:
    return [CellState(State(name)) for name in names]


def expected(*seconds: float | None, kind: str = "kind") -> list[Expected]:
    return [Expected(kind, s, None if s is None else 0.0) for s in seconds]


def at(share: float) -> Standing:
    return Standing(epoch=100 * share, of=100)


def test_before_anything_has_run_it_is_what_was_predicted(clock: Clock) -> None:
    left = TimeLeft(expected(100.0, 100.0, 50.0, 50.0), 2)
    assert left.run_s(states(*["queued"] * 4), {}) == 150
    clock.now += 30
    running = states("running", "running", "queued", "queued")
    assert left.run_s(running, {0: Standing(), 1: Standing()}) == 150
    clock.now += 30
    assert left.run_s(running, {0: Standing(), 1: Standing()}) == 120


def test_it_is_learnt_from_what_has_finished(clock: Clock) -> None:
    """Predicted 420 s each, 20 s taken: what is left is near 20 s a cell, not 420."""
    left = TimeLeft(expected(*[420.0] * 16), 2)
    names, found = ["queued"] * 16, []
    for i in range(0, 8, 2):
        names[i : i + 2] = ["running"] * 2
        found.append(left.run_s(states(*names), {}))
        clock.now += 20
        names[i : i + 2] = ["done"] * 2
    found.append(left.run_s(states(*names), {}))
    assert found[0] == 8 * 420
    assert found[-1] is not None
    assert 80 <= found[-1] <= 1.6 * 80
    assert found == sorted(found, key=lambda s: -(s or 0))


def test_it_falls_while_cells_run_that_take_far_longer_than_predicted(clock: Clock) -> None:
    """Three cells of 1 s are over; one of 100 epochs, predicted at 1 s, is told by its steps."""
    left = TimeLeft(expected(1.0, 1.0, 1.0, 1.0), 1)
    names = ["running", "queued", "queued", "queued"]
    for i in range(3):
        left.run_s(states(*names), {})
        clock.now += 1
        names[i : i + 2] = ["done", "running"]
    found = []
    for epoch in range(41):
        standing = at(epoch / 100) if epoch else Standing()
        for _ in range(10):
            found.append(left.run_s(states(*names), {3: standing}))
            clock.now += 1
    learnt = [s for s in found[20:] if s is not None]
    assert all(after <= before + 1e-6 for before, after in pairwise(learnt))
    assert learnt[-1] == pytest.approx(1000 - 409)


def test_what_waits_takes_as_long_as_its_like_that_run(clock: Clock) -> None:
    """At a quarter after 100 s, a cell takes 400 s, and so does the one behind it."""
    left = TimeLeft(expected(100.0, 100.0), 1)
    left.run_s(states("running", "queued"), {0: Standing()})
    clock.now += 100
    found = left.run_s(states("running", "queued"), {0: at(0.25)})
    assert found == pytest.approx(300 + 400, rel=0.01)


def test_other_kinds_learn_less_than_their_own(clock: Clock) -> None:
    own, other = expected(100.0, 100.0, 100.0), expected(100.0, kind="other")
    left = TimeLeft([*own, *other], 1)
    left.run_s(states("running", "queued", "queued", "queued"), {})
    clock.now += 10
    assert left.run_s(states("done", "queued", "done", "done"), {}) == pytest.approx(10, rel=0.2)


def test_a_trained_cell_has_its_evaluations_left(clock: Clock) -> None:
    left = TimeLeft([Expected("kind", 50.0, 50.0)], 1)
    left.run_s(states("running"), {0: Standing()})
    clock.now += 50
    trained = Standing(is_trained=True)
    assert left.run_s(states("running"), {0: trained}) == pytest.approx(50)
    clock.now += 20
    assert left.run_s(states("running"), {0: trained}) == pytest.approx(30)
    clock.now += 100
    assert 0 < (left.run_s(states("running"), {0: trained}) or 0) < 10


def test_cells_of_a_stack_are_computed_at_once(clock: Clock) -> None:
    """Ten cells of 10 s are one stack of 100 s; another one waits."""
    left = TimeLeft(expected(*[10.0] * 20), 2, [range(10), range(10, 20)])
    running = states(*["running"] * 10, *["queued"] * 10)
    assert left.run_s(running, {}) == 100
    clock.now += 50
    assert left.run_s(states(*["done"] * 10, *["queued"] * 10), {}) == pytest.approx(50, rel=0.1)


def test_what_was_over_before_or_failed_teaches_nothing(clock: Clock) -> None:
    left = TimeLeft(expected(None, None, None), 1)
    assert left.run_s(states("done", "queued", "queued"), {}) is None
    clock.now += 10
    assert left.run_s(states("done", "failed", "queued"), {}) is None
    assert left.run_s(states("done", "failed", "done"), {}) == 0


def test_without_predictions_it_is_what_others_took(clock: Clock) -> None:
    left = TimeLeft(expected(None, None, None), 1)
    left.run_s(states("running", "queued", "queued"), {})
    clock.now += 30
    assert left.run_s(states("done", "queued", "queued"), {}) == 60
    assert left.run_s(states("done", "running", "queued"), {}) == 60


def test_loading_before_the_first_step_tells_no_pace(clock: Clock) -> None:
    """Its 20 s, with 1 % done, would make 2,000 s of 100."""
    left = TimeLeft(expected(100.0), 1)
    left.run_s(states("running"), {0: Standing()})
    clock.now += 20
    for percent in (1, 2, 3, 4):
        shown = left.run_s(states("running"), {0: at(percent / 100)})
        assert shown == pytest.approx(100 - percent, rel=0.01)
        clock.now += 1


def test_a_stopped_cell_begins_anew(clock: Clock) -> None:
    left = TimeLeft(expected(100.0), 1)
    left.run_s(states("running"), {0: at(0.1)})
    clock.now += 50
    left.run_s(states("running"), {0: at(0.6)})
    assert left.run_s(states("queued"), {}) == 100


def test_a_cell_has_the_time_left_that_its_pace_gives(clock: Clock) -> None:
    left = TimeLeft(expected(None), 1)
    assert left.cell_s(0, Standing(epoch=2, of=10)) is None  # one look has no pace
    clock.now += 6
    assert left.cell_s(0, Standing(epoch=2, of=10)) is None
    assert left.cell_s(0, Standing(epoch=4, of=10)) == pytest.approx(18)
    clock.now += 5
    assert left.cell_s(0, Standing(epoch=4, of=10)) == pytest.approx(13)


def test_any_order_of_looks_is_answered(clock: Clock) -> None:
    """A cell that ends between two looks took the time between them."""
    left: Any = TimeLeft(expected(5.0, 5.0), 1)
    assert left.run_s(states("queued", "queued"), {}) == 10
    clock.now += 1
    assert left.run_s(states("done", "queued"), {}) == pytest.approx(1, rel=0.1)


def test_what_waits_learns_from_a_cell_that_is_overdue(clock: Clock) -> None:
    """Predicted at 10 s, it runs for 100 s without a record: the one behind takes 100 s or more."""
    left = TimeLeft(expected(10.0, 10.0), 1)
    left.run_s(states("running", "queued"), {0: Standing()})
    clock.now += 100
    assert (left.run_s(states("running", "queued"), {0: Standing()}) or 0) > 90


def test_a_training_that_was_over_before_has_its_evaluations_left(clock: Clock) -> None:
    left = TimeLeft([Expected("kind", 50.0, 50.0)], 1)
    assert left.run_s(states("running"), {0: Standing(is_trained=True)}) == pytest.approx(50)
    clock.now += 20
    assert left.run_s(states("running"), {0: Standing(is_trained=True)}) == pytest.approx(30)


LENGTHS_S = (15, 120, 40, 300, 15, 120, 40, 300, 15, 15, 40, 300, 120, 40, 15, 120)
PREDICTED = (0.5, 1.6, 0.8, 1.3, 2.0, 0.7, 1.1, 0.6, 1.5, 1.0, 1.4, 0.8, 1.2, 0.6, 1.7, 0.9)
START_S, EPOCHS, SLOTS, LINE_S = 8, 50, 2, 30


def shown_while_running(clock: Clock, wrong_by: float) -> list[tuple[float, float]]:
    """Return what a run shows each second with what is truly left, both in seconds.

    Cells of unequal length on two workers, whose first ones load for START_S before any step; a
    tenth of each is evaluation. Predictions are wrong by PREDICTED and by a factor common to all.
    """
    predicted = [n * of * wrong_by for n, of in zip(LENGTHS_S, PREDICTED, strict=True)]
    left = TimeLeft([Expected("kind", 0.9 * s, 0.1 * s) for s in predicted], SLOTS)
    ends, spans, steady, found = [0.0] * SLOTS, list[tuple[float, float]](), Steady(), []
    for length in LENGTHS_S:
        began = min(ends)
        ends[ends.index(began)] = began + length
        spans.append((began, began + length))
    for second in range(int(max(ends))):
        names, standings = [], {}
        for i, (began, end) in enumerate(spans):
            names.append("done" if second >= end else "running" if second >= began else "queued")
            if names[-1] == "running":
                start = START_S if began == 0 else 0
                share = max(0.0, (second - began - start) / (0.9 * (end - began) - start))
                epoch = int(share * EPOCHS)
                standings[i] = at(epoch / EPOCHS) if epoch else Standing()
                if share >= 1:
                    standings[i] = Standing(is_trained=True)
        shown = steady(left.run_s(states(*names), standings))
        assert shown is not None
        found.append((shown, max(ends) - second))
        clock.now += 1
    return found


@pytest.mark.parametrize("wrong_by", [1.0, 0.4, 2.5])
def test_what_is_shown_never_jumps_and_comes_near(clock: Clock, wrong_by: float) -> None:
    """From one line to the next, half a minute later, it moves by less than a factor of two."""
    found = shown_while_running(clock, wrong_by)
    for (before, _), (after, true) in zip(found, found[LINE_S:], strict=False):
        if true > LINE_S:
            assert 1 / 2 < after / max(before - LINE_S, LINE_S / 2) < 2
    late = found[len(found) // 3 : -LINE_S]
    assert all(1 / 2 < shown / true < 2 for shown, true in late)
