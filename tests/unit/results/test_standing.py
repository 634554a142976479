"""How far a cell has come, read from its history and its checkpoint."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from bench.cells.finetune import FineTune
from bench.results.folder import CellFolder
from bench.results.standing import TAIL_BYTES, Standing, standing_of
from bench.results.store import Store
from tests.fakes.cells import small_cell
from tests.fakes.results import cells_of
from tests.fakes.suites import SUITE, to_yaml

CELL = small_cell(epochs=30)


def record(folder: CellFolder, *lines: dict[str, Any], torn: str = "") -> None:
    folder.path.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    folder.history_file.write_text(text + torn)


@pytest.fixture
def trained(tmp_path: Path) -> CellFolder:
    assert CELL.training_id is not None
    return CellFolder(tmp_path / "trained" / CELL.training_id)


def test_nothing_is_known_before_the_first_epoch(tmp_path: Path) -> None:
    found = standing_of(Store(tmp_path), CELL)
    assert found == Standing(of=30)
    assert (found.share, found.resumes_at) == (None, None)


def test_the_last_whole_line_counts_and_the_last_accuracy(
    tmp_path: Path, trained: CellFolder
) -> None:
    record(
        trained,
        {"step": 6, "epoch": 1, "train_loss": 3.0, "knn_top1": 50.0},
        {"step": 12, "epoch": 2, "train_loss": 2.5, "knn_top1": 60.0},
        {"step": 18, "epoch": 3, "train_loss": 2.0},
        torn='{"step": 24, "epo',
    )
    found = standing_of(Store(tmp_path), CELL)
    told = (found.step, found.epoch, found.loss, found.accuracy, found.accuracy_of)
    assert told == (18, 3, 2.0, 60.0, "knn_top1")
    assert found.share == pytest.approx(0.1)
    assert found.resumes_at is None


def test_a_checkpoint_says_where_it_would_go_on(tmp_path: Path, trained: CellFolder) -> None:
    record(trained, {"step": 12, "epoch": 2})
    trained.checkpoint_file.write_bytes(b"x")
    trained.note_step(15)
    os.utime(trained.checkpoint_file, (0, time.time() - 100))
    found = standing_of(Store(tmp_path), CELL)
    assert (found.checkpoint_step, found.resumes_at) == (15, 2.5)
    assert found.checkpoint_age_s == pytest.approx(100, abs=10)


def test_a_finished_training_leaves_its_evaluations(tmp_path: Path, trained: CellFolder) -> None:
    record(trained, {"step": 180, "epoch": 30})
    trained.summary_file.write_text("{}")
    found = standing_of(Store(tmp_path), CELL)
    assert (found.is_trained, found.share) == (True, 1.0)


def test_a_cell_without_epochs_counts_steps(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(to_yaml(SUITE))
    cell, store = cells_of(path, "tiny")[0], Store(tmp_path)
    record(store.folder(cell), {"step": 25, "loss": 1.5})
    found = standing_of(store, cell)
    assert (found.step, found.epoch, found.of, found.loss) == (25, None, 100, 1.5)
    assert found.share == 0.25


def test_of_a_long_history_the_end_alone_is_read(tmp_path: Path, trained: CellFolder) -> None:
    lines = [{"step": i, "epoch": i, "train_loss": 1.0} for i in range(1, 2000)]
    record(trained, *lines)
    assert trained.history_file.stat().st_size > 4 * TAIL_BYTES
    assert standing_of(Store(tmp_path), CELL).epoch == 1999


def test_a_pipe_is_not_waited_for(tmp_path: Path, trained: CellFolder) -> None:
    trained.path.mkdir(parents=True)
    os.mkfifo(trained.history_file)
    assert standing_of(Store(tmp_path), CELL) == Standing(of=30)


@pytest.mark.parametrize("line", ["[1]\n", "nonsense\n", '{"step": "a"}\n', "\n"])
def test_what_is_no_record_is_passed_over(tmp_path: Path, trained: CellFolder, line: str) -> None:
    record(trained, {"step": 6, "epoch": 1}, torn=line)
    assert standing_of(Store(tmp_path), CELL).epoch == 1


def test_a_tuning_goes_on_in_its_own_folder(tmp_path: Path, trained: CellFolder) -> None:
    protocol = {
        "experiment": "finetune", "label_fraction": 0.1, "tune_views": "affine", "tune_epochs": 8,
        "tune_batch_size": 16, "tune_optimizer": "sgd", "tune_lr": 0.1,
        "tune_lr_schedule": "cosine",
    }  # fmt: skip
    own = CELL.model_dump(exclude={"experiment", "version"})
    cell = FineTune.model_validate(own | protocol)
    record(trained, {"step": 90, "epoch": 15})
    assert standing_of(Store(tmp_path), cell).share == pytest.approx(0.5)
    trained.summary_file.write_text("{}")
    record(Store(tmp_path).folder(cell), {"step": 2, "epoch": 2})
    found = standing_of(Store(tmp_path), cell)
    assert (found.epoch, found.of, found.share) == (2, 8, 0.25)
    scratch = FineTune.model_validate(own | protocol | {"start": "scratch"})
    assert standing_of(Store(tmp_path), scratch).of == 8
