"""Tables of effects: what stands in which column, and what of an artifact is shown."""

from dataclasses import replace
from typing import Any

from bench.report.effects import artifact_effects, effects_table
from bench.report.formats import to_csv, to_latex, to_markdown
from tests.fakes.effects import accuracy, effects, of_artifact


def knn(cell: Any) -> dict[str, float]:
    return {"knn_top1": accuracy(cell), "warped_knn_top1": accuracy(cell)}


def texts(rows: Any, column: str) -> list[str]:
    table = effects_table(rows)
    assert table is not None
    at = table.heads.index(column)
    return [row[at].text for row in table.rows]


def test_a_row_stands_alone() -> None:
    rows = of_artifact(effects("dcl-table-1", "cifar", knn), "table-1-cifar10", "knn_top1")
    table = effects_table(rows)
    assert table is not None
    assert table.title == (
        "dcl/table-1-cifar10: effect of loss DCL over InfoNCE on kNN top-1 (%), scale cifar"
    )
    assert table.heads == [
        "batch_size", "published", "measured [95 % interval]", "seeds", "minimum detectable",
        "verdict",
    ]  # fmt: skip
    assert [entry.text for entry in table.rows[0]] == [
        "32", "+4.8", "+4.00 [+3.53, +4.47]", "5", "0.64", "smaller"
    ]  # fmt: skip
    published, measured = table.rows[0][1:3]
    assert published.row == "dcl/table-1-cifar10, row 11 less dcl/table-1-cifar10, row 1"
    assert measured.cells == rows[0].cells
    assert table.numeric == [True, True, True, True, True, False]


def test_scales_of_one_effect_stand_together_and_say_what_stands_in() -> None:
    def partly(cell: Any) -> dict[str, float] | None:
        return knn(cell) if cell.batch_size < 256 else None

    rows = [*effects("dcl-table-1", "cifar", partly), *effects("dcl-table-1", "cpu", partly)]
    own = of_artifact(rows, "table-1-cifar10", "knn_top1")
    words = "kNN top-1 on warped images instead of kNN top-1; dataset digits instead of cifar10"
    assert texts(own, "batch_size") == ["16", "32", "32", "64", "64", "128", "128", "256", "512"]
    assert texts(own, "scale") == ["cpu", *["cifar", "cpu"] * 3, "", ""]
    assert texts(own, "replaced at this scale")[:3] == [
        words, "", words,
    ]  # fmt: skip
    assert texts(own, "verdict")[-2:] == ["not measured"] * 2
    assert texts(own, "measured [95 % interval]")[-2:] == [""] * 2


def test_several_metrics_and_contrasts_have_columns() -> None:
    made = {"linear_top1": 60.0, "knn_top1": 50.0}
    rows = of_artifact(effects("dcl-table-1", "cifar", lambda _: made), "table-1-cifar10")
    assert texts(rows, "metric") == ["kNN top-1 (%)"] * 5 + ["linear top-1 (%)"] * 5
    rows = of_artifact(effects("unigrad-table-2", "paper", lambda _: made), "table-2")
    assert texts(rows, "effect")[0] == "method MoCo over UniGrad"


def test_nothing_is_shown_of_what_is_not_measured() -> None:
    rows = effects("dcl-table-1", "gpu", knn)
    assert list(artifact_effects(rows)) == ["table-1-cifar10", "text-4.2-gains-batch32-cifar"]
    assert artifact_effects(effects("dcl-table-1", "gpu", lambda _: None)) == {}
    assert effects_table([]) is None


def test_measured_effects_have_two_decimals_or_the_papers() -> None:
    rows = effects("dual-temperature-table-2", "cpu", lambda c: {"test_top1": 1.0 * c.seed})
    assert texts(of_artifact(rows, "table-2", "test_top1"), "published")[0] == "+6.36"
    measured = texts(of_artifact(rows, "table-2", "test_top1"), "measured [95 % interval]")
    assert measured[0] == "+0.00 [-2.84, +2.84]"


def test_a_single_run_shows_no_interval() -> None:
    rows = effects("dcl-table-1", "cifar", lambda c: knn(c) if c.seed == 0 else None)
    own = of_artifact(rows, "table-1-cifar10", "knn_top1")
    assert texts(own, "measured [95 % interval]")[0] == "+3.20"
    assert (texts(own, "seeds")[0], texts(own, "minimum detectable")[0]) == ("1", "")
    assert texts(own, "verdict")[0] == "one seed"


def test_all_formats_take_the_table() -> None:
    table = effects_table(of_artifact(effects("dcl-table-1", "cifar", knn), "table-1-cifar10"))
    assert table is not None
    assert "| kNN top-1 (%) | 32 | +4.8 | +4.00 [+3.53, +4.47] | 5 |" in to_markdown(table)
    assert 'kNN top-1 (%),32,+4.8,"+4.00 [+3.53, +4.47]",5,' in to_csv(table)
    text = to_latex(table)
    assert "\nmetric & batch size & published & measured {[}95 \\% interval{]} & " in text
    assert "kNN top-1 (\\%) & 32 & +4.8 & +4.00 {[}+3.53, +4.47{]} & 5 &" in text
    assert "\\caption{DCL, Table 1 CIFAR-10: effect of loss DCL over InfoNCE, scale cifar}" in text
    assert text.count("\\addlinespace") == 1
    alone = to_latex(replace(table, rows=[table.rows[0], table.rows[5]]))
    assert "\\addlinespace" not in alone  # groups of one row each


def test_why_nothing_can_be_told_stands_beside_it() -> None:
    rows = of_artifact(effects("dcl-table-1", "cifar", knn), "table-1-cifar10", "knn_top1")
    table = effects_table(
        [replace(row, why="the headroom is too small") for row in rows[:2]] + rows[2:]
    )
    assert table is not None
    at = table.heads.index("verdict")
    assert [row[at].text for row in table.rows[:3]] == [
        "cannot tell: the headroom is too small",
        "cannot tell: the headroom is too small",
        "smaller",
    ]
