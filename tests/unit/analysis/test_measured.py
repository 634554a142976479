"""One number per seed, and which cells an interval depends on."""

from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ttest_ind

from bench.analysis.contrasts import difference
from bench.analysis.measured import Measured, is_paired, read_paired, train_times
from bench.cells.baseline import baselines_among, without_baselines
from bench.errors import PublishedError
from bench.results.reader import Finished
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

PATH = SUITES / "dcl-table-1.yaml"


def test_a_metric_is_paired_where_the_table_says_so() -> None:
    on_digits, elsewhere = (expand(load_suite(PATH), scale, PATH) for scale in ("cpu", "paper"))
    trained, others = without_baselines(on_digits), without_baselines(elsewhere)
    assert is_paired("q_b", trained)
    assert not is_paired("linear_top1", trained)
    assert not is_paired("q_b", others)
    assert not is_paired("q_b", [trained[0], others[0]])
    assert not is_paired("q_b", baselines_among(on_digits))


def test_a_table_that_says_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "paired.yaml"
    path.write_text("- {experiment: a, metrics: m, why: w}\n")
    with pytest.raises(PublishedError) as error:
        read_paired(path)
    assert str(error.value) == f"{path}: 0.metrics: found 'm', expected a list."


def test_an_interval_depends_on_the_compared_cells_alone() -> None:
    """Other cells of the suite, with other or equal settings, change nothing."""
    cells = without_baselines(expand(load_suite(PATH), "cpu", PATH))
    done = [(c, Finished({"knn_top1": 50 + int(c.id[:2], 16) / 99}, {})) for c in cells]
    at = [c for c in cells if c.known["batch_size"] == 32]
    sides = [[c for c in at if c.known["loss"] == loss] for loss in ("dcl", "infonce")]
    found = []
    for chosen in (cells, at):
        names = {c.id for c in chosen}
        kept = [(c, result) for c, result in done if c.id in names]
        found.append(difference("knn_top1", [(sides[0], sides[1])], Measured(chosen, kept)))
    assert found[0] == found[1]
    assert found[0] is not None
    mine, theirs = ([dict(done)[c].metrics["knn_top1"] for c in side] for side in sides)
    expected = ttest_ind(mine, theirs, equal_var=False).confidence_interval(0.95)
    told = found[0].interval()
    assert (told.low, told.high) == pytest.approx((expected.low, expected.high))


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
