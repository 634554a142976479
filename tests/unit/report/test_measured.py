"""Tables of what was measured."""

from bench.cells import CELLS
from bench.report.formats import to_markdown
from bench.report.measured import measured_table
from bench.results.reader import Finished
from bench.suites.suite import MeasuredTable
from tests.fakes.cells import small_cell

ASKED = MeasuredTable(title="kNN", metric="knn_top1", rows=["loss"], columns="batch_size")


def test_a_measured_table_holds_means_and_intervals() -> None:
    """Two seeds: half the 95 % t-interval is 12.706 s / sqrt(2), with s = sqrt(2) here."""
    assert "pretrain" in CELLS
    cells = [
        small_cell(loss=loss, batch_size=size, seed=seed)
        for loss in ("infonce", "dcl")
        for size in (16, 8)
        for seed in (0, 1)
    ]
    done = [
        (c, Finished({"knn_top1": 80.0 + 2 * c.seed + (c.loss == "dcl")}, {}))
        for c in cells
        if (c.loss, c.batch_size) != ("dcl", 16)
    ]
    table = measured_table(ASKED, list(done))
    assert table is not None
    assert table.title == "kNN (mean ± 95 % interval, n = 2)"
    assert to_markdown(table).splitlines() == [
        "| loss | batch_size = 8 | batch_size = 16 |",
        "| --- | ---: | ---: |",
        "| dcl | 82.00 ± 12.71 |  |",
        "| infonce | 81.00 ± 12.71 | 81.00 ± 12.71 |",
    ]


def test_a_gain_stands_beside_what_gains() -> None:
    """81 - 80 at the same batch size; the base itself gains nothing."""
    asked = ASKED.model_copy(update={"baseline": "infonce"})
    cells = [small_cell(loss=loss) for loss in ("infonce", "dcl")]
    done = [(c, Finished({"knn_top1": 80.0 + (c.loss == "dcl")}, {})) for c in cells]
    table = measured_table(asked, list(done))
    assert table is not None
    assert [row[1].text for row in table.rows] == ["81.00 (+1.00)", "80.00"]
    assert [row[1].cells for row in table.rows] == [(cells[1].id,), (cells[0].id,)]


def test_one_seed_has_no_interval_and_no_result_no_table() -> None:
    cell = small_cell()
    table = measured_table(ASKED, [(cell, Finished({"knn_top1": 50.0}, {}))])
    assert table is not None
    assert "| infonce | 50.00 |" in to_markdown(table)
    assert measured_table(ASKED, []) is None
    elsewhere = ASKED.model_copy(update={"where": {"loss": "dcl"}})
    assert measured_table(elsewhere, [(cell, Finished({"knn_top1": 50.0}, {}))]) is None
