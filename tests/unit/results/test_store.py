"""Folders, states, histories and exported tables."""

import errno
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from bench.cells.cell import identity
from bench.errors import StoreError
from bench.files.atomic import read_json, write_new, write_whole
from bench.results.attempts import all_attempts, begin_attempt
from bench.results.export_tables import export_cells
from bench.results.inspect import inspect
from bench.results.owner import Owner
from bench.results.reader import Results
from bench.results.records import sealed
from bench.results.store import State, Store
from tests.fakes.processes import dead_owner
from tests.fakes.results import states
from tests.fakes.toys import make_cells


def test_the_life_of_a_cell(tmp_path: Path) -> None:
    store, cells = Store(tmp_path), make_cells(6)
    folders = [store.folder(cell) for cell in cells]
    me = Owner.me()
    folders[0].finish({"m": 1.5}, {}, {})
    folders[1].claim(cells[1], me, "x")
    failed = folders[2].claim(cells[2], me, "x")
    assert failed is not None
    failed.end("failed", "diverged", "step 3: loss is nan")
    folders[3].claim(cells[3], dead_owner(), "x")
    with store.announce(cells[3:5], retry_before=0.0):
        assert states(store, cells) == ["done", "running", "failed", "queued", "queued", "missing"]
    assert states(store, cells) == ["done", "running", "failed", "missing", "missing", "missing"]
    told = store.states(cells)[2]
    assert (told.reason, told.message, told.attempts) == (
        "diverged",
        "step 3: loss is nan",
        1,
    )


