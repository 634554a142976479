"""The step beside a checkpoint: read without loading it, and no more than a hint."""

import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.errors import DiskFailure
from bench.results.folder import CellFolder
from bench.train import checkpoints
from bench.train.checkpoints import load_checkpoint, save_checkpoint, saving


@pytest.fixture
def folder(tmp_path: Path) -> CellFolder:
    folder = CellFolder(tmp_path / "cell")
    save_checkpoint(folder, 7, {"a": 1})
    return folder


def test_the_step_stands_beside_the_checkpoint(folder: CellFolder) -> None:
    assert folder.checkpoint_step() == 7
    save_checkpoint(folder, 9, {"a": 2})
    assert folder.checkpoint_step() == 9
    saved = load_checkpoint(folder)
    assert saved is not None
    assert (saved["step"], saved["state"]) == (9, {"a": 2})


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b'{"step": "x"}', b'{"step": null}'])
def test_where_it_is_not_said_the_reader_knows(folder: CellFolder, content: bytes | None) -> None:
    if content is None:
        folder.step_file.unlink()
    else:
        folder.step_file.write_bytes(content)
    assert folder.checkpoint_step() is None
    assert load_checkpoint(folder) is not None


def test_without_a_checkpoint_it_is_the_beginning(folder: CellFolder) -> None:
    folder.checkpoint_file.unlink()
    assert folder.checkpoint_step() == 0


def test_a_finished_cell_has_neither(folder: CellFolder) -> None:
    folder.finish({"m": 1.0}, {}, {})
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "digests.json",
        "provenance.json",
        "summary.json",
    ]


def test_in_a_thread_the_state_is_that_of_the_call(
    folder: CellFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training goes on while the file is written, and what it changes is not in it."""
    may_write, write = threading.Event(), save_checkpoint

    def slow(*given: Any) -> None:
        assert may_write.wait(30)
        write(*given)

    monkeypatch.setattr(checkpoints, "save_checkpoint", slow)
    weight = torch.zeros(3)
    with saving(in_thread=True) as save:
        save(folder, 8, {"groups": [{"w": weight}]})
        weight.fill_(1.0)
        assert folder.checkpoint_step() == 7  # the one before stands until the new one is whole
        may_write.set()
    saved = load_checkpoint(folder)
    assert saved is not None
    assert saved["step"] == 8
    assert torch.equal(saved["state"]["groups"][0]["w"], torch.zeros(3))


def test_in_a_thread_a_fault_is_told_and_the_one_before_stays(
    folder: CellFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise DiskFailure("full")

    def save_twice() -> None:
        with saving(in_thread=True) as save:
            save(folder, 8, {})
            save(folder, 9, {})

    monkeypatch.setattr(checkpoints, "save_checkpoint", broken)
    with pytest.raises(DiskFailure, match=r"^full$"):
        save_twice()
    assert folder.checkpoint_step() == 7


def test_what_ends_the_training_waits_for_the_last_one(folder: CellFolder) -> None:
    def interrupted() -> None:
        with saving(in_thread=True) as save:
            save(folder, 8, {"a": torch.zeros(2**20)})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert folder.checkpoint_step() == 8
