"""Figures of what others wrote: arrays of other shapes, text that is no mathematics."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure as Canvas

from bench.figures.kinds import Lines
from bench.figures.layout import save
from bench.figures.panels import can_be_drawn, draw_figure
from bench.papers.reader import load_paper
from bench.results.reader import Finished
from bench.suites.expand import expand
from bench.suites.figure import Figure
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES


def with_arrays(**arrays: Any) -> Finished:
    return Finished({}, {}, read_arrays=lambda: arrays)


ODD: dict[str, dict[str, Any]] = {
    "one number": {"y": np.array(1.0), "x": np.array(1)},
    "nothing": {"y": np.zeros((0, 2)), "x": np.zeros(0)},
    "a line": {"y": np.zeros(4), "x": np.zeros(4)},
    "three axes": {"y": np.zeros((4, 3)), "x": np.zeros(4)},
    "other labels": {"y": np.zeros((4, 2)), "x": np.zeros(3)},
    "labels in a table": {"y": np.zeros((4, 2)), "x": np.zeros((4, 1))},
    "complex": {"y": np.zeros((4, 2), complex), "x": np.zeros(4)},
    "a class a point": {"y": np.zeros((101, 2)), "x": np.arange(101)},
}


@pytest.mark.parametrize("name", ODD)
def test_arrays_of_another_shape_are_not_drawn(name: str) -> None:
    """An archive from anywhere may hold them."""
    path = SUITES / "mutual-information-figure-6.yaml"
    suite, odd = load_suite(path), ODD[name]
    figure = next(f for f in suite.figures if f.draw == "scatter")
    cells = expand(suite, "smoke", path)
    done = [(c, with_arrays(**{figure.y: odd["y"], figure.x: odd["x"]})) for c in cells]
    assert not can_be_drawn(figure, cells, done)
    assert draw_figure(figure, suite, cells, done, load_paper("mutual-information")) is None


def test_distributions_of_other_bins_are_left_out() -> None:
    path = SUITES / "dcl-figure-1.yaml"
    suite = load_suite(path)
    figure = next(f for f in suite.figures if f.draw == "distribution")
    cells = expand(suite, "smoke", path)
    done = [(c, with_arrays(**{figure.y: np.array([1.0, 0.0])})) for c in cells]
    whole = draw_figure(figure, suite, cells, done, load_paper("dcl"))
    for shares in (np.zeros(3), np.zeros((2, 2)), np.zeros(0), np.zeros(2, complex)):
        done[0] = (cells[0], with_arrays(**{figure.y: shares}))
        assert can_be_drawn(figure, cells, done)
        canvas = draw_figure(figure, suite, cells, done, load_paper("dcl"))
        assert outlines(canvas) == outlines(whole)


def outlines(canvas: Canvas | None) -> list[list[float]]:
    assert canvas is not None
    return [patch.get_data().values.tolist() for patch in canvas.axes[0].patches]  # type: ignore[attr-defined]


HOSTILE = r"$\input{x}$ </svg>" + "\x01[/b]"
SHOWN = r"$\input{x}$ </svg>\x01[/b]"


def texts_of(file: Path) -> list[str]:
    tags = [tag for tag in ElementTree.parse(file).iter() if tag.tag.endswith("}text")]
    return ["".join(tag.itertext()) for tag in tags]


@pytest.mark.parametrize("log_y", [False, True])
def test_text_of_a_figure_is_plain(tmp_path: Path, log_y: bool) -> None:
    """Neither is it read as mathematics, nor does it end the file's own words."""
    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    words = {"x_label": HOSTILE, "y_label": HOSTILE, "log_y": log_y}
    figure: Figure = suite.figures[0].model_copy(update=words)
    cells = expand(suite, "quick", path)
    done = [(c, Finished({"mi_lower_bound": 10.0 ** (c.seed + 1)}, {})) for c in cells]
    canvas = draw_figure(figure, suite, cells, done, load_paper("eqco"))
    assert canvas is not None
    (file,) = save(canvas, tmp_path / "x", ["svg"])
    texts = texts_of(file)
    assert SHOWN in texts
    assert not any("input" in text and text != SHOWN for text in texts)
    assert not any("mathdefault" in text for text in texts)


@pytest.mark.parametrize(("name", "shown"), [("$a_$", "$a_$"), ("_hidden", "method = _hidden")])
def test_a_word_of_a_setting_is_plain_too(tmp_path: Path, name: str, shown: str) -> None:
    frame = pd.DataFrame({"K": [1, 2], "y": [0.0, 1.0], "method": [name] * 2})
    canvas = Canvas()
    canvas.subplots()
    Lines(x="K", y="y", by="method").draw(frame, canvas.axes[0]).legend()
    (file,) = save(canvas, tmp_path / "x", ["svg"])
    assert shown in texts_of(file)
