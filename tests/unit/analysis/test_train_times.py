"""Times of trainings from provenance: on one kind of machine, and in one go, or none at all."""

from typing import Any

import pytest

from bench.analysis.train_times import train_times
from bench.results.reader import Finished

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
