"""Figures of gains: their intervals are those of other pages, their places the baseline's means."""

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D
from pydantic import ValidationError

from bench.analysis.contrasts import difference
from bench.analysis.measured import Measured
from bench.analysis.others import seen_by_others
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.figures.gains import Gains
from bench.figures.panels import can_be_drawn, draw_figure
from bench.papers.reader import load_paper
from bench.results.reader import Done, Finished
from bench.suites.expand import expand
from bench.suites.figure import Figure
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

PATH = SUITES / "dcl-table-1.yaml"
SUITE = load_suite(PATH)
FIGURE = next(figure for figure in SUITE.figures if figure.draw == "gains")
CELLS = [cell for cell in expand(SUITE, "cifar", PATH) if isinstance(cell, Pretrain)]


def planted(cell: Cell) -> dict[str, float]:
    """Numbers in which the gain is 3 at batch 32 and 0 elsewhere, with noise."""
    known = cell.known
    gain = 3.0 if known["loss"] == "dcl" and known["batch_size"] == 32 else 0.0
    noise = (cell.seed * 7 + known["batch_size"]) % 5 / 10
    spread = 16 / known["batch_size"] + noise / 100 + (known["loss"] == "dcl")
    return {"linear_top1": 50 + gain + noise, "q_b_cv": spread}


def done(cells: list[Pretrain]) -> Done:
    return [(cell, Finished(planted(cell), {})) for cell in cells]


def test_each_group_is_a_point_with_the_interval_of_every_page() -> None:
    measured = Measured(CELLS, done(CELLS))
    found = {gain.line: gain for gain in Gains.found(FIGURE, measured)}
    assert list(found) == [32, 64, 128, 256, 512]
    for batch, gain in found.items():
        at = [cell for cell in CELLS if cell.batch_size == batch]
        sides = [[c for c in at if c.loss == loss] for loss in ("dcl", "infonce")]
        plain = difference("linear_top1", [(sides[0], sides[1])], measured)
        assert plain is not None
        assert gain.gain == plain.interval()
        assert gain.across.mean == pytest.approx(
            sum(planted(c)["q_b_cv"] for c in sides[1]) / len(sides[1])
        )
    assert found[32].gain.mean == pytest.approx(3.0)


def test_the_figure_has_a_point_for_each_batch_with_both_sides() -> None:
    some = [cell for cell in CELLS if (cell.batch_size, cell.loss) != (64, "dcl")]
    canvas = draw_figure(FIGURE, SUITE, CELLS, done(some), load_paper("dcl"))
    assert canvas is not None
    drawn = [c for c in canvas.axes[0].containers if isinstance(c, ErrorbarContainer)]
    assert sorted(str(c.get_label()) for c in drawn) == sorted(
        f"batch_size = {n}" for n in (32, 128, 256, 512)
    )


def test_without_the_baseline_nothing_is_drawn() -> None:
    some = [cell for cell in CELLS if cell.loss == "dcl"]
    assert not can_be_drawn(FIGURE, CELLS, done(some))
    assert draw_figure(FIGURE, SUITE, CELLS, done(some), load_paper("dcl")) is None


def test_a_figure_of_gains_names_its_baseline() -> None:
    with pytest.raises(ValidationError, match="kind of figure 'gains' needs the key `baseline`"):
        Figure.model_validate(FIGURE.model_dump() | {"baseline": {}})
    with pytest.raises(
        ValidationError,
        match="baseline: this key can be used only if `draw` is gains, found 'points'",
    ):
        Figure.model_validate(FIGURE.model_dump() | {"draw": "points"})


MAP_PATH = SUITES / "map-dcl.yaml"
MAP = load_suite(MAP_PATH)
AGAINST_TAU, AGAINST_Q_B = MAP.figures
MAP_CELLS = [cell for cell in expand(MAP, "cpu", MAP_PATH) if isinstance(cell, Pretrain)]


def of_map(cell: Cell) -> Finished:
    """Numbers of a cell: DCL gains 10 times the temperature, at whatever learning rate."""
    known = cell.known
    gain = 10 * known["tau"] if known["loss"] == "dcl" else 0.0
    return Finished({"knn_top1": 70 + gain + cell.seed / 10, "q_b_cv": 1 / known["tau"]}, {})


def test_each_side_has_its_own_learning_rate() -> None:
    done_map: Done = [(cell, of_map(cell)) for cell in MAP_CELLS]
    found = Gains.found(AGAINST_Q_B, Measured(MAP_CELLS, done_map))
    points = {cell.but_seed for cell in MAP_CELLS}
    assert len(found) == len(points) / 2
    taus = [1 / gain.across.mean for gain in found]
    assert sorted({round(tau, 2) for tau in taus}) == [0.03, 0.07, 0.2, 0.5]
    assert [gain.gain.mean for gain in found] == pytest.approx([10 * tau for tau in taus])
    assert {gain.line for gain in found} == {"sgd", "muon", "adam"}


def test_along_a_setting_published_effects_and_others_stand_beside_gains() -> None:
    done_map: Done = [(cell, of_map(cell)) for cell in MAP_CELLS]
    canvas = draw_figure(AGAINST_TAU, MAP, MAP_CELLS, done_map, load_paper("dcl"))
    assert canvas is not None
    panels = {ax.get_title(): ax for ax in canvas.axes}
    assert list(panels) == ["batch_size = 32", "batch_size = 256"]
    for ax in panels.values():
        lines = [bar.lines[0] for bar in ax.containers if isinstance(bar, ErrorbarContainer)]
        assert len(lines) == 2  # optimisers
        for line in lines:
            assert np.asarray(line.get_xdata()).tolist() == [0.03, 0.07, 0.2, 0.5]
            assert np.asarray(line.get_ydata()) == pytest.approx([0.3, 0.7, 2.0, 5.0])
    published = [
        sorted(float(np.asarray(line.get_ydata())[0]) for line in ax.lines if "publ" in of(line))
        for ax in panels.values()
    ]
    assert published == [[1.7, 4.8, 7.9], [4.1]]
    assert "published (cifar10, kNN accuracy): +4.8" in map(of, panels["batch_size = 32"].lines)
    (others,) = (line for line in panels["batch_size = 32"].lines if "by others" in of(line))
    assert of(others) == "by others (linear accuracy)"
    rows = seen_by_others(SUITE, "small-batch-cifar-stl10").effects
    effects = [e for e, answer in rows if answer and e.at.get("batch_size", 32) == 32]
    assert sorted(np.asarray(others.get_ydata())) == sorted(e.value for e in effects)
    assert set(np.asarray(others.get_xdata())) == {e.rows[0].settings["tau"] for e in effects}
    shapes = {of(line): line.get_marker() for ax in panels.values() for line in ax.lines}
    assert {name: shape for name, shape in shapes.items() if "by others" in name} == {
        "by others (linear accuracy)": "^",
        "by others (kNN accuracy)": "v",
    }


def of(line: Line2D) -> str:
    return str(line.get_label())
