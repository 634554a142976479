"""Predicted times on made results: which cells count, and what of a time is whose."""

from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.estimate.history import timing_of
from bench.estimate.predict import Prediction, predict, total_s, wall_s
from bench.estimate.probe_files import Speed, write_speed
from bench.estimate.rates import Estimate
from bench.files.atomic import write_whole
from bench.results.provenance import processor
from bench.results.store import Store
from tests.fakes.cells import small_cell
from tests.fakes.timings import finish
from tests.fakes.toys import toy


def predicted(store: Store, *cells: Cell, slots: int = 1) -> Prediction:
    return predict(cells, store.states(cells), store, [None] * slots)


def rates(prediction: Prediction) -> list[Any]:
    """Return seconds a million multiply-adds of what is predicted."""
    seconds = [(prediction.seconds(e), e.cell.multiply_adds) for e in prediction.estimates]
    return [None if s is None else pytest.approx(1e6 * s / w) for s, w in seconds]


def test_the_nearest_in_settings_counts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(seed=1, mi_true=4.0), rate=2.0)
    finish(store, toy(K=16), rate=5.0)
    unlike, kind = predicted(store, toy(K=32)), predicted(store, toy())
    assert unlike.estimates[0].message == "finished cells of other sizes"
    assert rates(kind) == [2.0]
    assert kind.estimates[0].message == "finished cells"
    finish(store, toy(seed=7), rate=3.0)  # all but the seed
    assert rates(predicted(store, toy())) == [3.0]
    assert rates(predicted(store, toy(steps=3000))) == [
        pytest.approx(rates_mean(toy(mi_true=4.0), 2.0, toy(), 3.0))
    ]


def rates_mean(a: Cell, rate_a: float, b: Cell, rate_b: float) -> float:
    work = a.multiply_adds + b.multiply_adds
    return (rate_a * a.multiply_adds + rate_b * b.multiply_adds) / work


def test_another_machine_is_told_and_comes_after_this_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(seed=1), rate=9.0, machine={"processor": "Abacus"})
    (estimate,) = predicted(store, toy()).estimates
    assert (estimate.source, estimate.message) == (
        "finished", "finished cells from another machine (Abacus)",
    )  # fmt: skip
    finish(store, toy(seed=2), rate=2.0)
    assert rates(predicted(store, toy())) == [2.0]
    finish(store, toy(seed=3), rate=1.0, device="cuda")  # no slot of this kind
    assert rates(predicted(store, toy())) == [2.0]


def test_a_probe_comes_before_other_kinds_and_after_its_own(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(K=16), rate=5.0)
    write_speed(
        tmp_path,
        Speed(toy().cost_kind, "cpu", processor(), 0.0, 4e-6, 0.3, None, toy().id, 1.0),
    )
    prediction = predicted(store, toy())
    assert (rates(prediction), prediction.estimates[0].source) == ([4.0], "probe")
    finish(store, toy(mi_true=6.0), rate=2.0)
    assert rates(predicted(store, toy())) == [2.0]


def test_nothing_known_is_unknown_and_done_is_free(tmp_path: Path) -> None:
    store = Store(tmp_path)
    prediction = predicted(store, toy())
    assert (prediction.core_s, prediction.estimates[0].source) == (None, "unknown")
    assert prediction.record()["by_kind"][0]["core_s"] is None
    finish(store, toy())
    prediction = predicted(store, toy(), toy(seed=1))
    assert [e.source for e in prediction.estimates] == ["done", "finished"]
    assert prediction.core_s == pytest.approx(1e-6 * toy().multiply_adds)


def test_a_stopped_or_torn_or_foreign_cell_tells_no_time(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(seed=1), attempt=2)
    finish(store, toy(seed=2))
    store.folder(toy(seed=2)).provenance_file.write_text("{")
    finish(store, toy(seed=3))
    store.folder(toy(seed=3)).cell_file.write_text('{"version": 1, "what": "else"}')
    assert predicted(store, toy()).estimates[0].source == "unknown"


def test_a_stack_s_time_is_each_cell_s_share_already() -> None:
    timing = timing_of(toy(), {"wall_s": 3.0, "stack": 10, "attempt": 1, "began": 0.0})
    assert (timing.own_s, timing.shared_s) == (3.0, None)


