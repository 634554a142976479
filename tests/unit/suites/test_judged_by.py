"""A scale that judges by other metrics: checks and figures read those, tables both."""

from typing import Any

from bench.suites.judged_by import as_judged
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

SUITE = load_suite(SUITES / "dcl-table-1.yaml")


def metrics_of(checks: Any) -> list[str]:
    return [check.metric for check in checks]


def test_checks_read_the_metric_that_has_room() -> None:
    judged = as_judged(SUITE, "cpu")
    before = metrics_of(SUITE.claims["small-batch-cifar-stl10"])
    after = metrics_of(judged.claims["small-batch-cifar-stl10"])
    assert after == [f"warped_{name}" for name in before]
    for old, new in zip(SUITE.claims.values(), judged.claims.values(), strict=True):
        for a, b in zip(old, new, strict=True):
            assert a.model_dump(exclude={"metric"}) == b.model_dump(exclude={"metric"})


def test_tables_show_both_and_others_stay() -> None:
    shown = [(t.metric, t.title) for t in as_judged(SUITE, "cpu").tables]
    assert ("warped_knn_top1", "kNN top-1 (%), warped test digits") in shown
    assert ("knn_top1", "kNN top-1 (%)") in shown
    assert [metric for metric, _ in shown].count("q_b") == 1


def test_figures_draw_it_without_printed_values() -> None:
    (knn, few) = as_judged(SUITE, "cpu").figures
    assert (knn.y, knn.artifact) == ("warped_knn_top1", None)
    assert few.y == "warped_few_shot_linear_top1"
    assert few.title == f"{SUITE.figures[1].title}, warped test digits"


def test_a_scale_that_says_nothing_reads_what_the_suite_names() -> None:
    assert as_judged(SUITE, "paper") is SUITE
    assert as_judged(SUITE, "cifar") is SUITE
