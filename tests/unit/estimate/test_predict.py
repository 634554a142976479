"""Predicted times on made results: which cells count, and what of a time is whose."""

from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.estimate.history import Machine, Timing, finished_timings, timing_of, write_probe
from bench.estimate.predict import NO_CELL, CellPrediction, Prediction, predict, total_s, wall_s
from bench.files.atomic import write_whole
from bench.results.provenance import flatten, processor
from bench.results.store import Store
from tests.fakes.cells import small_cell
from tests.fakes.timings import finish
from tests.fakes.toys import toy


def predicted(store: Store, *cells: Cell, slots: int = 1) -> Prediction:
    return predict(cells, store.states(cells), store, [None] * slots)


def seconds(prediction: Prediction) -> list[Any]:
    found = [prediction.seconds(e) for e in prediction.estimates]
    return [None if s is None else pytest.approx(s, rel=0.15) for s in found]


def test_the_nearest_cells_count(tmp_path: Path) -> None:
    """Equal ones but for the seed, else its kind; of another kind nothing is known."""
    store = Store(tmp_path)
    finish(store, toy(K=16), wall_s=16.0)
    (far,) = predicted(store, toy(K=32)).estimates
    assert (far.source, far.message, far.is_near) == ("unknown", NO_CELL, False)
    assert (far.own_s, far.peak_memory_gb) == (None, None)
    finish(store, toy(K=32, mi_true=4.0), wall_s=3.0)
    (kind,) = predicted(store, toy(K=32)).estimates
    assert (kind.message, kind.is_near) == ("1 finished cell", True)
    assert kind.own_s == pytest.approx(3.0)
    assert kind.peak_memory_gb == 0.5
    for seed, took_s in ((5, 4.0), (6, 5.0), (7, 90.0)):
        finish(store, toy(K=32, seed=seed), wall_s=took_s)
    (equal,) = predicted(store, toy(K=32)).estimates
    assert equal.message == "3 finished cells"
    assert equal.own_s == pytest.approx(5.0)


def test_a_longer_cell_takes_longer(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(steps=100), wall_s=3.0)
    assert seconds(predicted(store, toy(steps=3000))) == [90.0]


def test_a_network_that_never_ran_is_unknown(tmp_path: Path) -> None:
    """So is another width; of more epochs the time grows and the memory stays."""
    store = Store(tmp_path)
    for seed in range(3):
        finish_encoder(store, small_cell(seed=seed), training_s=8.0, evaluation_s=1.0)
    cells = [small_cell(arch="resnet18", stem="cifar"), small_cell(width=8), small_cell(epochs=20)]
    prediction = predicted(store, *cells)
    assert [e.message for e in prediction.estimates] == [
        NO_CELL, NO_CELL, "3 finished cells",
    ]  # fmt: skip
    assert seconds(prediction) == [None, None, 81.0]
    assert [e.peak_memory_gb for e in prediction.estimates] == [None, None, 0.5]
    record = prediction.record()
    assert (record["core_s"], record["cells_unknown"]) == (None, 2)
    assert record["known"]["core_s"] == pytest.approx(81.0)


def test_a_witness_that_never_ran_is_unknown(tmp_path: Path) -> None:
    """A perceptron over all pairs takes several times as long as a dot product."""
    store = Store(tmp_path)
    finish_encoder(store, small_cell(), training_s=8.0, evaluation_s=1.0)
    (other,) = predicted(store, small_cell(witness="mlp-1")).estimates
    assert other.message == NO_CELL
    assert other.cell.kind.endswith("witness mlp-1")


def test_another_machine_is_told_and_comes_after_this_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(seed=1), wall_s=9.0, machine={"processor": "Abacus"})
    (estimate,) = predicted(store, toy()).estimates
    assert (estimate.source, estimate.message) == (
        "finished", "1 finished cell on a different machine (Abacus)",
    )  # fmt: skip
    finish(store, toy(seed=2), wall_s=2.0)
    assert seconds(predicted(store, toy())) == [2.0]
    finish(store, toy(seed=3), wall_s=1.0, device="cuda")  # no slot of this kind
    assert seconds(predicted(store, toy())) == [2.0]


def probe(root: Path, cell: Cell) -> None:
    write_probe(root, Timing(cell, None, 4.0, 0.3, None, "cpu", processor(), is_probe=True))


def test_a_probe_tells_the_time_until_a_cell_of_its_kind_has_finished(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(K=16), wall_s=5.0)
    probe(tmp_path, toy())
    prediction = predicted(store, toy())
    assert (seconds(prediction), prediction.estimates[0].message) == ([4.0], "probe")
    for seed in range(10):
        finish(store, toy(seed=seed, mi_true=6.0), wall_s=2.0)
    assert seconds(predicted(store, toy())) == [2.0]


def test_a_probe_of_another_form_is_passed_over(tmp_path: Path) -> None:
    probe(tmp_path, toy())
    (written,) = (tmp_path / "probes").iterdir()
    written.write_bytes(written.read_bytes().replace(b'"steps"', b'"strides"'))
    write_whole(tmp_path / "probes" / "old.json", b'{"kind": "gaussian-mi", "own_s": 1.0}')
    assert predicted(Store(tmp_path), toy()).estimates[0].source == "unknown"


def test_nothing_known_is_unknown_and_done_is_free(tmp_path: Path) -> None:
    store = Store(tmp_path)
    prediction = predicted(store, toy())
    assert (prediction.core_s, prediction.estimates[0].source) == (None, "unknown")
    assert prediction.estimates[0].message == NO_CELL
    assert prediction.record()["by_kind"][0]["core_s"] is None
    finish(store, toy(), wall_s=3.0)
    prediction = predicted(store, toy(), toy(seed=1))
    assert [e.source for e in prediction.estimates] == ["done", "finished"]
    assert prediction.core_s == pytest.approx(3.0, rel=0.01)


