"""The step beside a checkpoint: read without loading it, and no more than a hint."""

from pathlib import Path

import pytest

from bench.results.folder import CellFolder
from bench.train.checkpoints import load_checkpoint, save_checkpoint


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
