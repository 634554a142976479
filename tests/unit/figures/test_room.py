"""Trivial baseline and supervised accuracy as lines, by the numbers that are drawn."""

from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.analysis.room import Rooms
from bench.cells.baseline import BASELINES
from bench.figures.frames import room_of_row
from bench.figures.marks import draw_room
from bench.figures.panels import draw_figure
from bench.papers.reader import NO_PAPER
from bench.results.reader import Done, Finished
from bench.suites.baselines import baseline_cells
from bench.suites.figure import Figure
from bench.suites.load import load_suite
from tests.fakes.cells import small_cell
from tests.fakes.paths import SUITES
from tests.fakes.rooms import LABELS, LEVELS


def axes() -> Axes:
    found: Axes = Canvas().subplots()
    return found


def rows(*of: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(of, columns=["x", "floor", "floor is", "ceiling"])


def lines(ax: Axes) -> dict[str, tuple[list[float], list[float]]]:
    """Return what each line draws across and up, by its label."""
    drawn: Any = ax.lines
    return {str(l.get_label()): ([*l.get_xdata()], [*l.get_ydata()]) for l in drawn}  # noqa: E741


def test_a_room_is_two_lines_across_the_panel() -> None:
    ax = draw_room(rows((1, 40.0, "raw pixels", 70.0), (2, 40.0, "raw pixels", 70.0)), axes(), "x")
    assert lines(ax) == {
        "trivial baseline (raw pixels)": ([0, 1], [40.0, 40.0]),
        "supervised accuracy": ([0, 1], [70.0, 70.0]),
    }


def test_what_moves_along_x_is_drawn_along_it() -> None:
    """A run of ten epochs has a lower ceiling than one of twenty."""
    frame = rows((20, 40.0, "raw pixels", 70.0), (10, 40.0, "raw pixels", 60.0))
    assert lines(draw_room(frame, axes(), "x")) == {
        "trivial baseline (raw pixels)": ([0, 1], [40.0, 40.0]),
        "supervised accuracy": ([10, 20], [60.0, 70.0]),
    }


@pytest.mark.parametrize("x", ["x", None])
def test_of_several_rooms_that_x_does_not_tell_apart_the_common_one_is_drawn(x: str | None) -> None:
    frame = rows((1, 40.0, "raw pixels", 70.0), (1, 45.0, "untrained network", 60.0))
    assert lines(draw_room(frame, axes(), x)) == {
        "highest trivial baseline (untrained network)": ([0, 1], [45.0, 45.0]),
        "lowest supervised accuracy": ([0, 1], [60.0, 60.0]),
    }


def test_without_room_nothing_is_drawn() -> None:
    assert lines(draw_room(pd.DataFrame({"x": [1]}), axes(), "x")) == {}
    assert lines(draw_room(rows((1, None, None, None)), axes(), "x")) == {}


def rooms(cell: Any) -> Rooms:
    done: Done = [
        (b, Finished({"knn_top1": LEVELS[b.baseline]}, {}))
        for b in baseline_cells([cell], LABELS, BASELINES)
    ]
    return Rooms(LABELS, done)


def test_a_history_has_room_where_its_knn_is_the_evaluations() -> None:
    alike = {"knn_k": 200, "knn_tau": 0.1, "train_images": 300}
    for changes, watched in ((alike, True), (alike | {"knn_k": 20}, False),
                             (alike | {"watch": "nn", "knn_every_epochs": 1}, False)):  # fmt: skip
        cell = small_cell(**changes)
        known = rooms(cell)
        told = {"floor": 40.0, "floor is": "raw pixels", "ceiling": 70.0}
        assert room_of_row("knn_top1", cell, known, watched=False) == told
        assert room_of_row("knn_top1", cell, known, watched=True) == (told if watched else {})


def test_a_suites_figure_has_its_room() -> None:
    cells = [small_cell(loss=loss, seed=s) for loss in ("dcl", "infonce") for s in (0, 1)]
    done: Done = [(c, Finished({"knn_top1": 50.0 + c.seed, "q_b": 0.5}, {})) for c in cells]
    suite = load_suite(SUITES / "dcl-table-1.yaml")

    def drawn(metric: str) -> set[str]:
        figure = Figure(name="f", title="f", draw="lines", x="batch_size", y=metric, by="loss",
                        x_label="x", y_label="y")  # fmt: skip
        canvas = draw_figure(
            figure, suite, [c for c, _ in done], done, NO_PAPER, rooms=rooms(cells[0])
        )
        assert canvas is not None
        (ax,) = canvas.axes
        return {name for name in lines(ax) if "baseline" in name or "supervised" in name}

    assert drawn("knn_top1") == {"trivial baseline (raw pixels)", "supervised accuracy"}
    assert drawn("q_b") == set()
