"""Every figure of the papers that has data is drawn by a suite, in the paper's form, legibly."""

from collections import defaultdict
from itertools import combinations
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.cells.baseline import without_baselines
from bench.figures.frames import chosen_by
from bench.figures.layout import make_plain
from bench.papers.reader import PAPERS, load_paper
from bench.suites.expand import expand
from bench.suites.figure import Figure, Series
from bench.suites.load import load_suite, suite_paths
from tests.fakes.made_up import canvas_of, results_of, rooms_of
from tests.fakes.paths import SUITES

SCHEMATICS = {("dcl", "figure-2"), ("mutual-information", "figure-3"), ("unigrad", "figure-1")}
NN = "knn_top1"
# Each figure of a paper: the suite and the figures that draw it, and of each what it draws (draw),
# its quantities, x, what tells lines and panels apart.
DRAWN: dict[tuple[str, str], tuple[str, dict[str, tuple[Any, ...]]]] = {
    ("eqco", "figure-1"): ("eqco-figure-1", {
        "mi-over-training": ("history", ["mi_lower_bound"], "epoch", ["K"], ["loss"]),
    }),
    ("eqco", "figure-2"): ("eqco-figure-2", {
        "linear-against-k": ("lines", ["linear_top1"], "K", ["loss", "alpha"], ["method"]),
    }),
    ("eqco", "figure-3"): ("eqco-figure-3", {
        "linear-against-k": ("lines", ["linear_top1"], "K", ["loss", "alpha"], []),
    }),
    ("eqco", "figure-4"): ("eqco-figure-4", {
        "gradient-norm-over-training": ("history", ["grad_norm_q"], "epoch", ["K"], ["loss"]),
    }),
    ("dual-temperature", "figure-1"): ("dual-temperature-figure-1", {
        "knn-against-k": ("lines", [NN], "K", ["method"], []),
    }),
    ("dual-temperature", "main-figure-2"): ("dual-temperature-main-figure-2", {
        "linear-against-the-dictionaries": ("lines", ["linear_top1"], "K", [], []),
    }),
    ("dual-temperature", "figure-2"): ("dual-temperature-figure-2", {
        "weight-similarity-against-keys": (
            "lines", ["weight_similarity"], "weights_K", ["method"], [],
        ),
    }),
    ("mutual-information", "figure-1"): ("mutual-information-figure-1", {
        "nn-while-training": ("history", [NN], "epoch", ["views"], ["method"]),
    }),
    ("mutual-information", "figure-2"): ("mutual-information-figure-2", {
        "original-against-infonce": (
            "history", [NN], "epoch", ["method", "normaliser"], ["dataset"],
        ),
        "bank-rates": ("history", [NN], "epoch", ["bank_rate"], ["method", "dataset"]),
    }),
    ("mutual-information", "figure-4"): ("mutual-information-figure-4", {
        "nn-against-mi": ("points", [NN], "mi_lower_bound", ["views"], []),
        "nn-against-mi-by-kind": ("points", [NN], "mi_lower_bound", ["view_strength"], ["views"]),
    }),
    ("mutual-information", "figure-5"): ("mutual-information-figure-5", {
        "nn-while-training": ("history", [NN], "epoch", ["views"], ["method"]),
    }),
    ("mutual-information", "figure-6"): ("mutual-information-figure-6", {
        "accuracy-against-eta": ("lines", ["linear_top1"], "eta", ["source"], []),
        "loss-over-training": ("history", ["loss"], "step", ["eta"], ["source"]),
        "inputs": ("scatter", ["points"], "label", [], ["eta"]),
        "representation-bank": ("scatter", ["representation"], "label", [], ["eta"]),
    }),
    ("mutual-information", "figure-7"): ("mutual-information-figure-7", {
        "witness": ("history", [NN], "epoch", ["witness"], ["dataset"]),
        "original-against-infonce": ("history", [NN], "epoch", ["method"], ["dataset"]),
        "bank-rates": ("history", [NN], "epoch", ["bank_rate"], ["method", "dataset"]),
    }),
    ("mutual-information", "figure-8"): ("mutual-information-figure-8", {
        "ir-family": ("history", [NN], "epoch", ["method"], ["dataset"]),
        "cmc-family": ("history", [NN], "epoch", ["method"], ["dataset"]),
    }),
    ("mutual-information", "figure-9"): ("mutual-information-figure-9", {
        "nn-against-k": ("lines", [NN], "K", ["ball_share"], ["uniform_epochs"]),
    }),
    ("mutual-information", "figure-10"): ("mutual-information-figure-10", {
        "nn-over-training": ("history", [NN], "epoch", ["tau"], ["dataset"]),
        "nn-against-tau": ("lines", [NN], "tau", [], ["dataset"]),
    }),
    ("unigrad", "figure-2"): ("unigrad-figure-2", {
        "trajectories": (
            "history",
            ["positive_similarity", "negative_similarity", NN, "principal_component_ratio"],
            "epoch", ["method"], [],
        ),
    }),
    ("dcl", "figure-1a"): ("dcl-figure-1", {
        "q-b-against-batch-size": ("lines", ["q_b", "q_b_cv"], "batch_size", [], []),
    }),
    ("dcl", "figure-1b"): ("dcl-figure-1", {
        "q-b-distribution": ("distribution", ["q_b_histogram"], "unit", ["batch_size"], []),
    }),
    ("dcl", "figure-3a"): ("dcl-table-1", {
        "linear-against-batch-size": (
            "lines", ["linear_top1"], "batch_size", ["loss"], ["dataset"],
        ),
    }),
    ("dcl", "figure-3b"): ("dcl-figure-3b", {
        "linear-against-k": ("lines", ["linear_top1"], "K", ["loss"], []),
    }),
    ("dcl", "figure-4a"): ("dcl-figure-4", {
        "knn-while-training": ("history", [NN], "epoch", ["loss"], ["dataset"]),
    }),
    ("dcl", "figure-4b"): ("dcl-figure-4", {
        "knn-while-training": ("history", [NN], "epoch", ["loss"], ["dataset"]),
    }),
    ("dcl", "figure-4c"): ("dcl-figure-4c", {
        "tsne": ("scatter", ["tsne"], "label", [], ["loss"]),
    }),
    ("dcl", "figure-5a"): ("dcl-figure-5", {
        "c-v-against-batch-size": (
            "lines", ["grad_norm_last_block_cv", "grad_norm_block_before_cv"], "batch_size",
            ["loss"], [],
        ),
    }),
    ("dcl", "figure-5b"): ("dcl-figure-5", {
        "gradient-norm-against-batch-size": (
            "lines", ["grad_norm_last_block", "grad_norm_block_before"], "batch_size", ["loss"], [],
        ),
    }),
}  # fmt: skip
PATHS = suite_paths(SUITES)