def test_exported_tables_tell_their_times(tmp_path: Path) -> None:
    results = Path(__file__).parents[3] / "results" / "reference"
    store = Store(tmp_path, have=[results])
    trained = (cell for cell in _finished_in(results) if cell.training_id)
    kind = {"dataset": "cifar10", "width": 16, "epochs": 5}  # minutes; wider ones take longer
    first = next(cell for cell in trained if kind.items() <= cell.known.items())
    other = first.model_copy(update={"seed": 77})
    (estimate,) = predicted(store, other).estimates
    assert estimate.source == "finished"
    assert 60 < (estimate.shared_s or 0) < 600


def _finished_in(results: Path) -> list[Cell]:
    timings = finished_timings("pretrain", Store(results))
    trained = [t.cell for t in timings if t.shared_s and t.own_s]  # others took a training
    assert len(trained) > len(timings) / 2
    return trained


def test_of_gpus_only_the_same_one_tells_times(tmp_path: Path) -> None:
    store, cells = Store(tmp_path), [small_cell()]
    times: dict[str, Any] = {"training_s": 80.0, "evaluation_s": 5.0, "device": "cuda"}
    finish_encoder(store, small_cell(seed=1), **times, device_name="A", device_peak_gb=3.0)

    def on(gpu: str) -> Prediction:
        machine = Machine("cuda", gpu)
        return predict(cells, store.states(cells), store, ["0"], machine=machine)

    assert on("B").estimates[0].source == "unknown"
    record = on("A").record()
    assert (record["gpu_hours"], record["gpus"]) == (pytest.approx(85 / 3600, abs=1e-4), 1)
    assert record["device_peak_gb"] == 3.0


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
    timing = timing_of(small_cell(), flatten(origin))
    assert (timing.shared_s, timing.own_s) == (10.0, own_s)
    assert timing_of(small_cell(), flatten(origin), resumed=True).shared_s is None


def finish_encoder(
    store: Store, cell: Pretrain, training_s: float, evaluation_s: float, **origin: Any
) -> None:
    trained = {"began": 0.0, "wall_s": training_s}
    finish(store, cell, wall_s=training_s + evaluation_s, trained=trained, **origin)
    write_whole(store.root / "trained" / cell.training_id / "summary.json", b"{}")


def test_cells_of_one_training_cost_one_and_none_where_it_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path)
    done = small_cell(seed=1, knn_k=5)
    finish_encoder(store, done, training_s=8.0, evaluation_s=1.0)
    ask = [small_cell(knn_k=3), small_cell(knn_k=7), small_cell(seed=1, knn_k=7)]
    prediction = predicted(store, *ask, slots=2)
    assert ask[0].training_id == ask[1].training_id
    assert seconds(prediction) == [5.0, 5.0, 1.0]
    record = prediction.record()
    assert record["core_s"] == pytest.approx(11, rel=0.1)
    assert record["wall_s"] == pytest.approx(10, rel=0.1)  # two that share are one unit
    assert record["by_kind"][0]["cells"] == 3


def test_an_evaluation_is_predicted_from_those_like_it(tmp_path: Path) -> None:
    """That of a linear classifier takes ten times as long."""
    store = Store(tmp_path)
    for seed, linear, own_s in ((1, None, 1.0), (2, "openselfsup", 10.0)):
        cell = small_cell(seed=seed, linear=linear, knn_k=3)
        finish_encoder(store, cell, training_s=8.0, evaluation_s=own_s)
    cells = [small_cell(linear=linear) for linear in (None, "openselfsup")]
    found = [estimate.own_s for estimate in predicted(store, *cells).estimates]
    assert found == pytest.approx([1.0, 10.0], rel=0.1)


def test_processor_time_counts_where_it_is_known(tmp_path: Path) -> None:
    """A cell on a busy machine: 30 s on the wall, 10 s of the processor, 8 of them training."""
    origin = {
        "wall_s": 30.0, "cpu_s": 10.0, "began": 100.0, "attempt": 1, "stack": 1,
        "trained": {"began": 101.0, "wall_s": 24.0, "cpu_s": 8.0},
    }  # fmt: skip
    timing = timing_of(small_cell(), flatten(origin))
    assert (timing.shared_s, timing.own_s) == (8.0, 2.0)
    del origin["trained"]["cpu_s"]  # type: ignore[attr-defined]
    timing = timing_of(small_cell(), flatten(origin))
    assert (timing.shared_s, timing.own_s) == (24.0, 6.0)


def test_ranks_tell_nothing_of_one_worker() -> None:
    origin = {"wall_s": 3.0, "attempt": 1, "began": 0.0, "ranks": 4}
    assert timing_of(toy(), origin).own_s is None


def test_a_single_cell_takes_its_time_however_many_workers(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(seed=1), wall_s=6.0)
    estimates = predicted(store, toy()).estimates
    assert wall_s(estimates, 4) == pytest.approx(6.0, rel=0.01)
    assert total_s(estimates) == pytest.approx(6.0, rel=0.01)


def test_a_resumed_training_is_known_by_its_attempts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell = small_cell(seed=1)
    finish_encoder(store, cell, training_s=8.0, evaluation_s=1.0)
    write_whole(tmp_path / "trained" / cell.training_id / "attempts" / "0002.json", b"{}")
    assert predicted(store, small_cell()).estimates[0].source == "unknown"
    finish_encoder(store, small_cell(seed=2), training_s=4.0, evaluation_s=1.0)
    (estimate,) = predicted(store, small_cell()).estimates
    assert isinstance(estimate, CellPrediction)
    assert estimate.shared_s == pytest.approx(4.0, rel=0.1)