@pytest.mark.parametrize(
    ("trained_at", "own_s"), [(100.5, 5.0), (10.0, 10.0)], ids=["trained within", "before"]
)
def test_an_evaluation_costs_what_is_left_without_the_training(
    trained_at: float, own_s: float
) -> None:
    """Two cells, 20 s in all; the training of 10 s lies within, or was there before."""
    origin = {
        "wall_s": 10.0, "stack": 2, "began": 100.0, "attempt": 1,
        "trained": {"began": trained_at, "wall_s": 10.0},
    }  # fmt: skip
    timing = timing_of(small_cell(), origin)
    assert (timing.shared_s, timing.own_s) == (10.0, own_s)
    assert timing_of(small_cell(), origin, resumed=True).shared_s is None


def finish_encoder(store: Store, cell: Pretrain, training_s: float, evaluation_s: float) -> None:
    trained = {"began": 0.0, "wall_s": training_s}
    finish(store, cell, wall_s=training_s + evaluation_s, trained=trained)
    write_whole(store.root / "trained" / cell.training_id / "summary.json", b"{}")


def test_cells_of_one_training_cost_one_and_none_where_it_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path)
    done = small_cell(seed=1, knn_k=5)
    finish_encoder(store, done, training_s=8.0, evaluation_s=1.0)
    ask = [small_cell(knn_k=3), small_cell(knn_k=7), small_cell(seed=1, knn_k=7)]
    prediction = predicted(store, *ask, slots=2)
    assert ask[0].training_id == ask[1].training_id
    assert [prediction.seconds(e) for e in prediction.estimates] == [
        pytest.approx(5.0), pytest.approx(5.0), pytest.approx(1.0),
    ]  # fmt: skip
    record = prediction.record()
    assert (record["core_s"], record["wall_s"]) == (11.0, 10.0)  # two that share are one unit
    assert record["by_kind"][0]["cells"] == 3
    assert ask[0].work.shared == ask[0].multiply_adds


def test_an_evaluation_is_predicted_from_those_like_it(tmp_path: Path) -> None:
    """That of a linear classifier takes ten times as long a multiply-add."""
    store = Store(tmp_path)
    for seed, linear, rate in ((1, None, 1e-6), (2, "openselfsup", 1e-5)):
        cell = small_cell(seed=seed, linear=linear, knn_k=3)
        finish_encoder(store, cell, training_s=8.0, evaluation_s=rate * cell.work.own)
    cells = [small_cell(linear=linear) for linear in (None, "openselfsup")]
    own_s = [estimate.own_s for estimate in predicted(store, *cells).estimates]
    assert own_s == pytest.approx([1e-6 * cells[0].work.own, 1e-5 * cells[1].work.own])


def test_memory_is_the_largest_of_the_nearest(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(seed=1), peak_memory_gb=0.7, device_peak_gb=0.2)
    finish(store, toy(seed=2), peak_memory_gb=0.6)
    finish(store, toy(K=16), peak_memory_gb=9.0)
    record = predicted(store, toy()).record()
    assert (record["peak_memory_gb"], record["device_peak_gb"]) == (0.7, 0.2)


def test_a_single_cell_takes_its_time_however_many_workers(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(seed=1), wall_s=6.0)
    estimates = predicted(store, toy()).estimates
    assert wall_s(estimates, 4) == pytest.approx(6.0)
    assert total_s(estimates) == pytest.approx(6.0)


def test_a_resumed_training_is_known_by_its_attempts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell = small_cell(seed=1)
    finish_encoder(store, cell, training_s=8.0, evaluation_s=1.0)
    write_whole(tmp_path / "trained" / cell.training_id / "attempts" / "0002.json", b"{}")
    assert predicted(store, small_cell()).estimates[0].source == "unknown"
    finish_encoder(store, small_cell(seed=2), training_s=4.0, evaluation_s=1.0)
    (estimate,) = predicted(store, small_cell()).estimates
    assert isinstance(estimate, Estimate)
    assert estimate.shared_s == pytest.approx(4.0)