def figures_of(suite: str) -> dict[str, Figure]:
    return {figure.name: figure for figure in load_suite(PATHS[suite]).figures}


def test_every_figure_with_data_has_a_suite() -> None:
    known = {(paper, figure) for paper in PAPERS for figure in load_paper(paper).figures}
    assert set(DRAWN) == known - SCHEMATICS
    assert len(DRAWN) == 26


@pytest.mark.parametrize("of", DRAWN, ids="/".join)
def test_it_is_drawn_in_the_papers_form(of: tuple[str, str]) -> None:
    suite, pictures = DRAWN[of]
    assert of[1] in load_suite(PATHS[suite]).reproduces
    for name, form in pictures.items():
        f = figures_of(suite)[name]
        quantities = [q.y for q in f.quantities]
        assert (f.draw, quantities, f.x, f.line_names, f.panel_names) == form


PICTURES = sorted({(suite, name) for suite, pictures in DRAWN.values() for name in pictures})


def is_drawn_in(ax: Axes) -> bool:
    return bool(ax.lines or ax.containers or ax.patches or ax.collections)


def overlapping(boxes: list[Any]) -> bool:
    return any(a.overlaps(b) for a, b in combinations(boxes, 2))


def texts_of(ax: Axes) -> list[Any]:
    """Return where the texts around a panel stand."""
    texts = [ax.title, ax.xaxis.label, ax.yaxis.label]
    return [text.get_window_extent() for text in texts if text.get_text()]