def test_a_retried_failure_waits_in_the_queue(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    attempt = store.folder(cell).claim(cell, Owner.me(), "x")
    assert attempt is not None
    attempt.end("failed", "code", "no")
    with store.announce([cell], retry_before=time.time()) as launch:
        assert states(store, [cell]) == ["queued"]
        again = store.folder(cell).claim(cell, Owner.me(), "y", retry_before=launch.retry_before)
        assert again is not None
        again.end("failed", "code", "no again")
        assert states(store, [cell]) == ["failed"]


def test_a_result_of_an_earlier_version_is_stale(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    newer = cell.model_copy(update={"version": 2})
    assert newer.former_ids == [cell.id]
    store.folder(cell).finish({"m": 1.0}, {}, {})
    assert states(store, [newer]) == ["stale"]
    assert newer.id == identity(newer.model_dump(mode="json"))


def test_a_dead_launch_queues_nothing(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    record = {"owner": dead_owner().record(), "cells": [cell.id], "retry_before": 0.0}
    write_whole(store.launches / "dead.json", json.dumps(record).encode())
    assert states(store, [cell]) == ["missing"]
    with store.announce([cell], retry_before=0.0):
        assert not (store.launches / "dead.json").exists()


def test_claiming_clears_half_written_files(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    folder = store.folder(cell)
    folder.path.mkdir(parents=True)
    (folder.path / ".summary.json.0123").write_text("{")
    assert folder.claim(cell, Owner.me(), "x") is not None
    assert sorted(os.listdir(folder.path)) == ["attempts", "cell.json"]
    assert read_json(folder.cell_file) == cell.model_dump(mode="json")


def test_a_done_cell_is_not_claimed(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    store.folder(cell).finish({"m": 1.0}, {}, {})
    assert store.folder(cell).claim(cell, Owner.me(), "x") is None


def test_history_survives_a_torn_line_and_rewinds(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    folder = store.folder(cell)
    folder.path.mkdir(parents=True)
    for step in (1, 2, 3):
        folder.append_history({"step": step, "loss": step / 3})
    with folder.history_file.open("a") as file:
        file.write('{"loss": 1.3, "st')
    assert [line["step"] for line in folder.history()] == [1, 2, 3]
    folder.rewind_history(2)
    folder.append_history({"step": 3, "loss": 1.0})
    text = folder.history_file.read_text()
    assert text.endswith('{"loss": 0.6666666666666666, "step": 2}\n{"loss": 1.0, "step": 3}\n')


def test_arrays_are_the_same_bytes_twice(tmp_path: Path) -> None:
    store, (one, other) = Store(tmp_path), make_cells(2)
    arrays = {"a": np.arange(6.0).reshape(2, 3)}
    store.folder(one).finish({}, arrays, {})
    time.sleep(2.1)  # zip files keep times in steps of two seconds
    store.folder(other).finish({}, arrays, {})
    read = [store.folder(cell).arrays_file.read_bytes() for cell in (one, other)]
    assert read[0] == read[1]
    assert (store.folder(one).arrays()["a"] == arrays["a"]).all()


def test_write_new_does_not_overwrite(tmp_path: Path) -> None:
    assert write_new(tmp_path / "x", b"one")
    assert not write_new(tmp_path / "x", b"two")
    assert (tmp_path / "x").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["x"]


def test_torn_json_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(StoreError, match=r"x\.json: the file cannot be read"):
        read_json(tmp_path / "x.json")


def test_a_results_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"results cannot be written here \(Not a directory\)"):
        Store(tmp_path / "file" / "results").check_writable()


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(source), None, str(target))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(
        StoreError, match=r"does not support hard links.* choose a folder on a disk"
    ):
        Store(tmp_path).check_writable()
    assert os.listdir(tmp_path) == []


def test_an_export_reads_back_as_the_folders_do(tmp_path: Path) -> None:
    store, cells = Store(tmp_path / "results"), make_cells(3)
    for i, cell in enumerate(cells[:2]):
        folder = store.folder(cell)
        folder.path.mkdir(parents=True)
        folder.append_history({"step": 1, "q_b": i / 7, "loss": i / 8})
        folder.finish(
            {"m": 0.1 + i}, {}, {"code": {"commit": "abc", "dirty": False}, "wall_s": 1.5}
        )
    assert export_cells(cells[:1], store, tmp_path / "out") == 1
    assert export_cells(cells, store, tmp_path / "out") == 2
    direct, exported = Results(tmp_path / "results"), Results(tmp_path / "out")
    for cell in cells[:2]:
        one, other = exported.find(cell), direct.find(cell)
        assert one is not None
        assert other is not None
        assert (one.metrics, one.provenance) == (other.metrics, other.provenance)
        assert (one.history, one.arrays) == (other.history, other.arrays)
    assert exported.find(cells[2]) is direct.find(cells[2]) is None
    found = exported.find(cells[1])
    assert found is not None
    assert found.provenance == {"code.commit": "abc", "code.dirty": False, "wall_s": 1.5}


def test_a_foreign_csv_is_told(tmp_path: Path) -> None:
    (tmp_path / "gradient-norm.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StoreError, match="has no column 'cell', so it is not an exported table"):
        Results(tmp_path).find(make_cells(1)[0])


def test_a_failure_that_a_host_ahead_noted_is_tried_again_once(tmp_path: Path) -> None:
    """Its time is an hour after that of who asks for another try."""
    store, (cell,) = Store(tmp_path), make_cells(1)
    folder = store.folder(cell)
    attempt = begin_attempt(folder.attempts, Owner.me(), "a")
    assert attempt is not None
    late = {"state": "failed", "ended": time.time() + 3600, "reason": "code", "message": "no"}
    write_whole(attempt.path, sealed(attempt.record | late))
    retry_before = store.retry_from_now([cell])
    with store.announce([cell], retry_before=retry_before):
        assert store.states([cell])[0].state == State.QUEUED
        again = begin_attempt(folder.attempts, Owner.me(), "b", retry_before=retry_before)
        assert again is not None
        again.end("failed", "code", "ValueError: no")
        assert store.states([cell])[0].state == State.FAILED
        assert begin_attempt(folder.attempts, Owner.me(), "b", retry_before=retry_before) is None
    first = all_attempts(folder.attempts)[0].record
    assert (first["message"], first["ended"] < retry_before) == ("no", True)


def test_stray_files_and_folders_are_passed_over_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, cells = Store(tmp_path), make_cells(4)
    for cell in cells[1:]:
        store.folder(cell).path.mkdir(parents=True)
    a_file, attempts, notebook, fine = (store.folder(cell) for cell in cells)
    a_file.path.write_text("mine")
    attempts.attempts.write_text("mine")
    (notebook.path / ".ipynb_checkpoints").mkdir()
    fine.finish({"m": 1.0}, {}, {})
    assert states(store, cells) == ["missing", "missing", "missing", "done"]
    assert [cell for cell, _ in Results(tmp_path).finished(cells)] == cells[3:]
    (tmp_path / "detection").write_text("mine")
    strays = [a_file.path, attempts.attempts, notebook.path / ".ipynb_checkpoints"]
    strays.append(tmp_path / "detection")
    assert sorted(inspect(tmp_path).strays) == sorted(strays)
    for cell in cells[:3]:
        assert store.folder(cell).claim(cell, Owner.me(), "x") is not None
    assert states(store, cells) == ["running", "running", "running", "done"]
    kept = list(tmp_path.rglob("*.stray-*"))
    assert [path.read_text() for path in kept] == ["mine", "mine"]
    told = capsys.readouterr().err
    assert all(path.name in told for path in kept)


def test_what_killed_processes_left_is_listed_once_it_is_old(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    folder = store.folder(cell)
    folder.attempts.mkdir(parents=True)
    old, new = folder.attempts / ".0001.json.0f", folder.path / ".summary.json.1e"
    for path in (old, new):
        path.write_text("")
    os.utime(old, (1, 1))
    assert inspect(tmp_path).strays == [old]
