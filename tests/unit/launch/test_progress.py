"""What a run shows while it runs: counts, running cells, the time left."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.cells.groups import labels, without_followers
from bench.launch import progress as module
from bench.launch import time_left
from bench.launch.progress import Followed, Progress, standing_text
from bench.launch.time_left import Expected
from bench.results.standing import Standing
from bench.results.store import CellState, State, Store
from tests.fakes.cells import baseline_cell, small_cell

CELLS = [small_cell(loss=loss, seed=seed) for loss in ("infonce", "dcl") for seed in (0, 1)]
HALF = Standing(step=60, epoch=10, of=20, loss=2.345, accuracy=71.23, accuracy_of="knn_top1")


class Clock:
    """A clock that is set by hand."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for of in (module, time_left):
            patch.setattr(of.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def states(*names: str) -> list[CellState]:
    return [CellState(State(name)) for name in names]


@pytest.mark.parametrize(
    ("standing", "left_s", "told"),
    [
        (Standing(), None, "nothing measured yet"),
        (Standing(is_trained=True), 9.0, "trained, evaluating"),
        (HALF, None, "epoch 10 of 20, loss 2.35, kNN 71.2 %"),
        (HALF, 30.0, "epoch 10 of 20, loss 2.35, kNN 71.2 %, about 30 s left"),
        (Standing(step=50, of=100), None, "step 50 of 100"),
        (Standing(step=50, epoch=2), None, "epoch 2"),
        (
            Standing(step=5, epoch=2, of=4, accuracy=50.0, accuracy_of="test_top1"),
            None,
            "epoch 2 of 4, test accuracy 50.0 %",
        ),
    ],
)
def test_a_running_cell_in_words(standing: Standing, left_s: float | None, told: str) -> None:
    assert standing_text(standing, left_s) == told


def test_cells_are_named_by_what_tells_them_apart() -> None:
    assert labels(CELLS) == [
        "infonce, seed 0", "infonce, seed 1", "dcl, seed 0", "dcl, seed 1"
    ]  # fmt: skip
    assert labels([]) == []
    assert labels(CELLS[:1]) == ["pretrain, seed 0"]
    many = [small_cell(batch_size=b, lr=b / 1024, weight_decay=b / 7e5) for b in (16, 32)]
    assert labels(many) == ["batch_size 16, seed 0", "batch_size 32, seed 0"]
    raw: list[Cell] = [baseline_cell("raw", width=None), *CELLS]
    assert labels(raw)[:2] == ["baseline, seed 0", "pretrain, infonce, seed 0"]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Any:
    """Return what makes the display of four cells, after what is written is captured."""
    monkeypatch.setattr(module, "standing_of", lambda *_: HALF)
    followed = Followed(CELLS, Store(Path("none")), [Expected("kind", None, None)] * 4)
    return lambda: Progress("mine (tiny)", Counter({State.DONE: 1}), 2, followed)


def test_lines_in_a_pipe(shown: Any, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """At once, every 30 s, and at the end; a line that stands there is not printed again."""
    with shown() as report:
        assert not report(states("queued", "queued", "queued", "queued"))
        clock.now += 10
        assert not report(states("running", "queued", "queued", "queued"))
        clock.now += 25
        assert not report(states("running", "running", "queued", "queued"))
        clock.now += 10
        assert report(states("done", "done", "failed", "done"))
    assert capsys.readouterr().err.splitlines() == [
        "mine (tiny): 1 done, 4 queued (0 s; 2 workers starting (loading PyTorch))",
        "mine (tiny): 1 done, 2 running, 2 queued (35 s)",
        "  infonce, seed 0 (and 1 more cell): epoch 10 of 20, loss 2.35, kNN 71.2 %",
        "mine (tiny): 4 done, 1 failed (45 s)",
    ]


@pytest.mark.parametrize("after_s", [2, 20])
def test_that_all_is_over_is_said_once_however_long_workers_take_to_end(
    shown: Any, clock: Clock, capsys: pytest.CaptureFixture[str], after_s: float
) -> None:
    over = states("done", "done", "failed", "done")
    with shown() as report:
        report(states("queued", "queued", "queued", "queued"))
        clock.now += after_s
        assert report(over)
        clock.now += 40
        assert report(over)
    assert capsys.readouterr().err.splitlines()[1:] == [
        f"mine (tiny): 4 done, 1 failed ({after_s} s)"
    ]


def test_of_many_running_cells_some_have_a_line(
    shown: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 3)
    epochs = iter(range(1, 5))
    monkeypatch.setattr(
        module, "standing_of", lambda *_: Standing(epoch=next(epochs), step=1, of=9)
    )
    with shown() as report:
        report(states("running", "running", "running", "running"))
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("  ") for line in lines] == [False, True, True, True, True]
    assert lines[-1] == "  ... and 1 more running"


def test_counts_alone_where_no_cell_is_followed(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("job 7", Counter(), 1) as report:
        report(states("running", "queued"))
    assert capsys.readouterr().err == "job 7: 1 running, 1 queued (0 s)\n"


def test_a_loss_is_named_where_nulls_alone_tell_it() -> None:
    losses = [("infonce", None), ("eqco", 512), ("eqco", 4096)]
    points = [{"loss": loss, "alpha": a, "K": K} for loss, a in losses for K in (8, 16)]
    assert without_followers(points, nulls_tell=False) == ["loss", "alpha", "K"]
    given = [{"loss": loss, "alpha": a or 1} for loss, a in losses]
    assert without_followers(given, nulls_tell=False) == ["alpha"]