def faults_of(canvas: Canvas) -> list[str]:
    """Return what a reader could not read: empty panels, texts that touch or leave the canvas."""
    make_plain(canvas)
    canvas.draw_without_rendering()
    found = ["an empty panel"] if not all(map(is_drawn_in, canvas.axes)) else []
    for ax in canvas.axes:
        for axis in (ax.xaxis, ax.yaxis):
            shown = [t for t in axis.get_ticklabels() if t.get_text() and t.get_visible()]
            turned = any(t.get_rotation() for t in shown)
            if not turned and overlapping([t.get_window_extent() for t in shown]):
                found.append(f"ticks of {ax.get_title() or 'a panel'} touch")
        for legend in canvas.legends:
            if legend.get_window_extent().overlaps(ax.get_window_extent()):
                found.append(f"the legend covers {ax.get_title() or 'a panel'}")
    texts = [box for ax in canvas.axes for box in texts_of(ax)]
    texts += [legend.get_window_extent() for legend in canvas.legends]
    if overlapping(texts):
        found.append("texts touch")
    width, height = canvas.get_size_inches() * canvas.dpi
    if any(b.x0 < 0 or b.y0 < 0 or b.x1 > width or b.y1 > height for b in texts):
        found.append("a text leaves the canvas")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "name"), PICTURES)
def test_it_is_legible(suite: str, name: str) -> None:
    """At the paper's scale and at every other, with numbers made up."""
    path = PATHS[suite]
    for scale in load_suite(path).scales:
        canvas = canvas_of(path, scale, name, *results_of(path, scale), rooms=rooms_of(path, scale))
        if canvas is None:  # on digits, which are grey, nor in four core-minutes
            assert (scale in ("cpu", "cifar"), name) == (True, "cmc-family")
            continue
        assert faults_of(canvas) == [], scale


def merged_by(figure: Figure, cells: Any) -> set[str]:
    """Return the settings in which cells differ that one point or line of a figure averages."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    within = chosen_by(figure, cells)
    lines: list[Series | None] = [*figure.series] or [None]
    for line in lines:
        picks, x = (
            (within, figure.x) if line is None else (chosen_by(line, cells), line.x or figure.x)
        )
        names = [*figure.line_names, *figure.panel_names, *([x] if figure.draw == "lines" else [])]
        for cell in cells:
            known = {name: getattr(cell, name, None) for name in names}
            there = figure.y in cell.metrics and (figure.draw != "lines" or known[x] is not None)
            if within(cell) and picks(cell) and (there or figure.draw != "lines"):
                groups[(line.label if line else "", *known.values())].append(cell)
    return {
        name
        for group in groups.values()
        for name in group[0].settings
        if len({cell.id for cell in group}) > 1
        and len({str(cell.settings.get(name)) for cell in group}) > 1
    }


@pytest.mark.slow
@pytest.mark.parametrize("suite", PATHS)
def test_a_line_averages_over_seeds_alone(suite: str) -> None:
    """At every scale; points are each a cell's own, and gains those of a group of cells."""
    loaded = load_suite(PATHS[suite])
    for scale in loaded.scales if loaded.figures else ():
        cells = without_baselines(expand(loaded, scale, PATHS[suite], seeds=[0]))
        for figure in loaded.figures:
            if figure.draw not in ("points", "gains"):
                assert merged_by(figure, cells) == set(), (scale, figure.name)
