"""What was altered after it was written is found, told, and no evidence."""

import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.errors import Damaged, StoreError
from bench.files.atomic import write_whole
from bench.files.messages import forget_warnings
from bench.files.regular import sha256_of_regular
from bench.results.archives import export_archive
from bench.results.digests import check_files, write_digests
from bench.results.folder import CellFolder, damage_of, discard
from bench.results.inspect import inspect
from bench.results.reader import Results
from bench.results.store import Store
from bench.train.checkpoints import load_checkpoint, save_checkpoint
from tests.fakes.archives import all_members_of, bring_in, fill, filled_store, write_members
from tests.fakes.cells import small_cell
from tests.fakes.flips import files_of, flip, readable, usable
from tests.fakes.results import states
from tests.fakes.toys import make_cells

FLIPS = 60


def test_every_flipped_bit_is_found_and_none_is_read(tmp_path: Path) -> None:
    store, _ = filled_store(tmp_path, 2)
    home = CellFolder(tmp_path / "trained" / small_cell().training_id)
    whole, evaluations, rng = readable(tmp_path), usable(home), random.Random(0)
    assert (inspect(tmp_path).faults, inspect(tmp_path).unverified) == ([], 0)
    files = files_of(store.root)
    assert {path.name for path in files} >= {"encoder.pt", "0001.json", "digests.json"}
    for number in range(FLIPS):
        path = files[number % len(files)]
        content = flip(path, rng)
        faults = inspect(tmp_path).faults
        assert any(str(path.parent) in fault for fault in faults), path
        assert readable(tmp_path).items() <= whole.items(), path
        assert set(usable(home)) <= set(evaluations)
        if path.parent == home.path:
            assert damage_of(home, whole=True) is not None, path
        path.write_bytes(content)
    assert inspect(tmp_path).faults == []


def test_a_damaged_cell_is_missing_told_and_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, cells = Store(tmp_path), make_cells(2)
    folder, _ = (fill(store, cell) for cell in cells)
    folder.summary_file.write_text(folder.summary_file.read_text().replace("0.5", "0.6"))
    assert states(store, cells) == ["missing", "done"]
    why = f"{folder.summary_file}: the SHA-256 of this file differs from digests.json"
    remedy = "the cell counts as missing until `bench run` computes it again"
    assert capsys.readouterr().err == f"bench: warning: {why}; {remedy}\n"
    assert [cell.id for cell, _ in Results(tmp_path).finished(cells)] == [cells[1].id]
    store.discard_damaged(cells)
    assert capsys.readouterr().err == f"bench: warning: {why}; the cell is computed again\n"
    assert [path.name for path in folder.path.iterdir()] == ["attempts"]
    fill(store, cells[0])
    assert states(store, cells) == ["done", "done"]


def test_a_file_is_compared_with_its_digest_once_while_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill(Store(tmp_path), make_cells(1)[0])
    assert check_files(folder.path)
    read: list[str] = []

    def counted(path: str) -> str | None:
        read.append(Path(path).name)
        return sha256_of_regular(path)

    monkeypatch.setattr("bench.results.digests.sha256_of_regular", counted)
    assert check_files(folder.path)
    assert len(read) == len(set(read))
    read.clear()
    assert check_files(folder.path)
    assert read == []
    content = folder.history_file.read_bytes()
    write_whole(folder.history_file, content.replace(b"0.5", b"0.6"))
    with pytest.raises(Damaged, match=r"history\.jsonl: the SHA-256 of this file differs"):
        check_files(folder.path)
    assert read == ["history.jsonl"]


def test_exchanged_folders_and_summaries_are_no_evidence(tmp_path: Path) -> None:
    store, cells = Store(tmp_path), make_cells(4)
    a, b, c, d = (fill(store, cell, 0.5 + cell.seed).path for cell in cells)
    (tmp_path / "x").mkdir()
    for one, other in ((a, b), (c / "summary.json", d / "summary.json")):
        one.rename(tmp_path / "x" / "kept")
        other.rename(one)
        (tmp_path / "x" / "kept").rename(other)
    assert Results(tmp_path).finished(cells) == []
    told = f"{a}/digests.json: this file was written for folder '{b.name}'"
    assert damage_of(CellFolder(a)) == told


