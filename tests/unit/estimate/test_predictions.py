"""The benchmark of predictions, on results whose times are planted."""

from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.estimate.history import Timing, finished_timings
from bench.results.store import Store
from benchmarks.predictions import broken, errors_of, rows, spreads, table, timings_of
from tests.fakes.cells import small_cell
from tests.fakes.paths import ROOT
from tests.fakes.timings import finish
from tests.fakes.toys import toy

SCALES = {small_cell(batch_size=b, seed=s).id: "smoke" for b in (8, 16, 32) for s in range(3)}


def took(cell: Cell, noise: float = 0.0) -> dict[str, Any]:
    """Return what a cell took: 0.1 s a step, and evaluations of 2 s; some seeds longer."""
    training_s = 0.1 * 2 * 96 / cell.settings["batch_size"]
    factor = 1 + noise * cell.seed
    trained = {"began": 0.0, "wall_s": factor * training_s}
    return {"wall_s": factor * (training_s + 2.0), "trained": trained}


def planted(root: Path, noise: float = 0.0) -> list[Timing]:
    store = Store(root)
    for batch_size in (8, 16, 32):
        for seed in range(3):
            cell = small_cell(batch_size=batch_size, seed=seed)
            finish(store, cell, **took(cell, noise))
    return timings_of([root, root])


def test_planted_times_are_predicted(tmp_path: Path) -> None:
    found = list(rows(planted(tmp_path, noise=0.001), SCALES))
    (row,) = found
    assert (row.scale, row.experiment, row.cells, row.unknown) == ("smoke", "pretrain", 9, 0)
    assert max(map(abs, row.spread)) < 0.01
    assert max(map(abs, row.errors)) < 0.01
    assert broken(found) == []
    assert table(found).splitlines()[-1].startswith("| all |  | 9 | 0% | ")


def test_the_spread_of_equal_cells_is_told(tmp_path: Path) -> None:
    """Seeds took 1, 1.5 and 2 times as long: 0, 33 % and 33 % off their median."""
    found = spreads(planted(tmp_path, noise=0.5)).values()
    assert sorted(round(abs(e), 2) for e in found) == [0.0] * 3 + [0.29] * 3 + [0.41] * 3


def test_a_cell_does_not_predict_itself_nor_does_its_stack(tmp_path: Path) -> None:
    """Two cells of one stack took 40 s each, those of another 2 s: neither is near itself.

    Of a cell that is alone of its kind nothing is known.
    """
    store = Store(tmp_path)
    for seed, wall_s in ((0, 40.0), (1, 40.0), (2, 2.0), (3, 2.0)):
        finish(store, toy(seed=seed), wall_s=wall_s, stack=2)
    finish(store, toy(K=16), wall_s=9.0)
    (row,) = rows(timings_of([tmp_path]), {})
    assert min(map(abs, row.errors)) > 2
    assert (len(row.errors), row.unknown) == (4, 1)


def test_a_promise_that_is_broken_is_told(tmp_path: Path) -> None:
    found = [row._replace(errors=[0.5]) for row in rows(planted(tmp_path), {})]
    assert broken(found) == ["- pretrain: error 65%, promised 25%"]


def test_a_training_that_is_not_known_is_no_measure(tmp_path: Path) -> None:
    cell = small_cell()
    finish(Store(tmp_path), cell, **took(cell) | {"attempt": 2})
    finish(Store(tmp_path), toy(), wall_s=3.0)
    assert len(timings_of([tmp_path])) == 2
    (tmp_path / "trained" / cell.training_id / "attempts").mkdir(parents=True)
    (tmp_path / "trained" / cell.training_id / "attempts" / "0002.json").write_text("{}")
    assert [t.cell for t in timings_of([tmp_path])] == [toy()]


def test_every_cell_has_an_answer(tmp_path: Path) -> None:
    timings = planted(tmp_path)
    assert set(errors_of(timings)) == {t.cell.id for t in timings}


def test_the_reference_results_are_predicted_as_promised() -> None:
    """Of some experiments; `python -m benchmarks.predictions` takes all."""
    store, asked = Store(ROOT / "results" / "reference"), ("gaussian-mi", "supervised")
    timings = [t for name in asked for t in finished_timings(name, store)]
    found = list(rows(timings, {}))
    assert [row.experiment for row in found] == list(asked)
    assert all(row.errors for row in found)
    assert broken(found) == []
