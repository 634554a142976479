"""The table of spreads: what is known of a metric beforehand."""

from pathlib import Path

import pytest

from bench.analysis.measured import Measured
from bench.analysis.spread import read_spread, spread_of
from bench.cells.baseline import without_baselines
from bench.errors import PublishedError
from bench.results.reader import Finished
from bench.suites.checks import Exceeds
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

PATH = SUITES / "dcl-table-1.yaml"


def test_what_is_not_in_the_table_is_not_known() -> None:
    assert spread_of("pretrain", "paper", "linear_top1") is None
    assert spread_of("supervised", "cpu", "linear_top1") is None
    known = spread_of("pretrain", "cpu", "linear_top1")
    assert known is not None
    assert known.how == "pooled"
    paired = spread_of("pretrain", "cpu", "q_b")
    assert paired is not None
    assert paired.how == "paired"


def test_a_table_that_says_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "spread.yaml"
    path.write_text("- {experiment: a, scale: b, metrics: [m], how: guessed, why: w}\n")
    with pytest.raises(PublishedError) as error:
        read_spread(path)
    assert str(error.value) == f"{path}: 0.how: found 'guessed', expected 'paired' or 'pooled'."


def test_runs_of_one_loss_share_a_variance_over_the_batch_sizes() -> None:
    cells = without_baselines(expand(load_suite(PATH), "cpu", PATH))
    wide = {"dcl": 1.0, "infonce": 3.0}
    done = [
        (c, Finished({"linear_top1": 90 + wide[c.settings["loss"]] * (c.seed - 2)}, {}))
        for c in cells
    ]
    measured = Measured("cpu", cells, done)
    check = Exceeds(check="exceeds", metric="linear_top1", where={"loss": "dcl"}, than={})
    pools = measured.pools(check, cells)
    # Seeds 0 to 4 have the variance 2.5 at each of five batch sizes: 20 degrees of freedom.
    assert sorted((round(v.value, 9), v.freedom) for v in pools.values()) == [(2.5, 20), (22.5, 20)]
    assert Measured("paper", cells, done).pools(check, cells) == {}
