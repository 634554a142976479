"""Tables in the paper's layout, numbers with their digits."""

import pytest

from bench.analysis.verdicts import Verdict
from bench.report.tables import MARKS, entry, make_tables, number, summary_line, to_markdown
from tests.analysis.test_compare import compared, printed_value


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (1.7, 1, "1.7"),
        (1.70, 2, "1.70"),
        (0.0239, 6, "0.0239"),
        (1.97e-6, 8, "1.97e-06"),
        (0.0, 8, "0"),
        (-0.0123, 7, "-0.0123"),
    ],
)
def test_numbers(value: float, decimals: int, text: str) -> None:
    assert number(value, decimals) == text


def test_the_papers_layout() -> None:
    rows = compared(
        "eqco-table-9", "quick", lambda c: {"mi_lower_bound": printed_value(c) + c.seed / 50}, 2
    )
    from bench.config.suite import Layout

    (table,) = make_tables(rows, {"table-9": Layout(rows=["loss", "K"], columns="mi_true")})
    assert table.title == "eqco/table-9"
    assert table.heads == ["loss", "K", *(f"mi_true = {mi}" for mi in (2, 4, 6, 8, 10))]
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        (loss, k) for loss in ("infonce", "eqco") for k in ("64", "128", "256", "512")
    ]
    first = table.rows[0][2]
    assert (first.text, first.verdict) == ("1.71 ± 0.13 [1.7] =", Verdict.REPRODUCED)
    assert table.rows[2][2].text == "[1.9] -"
    markdown = to_markdown(table).splitlines()
    assert markdown[0].startswith("| loss | K | mi_true = 2 |")
    assert markdown[2].startswith("| infonce | 64 | 1.71 ± 0.13 [1.7] = |")


def test_without_a_layout_every_setting_is_a_column() -> None:
    rows = compared("eqco-table-9", "quick", lambda c: {"mi_lower_bound": printed_value(c)}, 2)
    (table,) = make_tables(rows, {"table-9": None})
    assert table.heads == ["mi_true", "loss", "K", "alpha", "mi_lower_bound"]
    assert len(table.rows) == 40


def test_drops_stand_apart_from_the_values_they_are_made_of() -> None:
    """Figure 3 (b) prints accuracies and drops of the same metric."""
    rows = compared("dcl-figure-3b", "paper", lambda c: {"linear_top1": float(c.K == 65536)}, 2)
    values, drops = make_tables(rows, {"figure-3b": None})
    assert values.title == "dcl/figure-3b, linear_top1"
    assert drops.title == "dcl/figure-3b, gain over K 256 of linear_top1"
    assert [len(values.rows), len(drops.rows)] == [2, 2]
    assert {row[-1].text.split(" ")[0] for row in drops.rows} == {"1.00"}


def test_summary_counts_and_distances() -> None:
    rows = compared(
        "eqco-table-9", "quick", lambda c: {"mi_lower_bound": printed_value(c) + 0.05}, 2
    )
    assert summary_line(rows) == (
        "16 reproduced, 24 missing; |measured - published|: mean 0.05, largest 0.05"
    )


def test_every_verdict_has_its_own_mark() -> None:
    assert set(MARKS) == set(Verdict)
    assert len(set(MARKS.values())) == len(MARKS)


def test_a_single_run_shows_no_interval() -> None:
    rows = compared("eqco-table-9", "quick", lambda _: {"mi_lower_bound": 2.0}, 1)
    assert entry(rows[0]).text == "2.00 [1.7] 1"
