"""One number per seed, and how far seeds spread."""

from pathlib import Path
from typing import Any

import pytest

from bench.analysis.measured import Measured, read_spread, spread_of, train_times
from bench.cells.baseline import without_baselines
from bench.errors import PublishedError
from bench.results.reader import Finished
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
    pools = measured.noise("linear_top1", cells).pools
    # Seeds 0 to 4 have the variance 2.5 at each of five batch sizes: 20 degrees of freedom.
    assert sorted((round(v.value, 9), v.freedom) for v in pools.values()) == [(2.5, 20), (22.5, 20)]
    assert Measured("paper", cells, done).noise("linear_top1", cells).pools == {}


ORIGIN: dict[str, Any] = {
    "trained.wall_s": 7200.0, "trained.resumed_at": 0, "trained.machine.processor": "a",
    "trained.device": "cpu",
}  # fmt: skip


def kept(**changes: Any) -> Finished:
    named = {f"trained.{name}": value for name, value in changes.items()}
    return Finished({}, ORIGIN | named)


def test_differences_are_of_ratios() -> None:
    times = train_times({"a": kept(), "b": kept(wall_s=21600.0)})
    assert times["a"] == {"log2_train_hours": 1.0}
    ratio = times["b"]["log2_train_hours"] - times["a"]["log2_train_hours"]
    assert 2**ratio == pytest.approx(3)


@pytest.mark.parametrize("changes", [{"resumed_at": 7}, {"resumed_at": None}, {"wall_s": 0.0}])
def test_a_training_of_unknown_hours_is_left_out(changes: dict[str, Any]) -> None:
    assert train_times({"a": kept(), "b": kept(**changes)}).keys() == {"a"}


@pytest.mark.parametrize("changes", [{"device": "cuda"}, {"ranks": 2}, {"machine.processor": "b"}])
def test_machines_that_differ_tell_nothing(changes: dict[str, Any]) -> None:
    assert train_times({"a": kept(), "b": kept(**changes)}) == {}