@pytest.mark.parametrize("name", ["history.jsonl", "arrays.npz", "cell.json"])
def test_a_file_that_is_gone_or_was_added_is_found(tmp_path: Path, name: str) -> None:
    store, cells = Store(tmp_path), make_cells(2)
    gone, added = (fill(store, cell, arrays=(1.0,)).path for cell in cells)
    content = (gone / name).read_bytes()
    (gone / name).unlink()
    with pytest.raises(Damaged, match=rf"{name}: this file is missing, but digests\.json lists it"):
        check_files(gone)
    (added / name).unlink()
    store.folder(cells[1]).finish({"gradient_norm": 0.5}, {}, {"wall_s": 1.0})
    assert check_files(added)
    (added / name).write_bytes(content)
    with pytest.raises(Damaged, match=rf"{name}: this file is not listed in digests\.json"):
        check_files(added)


def test_a_cell_without_digests_is_unverified_and_usable(tmp_path: Path) -> None:
    store, cells = filled_store(tmp_path)
    before = readable(tmp_path)
    for path in tmp_path.rglob("digests.json"):
        path.unlink()
    found = inspect(tmp_path)
    assert (found.faults, found.cells, found.encoders, found.unverified) == ([], 4, 1, 5)
    assert readable(tmp_path) == before
    assert set(states(store, cells)) == {"done"}


def test_exchanged_folders_without_digests_are_no_evidence(tmp_path: Path) -> None:
    store, cells = filled_store(tmp_path)
    one, other = (store.folder(cell).path for cell in cells[:2])
    for path in tmp_path.rglob("digests.json"):
        path.unlink()
    one.rename(tmp_path / "kept")
    other.rename(one)
    (tmp_path / "kept").rename(other)
    assert states(store, cells) == ["missing", "missing", *["done"] * (len(cells) - 2)]
    assert [cell for cell, _ in Results(tmp_path).finished(cells)] == cells[2:]


def test_a_cell_without_its_settings_is_missing(tmp_path: Path) -> None:
    store, cells = Store(tmp_path), make_cells(2)
    path, _ = (fill(store, cell).path for cell in cells)
    (path / "cell.json").unlink()
    assert states(store, cells) == ["missing", "done"]
    assert [cell for cell, _ in Results(tmp_path).finished(cells)] == cells[1:]


@pytest.mark.parametrize(
    "content",
    [
        '{"metrics": {"gradient_norm": -Infinity}}',
        '{"metrics": {"gradient_norm": 1e51}}',
        '{"metrics": {}}',
        "[1]",
    ],
)
def test_numbers_of_which_nothing_can_be_made_are_none_whatever_the_digest_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    store, cells = Store(tmp_path), make_cells(2)
    folder, _ = (fill(store, cell) for cell in cells)
    folder.summary_file.write_text(content)
    write_digests(folder.path, folder.summary_file.read_bytes())
    assert [cell for cell, _ in Results(tmp_path).finished(cells)] == cells[1:]
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith(f"bench: warning: {folder.summary_file}: ")
    assert damage_of(folder, whole=True) is not None
    store.discard_damaged(cells)
    assert states(store, cells) == ["missing", "done"]


def test_what_was_repaired_meanwhile_is_kept(tmp_path: Path) -> None:
    folder = fill(Store(tmp_path), make_cells(1)[0])
    assert discard(folder, lambda _: False)
    assert folder.is_done
    last = folder.last_attempt()
    assert last is not None
    assert last.state == "done"


def test_archives_carry_digests_and_are_checked_by_them(tmp_path: Path) -> None:
    there, cells = filled_store(tmp_path / "there")
    export_archive(cells, there, tmp_path / "x.tar", encoders=False)
    assert bring_in(tmp_path / "x.tar", Store(tmp_path / "here")).added == 4
    assert inspect(tmp_path / "here").unverified == 0
    shutil.rmtree(tmp_path / "here")
    changed = [
        (info, content.replace(b".5", b".6") if info.name.endswith("summary.json") else content)
        for info, content in all_members_of(tmp_path / "x.tar")
    ]
    write_members(tmp_path / "y.tar", changed)
    with pytest.raises(
        StoreError, match=r"summary\.json: the SHA-256 of this file differs from digests\.json"
    ):
        bring_in(tmp_path / "y.tar", Store(tmp_path / "here"))


