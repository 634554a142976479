"""Other projects' numbers in figures: open triangles of the figure's own metric and data set."""

import pandas as pd
import pytest

from bench.figures.kinds import Lines
from bench.figures.printed import SOURCE, by_others
from bench.papers.others import others
from bench.papers.reader import load_paper
from bench.suites.load import load_suite
from tests.fakes.made_up import canvas_of, drawn, results_of
from tests.fakes.paths import SUITES

TEMPERATURES = SUITES / "dcl-table-18.yaml"


def test_a_figure_has_the_numbers_of_its_metric_at_their_rows_places() -> None:
    """Each is looked for among all numbers of its source, without the code that compares."""
    suite = load_suite(SUITES / "dcl-table-1.yaml")
    (figure,) = [f for f in suite.figures if f.name == "knn-against-batch-size"]
    points = by_others(figure, suite, load_paper("dcl"))
    assert set(points["dataset"]) == {"cifar10", "cifar100", "imagenet100", "imagenet1k"}
    assert not points.duplicated().any()
    for point in points.to_dict("records"):
        wanted = {"method": "simclr", **{k: point[k] for k in ("loss", "dataset", "batch_size")}}
        alike = [
            row.value
            for row in others()
            if (row.source.id, row.metric) == (point[SOURCE], "knn_top1")
            and wanted.items() <= row.settings.items()
        ]
        assert point["value"] in alike, point


def test_a_number_that_two_artifacts_print_beside_is_drawn_once() -> None:
    """Figure 3(a) and Table 1 both print SimCLR at batch 256."""
    suite = load_suite(SUITES / "dcl-table-1.yaml")
    (figure,) = [f for f in suite.figures if f.name == "linear-against-batch-size"]
    points = by_others(figure, suite, load_paper("dcl"))
    (both,) = [f for f in figure.artifacts if f == "table-1-imagenet1k"]
    alone = by_others(figure.model_copy(update={"artifact": both}), suite, load_paper("dcl"))
    shared = points[points["batch_size"] == 256]
    assert len(shared) == len(alone[alone["batch_size"] == 256]) > 0


def test_triangles_have_the_metric_of_the_printed_points() -> None:
    """Where another metric is drawn in the place of the paper's, both keep the paper's."""
    suite, paper = load_suite(SUITES / "dcl-table-1.yaml"), load_paper("dcl")
    (figure,) = [f for f in suite.figures if f.name == "linear-against-batch-size"]
    stand_in = figure.model_copy(update={"y": "warped_top1", "artifact_metric": figure.y})
    points = by_others(stand_in, suite, paper)
    assert len(points) > 0
    assert points.equals(by_others(figure, suite, paper))


def test_triangles_stand_where_the_paper_prints_and_the_legend_names_their_sources() -> None:
    cells, done = results_of(TEMPERATURES, "cifar")
    canvas = canvas_of(TEMPERATURES, "cifar", "knn-against-tau", cells, done)
    assert canvas is not None
    measured, published = canvas.axes
    assert not [line for line in measured.lines if line.get_marker() == "^"]
    triangles = [line for line in published.lines if line.get_marker() == "^"]
    assert [line.get_markerfacecolor() for line in triangles] == ["none", "none"]
    there = {str(line.get_label()): set(drawn(line, "x")) for line in triangles}
    assert there == {"dcl (by others)": {0.1}, "infonce (by others)": {0.5}}
    colours = {str(line.get_label()): line.get_color() for line in published.lines}
    for loss in ("dcl", "infonce"):
        assert colours[f"{loss} (by others)"] == colours[f"{loss} (published)"]
    title = canvas.legends[0].get_title().get_text().replace("\n", " ")
    assert title.endswith(
        "by others, cifar10: lightly-cifar10-earlier, lightly-cifar10, simclr-leftthomas"
    )


@pytest.mark.parametrize("by", [None, "loss"])
def test_a_line_has_its_own_triangles(by: str | None) -> None:
    from matplotlib.figure import Figure as Canvas

    ax = Canvas().subplots()
    points = pd.DataFrame({"K": [1, 2], "loss": ["dcl", "eqco"], "value": [3.0, 4.0]})
    Lines(x="K", y="value", by=by).draw_others(points, ax)
    told = {str(line.get_label()): drawn(line, "y") for line in ax.lines}
    each = {"dcl (by others)": [3.0], "eqco (by others)": [4.0]}
    assert told == (each if by else {"by others": [3.0, 4.0]})
