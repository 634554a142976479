"""Tables of what was measured."""

from typing import Any

import pytest

from bench.cells import CELLS
from bench.report.formats import to_markdown
from bench.report.measured import Found, best_lines, measured_table, own_tables
from bench.results.reader import Finished
from bench.suites.load import load_suite
from bench.suites.suite import MeasuredTable
from tests.fakes.cells import small_cell
from tests.fakes.paths import SUITES

ASKED = MeasuredTable(title="kNN", metric="knn_top1", rows=["loss"], columns="batch_size")


def test_a_measured_table_holds_means_and_intervals() -> None:
    """Three seeds at 80, 82, 84: half the 95 % t-interval is 4.303 s / sqrt(3), with s = 2."""
    assert "pretrain" in CELLS
    cells = [
        small_cell(loss=loss, batch_size=size, seed=seed)
        for loss in ("infonce", "dcl")
        for size in (16, 8)
        for seed in (0, 1, 2)
    ]
    done = [
        (c, Finished({"knn_top1": 80.0 + 2 * c.seed + (c.loss == "dcl")}, {}))
        for c in cells
        if (c.loss, c.batch_size) != ("dcl", 16)
    ]
    table = measured_table(ASKED, list(done))
    assert table is not None
    assert table.title == "kNN (mean ± 95 % interval, n = 3)"
    assert to_markdown(table).splitlines() == [
        "| loss | batch_size = 8 | batch_size = 16 |",
        "| --- | ---: | ---: |",
        "| dcl | 83.00 ± 4.97 |  |",
        "| infonce | 82.00 ± 4.97 | 82.00 ± 4.97 |",
    ]


def test_two_seeds_make_no_interval_but_a_range() -> None:
    done = [(c, Finished({"knn_top1": 90.0 + 8 * c.seed}, {})) for c in map(_of_seed, (0, 1))]
    table = measured_table(ASKED, list(done))
    assert table is not None
    assert table.title == "kNN (mean [lowest to highest], n = 2)"
    assert table.rows[0][1].text == "94.00 [90.00 to 98.00]"


def _of_seed(seed: int) -> Any:
    return small_cell(seed=seed)


def test_a_gain_stands_beside_what_gains() -> None:
    """81 - 80 at the same batch size; the base itself gains nothing."""
    asked = ASKED.model_copy(update={"baseline": "infonce"})
    cells = [small_cell(loss=loss) for loss in ("infonce", "dcl")]
    done = [(c, Finished({"knn_top1": 80.0 + (c.loss == "dcl")}, {})) for c in cells]
    table = measured_table(asked, list(done))
    assert table is not None
    assert [row[1].text for row in table.rows] == ["81.00 (+1.00)", "80.00"]
    assert table.notes == [
        "numbers in parentheses: difference from infonce ± half of the 95 % interval"
    ]
    assert [row[1].cells for row in table.rows] == [(cells[1].id,), (cells[0].id,)]


def test_one_seed_has_no_interval_and_no_result_no_table() -> None:
    cell = small_cell()
    table = measured_table(ASKED, [(cell, Finished({"knn_top1": 50.0}, {}))])
    assert table is not None
    assert "| infonce | 50.00 |" in to_markdown(table)
    assert measured_table(ASKED, []) is None
    elsewhere = ASKED.model_copy(update={"where": {"loss": "dcl"}})
    assert measured_table(elsewhere, [(cell, Finished({"knn_top1": 50.0}, {}))]) is None


def test_a_mean_is_over_seeds_alone() -> None:
    """A setting that the file does not name gets a column; one that follows gets none."""
    settings = [("infonce", 0.1, 2), ("infonce", 0.2, 2), ("dcl", 0.1, 3), ("dcl", 0.2, 3)]
    cells = [
        small_cell(loss=loss, tau=tau, epochs=epochs, seed=seed)
        for loss, tau, epochs in settings
        for seed in (0, 1, 2)
    ]
    asked = ASKED.model_copy(update={"columns": None, "where": {"experiment": "pretrain"}})
    suite = load_suite(SUITES / "dcl-table-16.yaml")
    (table,) = own_tables(suite.model_copy(update={"tables": [asked]}), cells)
    assert table.rows == ["loss", "tau"]
    done = [(c, Finished({"knn_top1": 100 * c.settings["tau"] + c.seed}, {})) for c in cells]
    shown = measured_table(table, list(done))
    assert shown is not None
    assert [entry.text for entry in shown.rows[0]] == ["dcl", "0.1", "11.00 ± 2.48"]
    assert len(shown.rows) == 4
    nothing = asked.model_copy(update={"where": {"experiment": "speech"}})
    suite = suite.model_copy(update={"tables": [nothing]})
    assert own_tables(suite, cells) == [nothing]


def test_the_lower_end_is_the_one_that_the_table_shows() -> None:
    """Of two seeds the lower; of three the end of the interval, which lies below all of them."""
    assert Found([], [71.5, 76.3], []).low == 71.5
    assert Found([], [70.0, 71.0, 72.0], []).low == pytest.approx(71 - 4.303 / 3**0.5, abs=1e-3)


def test_a_map_says_where_each_row_is_best() -> None:
    """A row has one line, whatever other settings go with the column's values."""
    tops = {("dcl", 0.1): 50, ("dcl", 0.2): 70, ("dcl", 0.5): 60, ("infonce", 0.1): 80}
    cells = [
        small_cell(loss=loss, tau=tau, epochs=2 + (tau == 0.2), seed=seed)
        for loss, tau in tops
        for seed in (0, 1, 2)
    ]
    done = [
        (c, Finished({"knn_top1": tops[c.loss, c.settings["tau"]] + 2.0 * c.seed}, {}))
        for c in cells
    ]
    asked = ASKED.model_copy(update={"columns": "tau"})
    suite = load_suite(SUITES / "map-temperature.yaml").model_copy(update={"tables": [asked]})
    assert best_lines(suite, list(done)) == [
        "dcl: best kNN accuracy at tau 0.2, 72.0 [67.0, 77.0] % (best of 3 values)"
    ]
    assert best_lines(suite.model_copy(update={"paper": "dcl"}), list(done)) == []
