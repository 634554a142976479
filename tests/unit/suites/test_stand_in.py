"""A scale with stand-ins of metrics: figures show those, tables both."""

from bench.suites.load import load_suite
from bench.suites.stand_in import with_stand_ins
from tests.fakes.paths import SUITES

SUITE = load_suite(SUITES / "dcl-table-1.yaml")


def test_tables_show_both_and_others_stay() -> None:
    shown = [(t.metric, t.title) for t in with_stand_ins(SUITE, "cpu").tables]
    assert ("warped_knn_top1", "kNN top-1 (%), warped test digits") in shown
    assert ("knn_top1", "kNN top-1 (%)") in shown
    assert [metric for metric, _ in shown].count("q_b") == 1


def test_figures_draw_it_without_printed_values() -> None:
    (knn, few) = with_stand_ins(SUITE, "cpu").figures
    assert (knn.y, knn.artifact) == ("warped_knn_top1", None)
    assert few.y == "warped_few_shot_linear_top1"
    assert few.title == f"{SUITE.figures[1].title}, warped test digits"


def test_a_scale_that_says_nothing_reads_what_the_suite_names() -> None:
    assert with_stand_ins(SUITE, "paper") is SUITE
    assert with_stand_ins(SUITE, "cifar") is SUITE
