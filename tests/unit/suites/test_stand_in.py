"""A scale with stand-ins of metrics: figures show those, tables both."""

from bench.suites.figure import Quantity
from bench.suites.load import load_suite
from bench.suites.suite import with_stand_ins
from tests.fakes.paths import SUITES

SUITE = load_suite(SUITES / "dcl-table-1.yaml")


def test_tables_show_both_and_others_stay() -> None:
    shown = [(t.metric, t.title) for t in with_stand_ins(SUITE, "cpu").tables]
    assert ("warped_knn_top1", "kNN top-1 (%), warped test digits") in shown
    assert ("knn_top1", "kNN top-1 (%)") in shown
    assert [metric for metric, _ in shown].count("q_b") == 1


def test_figures_draw_it_and_print_the_papers_metric() -> None:
    (linear, knn, gain, few) = with_stand_ins(SUITE, "cpu").figures
    assert (linear.y, linear.artifact_metric) == ("warped_linear_top1", "linear_top1")
    assert (knn.y, knn.artifact_metric) == ("warped_knn_top1", "knn_top1")
    assert gain.y == "warped_linear_top1"
    assert few.y == "warped_few_shot_linear_top1"
    assert few.title == f"{SUITE.figures[3].title}, warped test digits"


def test_quantities_beside_are_replaced_too() -> None:
    beside = Quantity(y="linear_top1", y_label="linear")
    figure = SUITE.figures[1].model_copy(update={"y": "q_b", "panels": None, "beside": [beside]})
    changed = SUITE.model_copy(update={"figures": [figure]})
    (shown,) = with_stand_ins(changed, "cpu").figures
    assert [q.y for q in shown.quantities] == ["q_b", "warped_linear_top1"]


def test_a_scale_that_says_nothing_reads_what_the_suite_names() -> None:
    assert with_stand_ins(SUITE, "paper") is SUITE
    assert with_stand_ins(SUITE, "cifar") is SUITE


def test_a_figure_over_training_draws_the_papers_metric_and_says_so() -> None:
    suite = load_suite(SUITES / "dcl-figure-4.yaml")
    (before,) = (figure for figure in suite.figures if figure.name == "knn-while-training")
    shown = {figure.name: figure for figure in with_stand_ins(suite, "cpu").figures}
    assert shown[before.name].y == before.y == "knn_top1"
    assert shown[before.name].title == f"{before.title}, plain test images"