def test_a_flipped_bit_in_a_checkpoint_changes_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, rng = CellFolder(tmp_path / "pretrain" / ("0" * 16)), random.Random(0)
    state: dict[str, Any] = {"a": [1.0] * 50, "w": torch.arange(5000.0)}
    save_checkpoint(folder, 7, state)
    found = 0
    for _ in range(FLIPS):
        content = flip(folder.checkpoint_file, rng)
        loaded = load_checkpoint(folder)
        if loaded is None:
            found += 1
            told = capsys.readouterr().err
            assert told.startswith(f"bench: warning: {folder.checkpoint_file}: ")
            assert told.count(str(folder.checkpoint_file)) == 1
            assert any("checkpoint.pt" in fault for fault in inspect(tmp_path).faults)
        else:  # between the members of the zip file
            assert torch.equal(loaded["state"]["w"], state["w"])
            assert loaded["state"]["a"] == state["a"]
        folder.checkpoint_file.write_bytes(content)
        forget_warnings()
    assert found > FLIPS / 2
    assert load_checkpoint(folder) is not None


def test_a_checkpoint_behind_a_line_with_its_digest_is_read(tmp_path: Path) -> None:
    """Earlier versions of this code wrote one."""
    folder = CellFolder(tmp_path / "pretrain" / ("0" * 16))
    save_checkpoint(folder, 7, {"w": torch.arange(5000.0)})
    content = folder.checkpoint_file.read_bytes()
    folder.checkpoint_file.write_bytes(b"sha256:" + b"0" * 64 + b"\n" + content)
    loaded = load_checkpoint(folder)
    assert loaded is not None
    assert torch.equal(loaded["state"]["w"], torch.arange(5000.0))
    assert inspect(tmp_path).faults == []


DEEP = "[" * 30_000 + "]" * 30_000
LONG = '{"metrics": {"m": 1' + "0" * 400 + '}, "wall_s": 1' + "0" * 400 + "}"
WRONG = {
    "text": '"x"', "empty": "", "deep": DEEP, "long": LONG, "large": " " * 2**21,
    "true": '{"metrics": {"m": true}, "wall_s": null}', "none": '{"metrics": {}, "a": [1]}',
}  # fmt: skip


@pytest.mark.parametrize("digests", [True, False])
@pytest.mark.parametrize("name", ["summary.json", "provenance.json"])
@pytest.mark.parametrize(
    "wrong", [*WRONG, "pipe", "device", "folder", "link whose target does not exist"]
)
def test_a_file_of_another_kind_is_one_line_and_the_cell_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: str, name: str, digests: bool
) -> None:
    store, cells = Store(tmp_path), make_cells(2)
    path, _ = (fill(store, cell).path / name for cell in cells)
    path.unlink()
    if wrong == "pipe":
        os.mkfifo(path)
    elif wrong == "folder":
        path.mkdir()
    elif wrong in WRONG:
        path.write_text(WRONG[wrong])
    else:
        path.symlink_to("/dev/zero" if wrong == "device" else "nowhere")
    if not digests:
        path.with_name("digests.json").unlink()
    gone = wrong == "link whose target does not exist" and name == "summary.json"
    for look in (lambda: states(store, cells), lambda: Results(tmp_path).finished(cells)):
        forget_warnings()
        look()
        err = capsys.readouterr().err
        assert err.count("\n") == (0 if gone else 1)
        assert gone or err.startswith(f"bench: warning: {path}: ")
    assert states(store, cells) == ["missing", "done"]
    assert [cell for cell, _ in Results(tmp_path).finished(cells)] == cells[1:]


@pytest.mark.parametrize("name", ["arrays.npz", "provenance.json", "summary.json", "digests.json"])
def test_a_finished_cell_that_is_finished_again_is_whole_at_each_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (cell,) = make_cells(1)
    folder = fill(Store(tmp_path), cell, 0.5)

    def killed(path: Path, content: bytes) -> None:
        if path.name == name:
            raise KeyboardInterrupt
        write_whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr("bench.results.folder.write_whole", killed)
        patch.setattr("bench.results.digests.write_whole", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.finish({"gradient_norm": 0.25}, {"a": np.array([3.0])}, folder.provenance())
    assert damage_of(folder, whole=True) is None
    value = 0.25 if name == "digests.json" else 0.5
    assert folder.metrics() == {"gradient_norm": value}
    folder.finish({"gradient_norm": 0.25}, {"a": np.array([3.0])}, folder.provenance())
    assert check_files(folder.path)
