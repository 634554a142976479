"""Adding cells: nothing is overwritten, nobody is disturbed, no half cell is ever seen."""

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.experiments.encoder_folder import check_encoder
from bench.files.atomic import copy_whole, to_json, write_whole
from bench.results import lease
from bench.results import merge as module
from bench.results.archives import export_archive
from bench.results.attempts import last_attempt
from bench.results.digests import write_digests
from bench.results.merge import Merged, MergedFolder, merge
from bench.results.owner import Owner
from bench.results.reader import Results
from bench.results.store import Store
from tests.fakes.archives import (
    bring_in,
    fill,
    fill_trained,
    filled_store,
    no_encoder,
    picture,
    results,
    write_weights,
)
from tests.fakes.cells import small_cell
from tests.fakes.processes import age, dead_owner, wait_until
from tests.fakes.results import states
from tests.fakes.toys import make_cells


def take(there: Store, here: Store, *, encoders: bool = False) -> Merged:
    return merge([MergedFolder(there.root, encoders)], here, check_encoder)


def test_cells_of_other_folders_are_added_once(tmp_path: Path) -> None:
    here, (cell,) = Store(tmp_path / "here"), make_cells(1)
    there, cells = filled_store(tmp_path / "there")
    third, more = filled_store(tmp_path / "third", 5)
    fill(here, cell, 0.5 + len(cell.experiment))  # as it is there
    before = picture(here.folder(cell).path)
    merged = merge([MergedFolder(there.root), MergedFolder(third.root)], here, no_encoder)
    assert (merged.added, merged.same, merged.conflicts, merged.busy) == (5, 5, [], [])
    assert picture(here.folder(cell).path) == before
    assert set(states(here, [*cells, *more])) == {"done"}
    assert not (here.root / "trained").exists()
    assert take(there, here, encoders=True).encoders == 1
    assert results(here.root) == results(third.root)
    before = picture(here.root)
    assert take(there, here, encoders=True) == Merged(same=4)
    assert picture(here.root) == before


def fail(store: Store, cell: Cell, reason: str, message: str) -> None:
    attempt = store.folder(cell).claim(cell, Owner.me(), "x")
    assert attempt is not None
    attempt.end("failed", reason, message)


@pytest.mark.parametrize("way", ["folder", "archive"])
def test_cells_that_diverged_are_added_as_failed(tmp_path: Path, way: str) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    done, diverged, begun, faulty = cells = make_cells(4)
    fill(there, done, 0.5)
    for cell in (diverged, begun):
        fail(there, cell, "diverged", "step 7: loss is nan")
    fail(there, faulty, "oom", "its worker was killed")
    attempt = here.folder(begun).claim(begun, Owner.me(), "x")
    assert attempt is not None
    attempt.end("interrupted")
    archive = tmp_path / "x.tar"
    export_archive(cells, there, archive, encoders=False)
    assert Owner.me().host not in archive.read_bytes().decode("latin-1")

    def taken() -> Merged:
        return take(there, here) if way == "folder" else bring_in(archive, here, no_encoder)

    assert taken() == Merged(added=1, diverged=1)
    state = here.states(cells)
    assert [str(s.state) for s in state] == ["done", "failed", "missing", "missing"]
    assert (state[1].reason, state[1].message) == ("diverged", "step 7: loss is nan")
    before = picture(here.root)
    assert taken() == Merged(same=1)
    assert picture(here.root) == before
    export_archive(cells, here, tmp_path / "again.tar", encoders=False)
    assert bring_in(tmp_path / "again.tar", Store(tmp_path / "third"), no_encoder).diverged == 1


@pytest.mark.parametrize("state", ["failed", "interrupted", "killed"])
def test_an_unfinished_cell_takes_the_result(tmp_path: Path, state: str) -> None:
    here, there, (cell,) = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(1)
    folder = here.folder(cell)
    attempt = folder.claim(cell, dead_owner() if state == "killed" else Owner.me(), "x")
    assert attempt is not None
    folder.append_history({"step": 7, "loss": 1.0})
    for name in ("checkpoint.pt", "arrays.npz", ".summary.json.0"):
        (folder.path / name).write_bytes(b"left over")
    if state == "failed":
        attempt.end("failed", "code", "no")
    elif state == "interrupted":
        attempt.end("interrupted")
    fill(there, cell, arrays=())
    assert take(there, here) == Merged(added=1)
    assert results(here.root) == results(there.root)
    last = last_attempt(folder.attempts)
    assert last is not None
    assert (last.number, last.state, last.record["launch"]) == (2, "done", "import")


def test_copying_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights may take longer than a lease."""
    monkeypatch.setattr(lease, "HEARTBEAT_S", 0.01)
    here, (there, _) = Store(tmp_path / "here"), filled_store(tmp_path / "there")
    touched: list[bool] = []

    def slow(source: Path, path: Path, *, sync: bool = True) -> None:
        if path.name == "encoder.pt":
            (claim,) = path.parent.glob("attempts/0001.json")
            age(claim)
            touched.append(wait_until(claim, young=True))
        copy_whole(source, path, sync=sync)

    monkeypatch.setattr(module, "copy_whole", slow)
    assert take(there, here, encoders=True).encoders == 1
    assert touched == [True]


def test_weights_that_a_killed_import_left_are_removed(tmp_path: Path) -> None:
    here, (there, _) = Store(tmp_path / "here"), filled_store(tmp_path / "there")
    (trained,) = (there.root / "trained").iterdir()
    left = here.root / "trained" / trained.name / ".encoder.pt.0123"
    write_whole(left, b"half")
    assert take(there, here, encoders=True).encoders == 1
    assert not left.exists()


def test_other_numbers_are_a_conflict_and_stay(tmp_path: Path) -> None:
    here, there, cells = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(3)
    for store, value, array in ((here, 0.5, 1.0), (there, 0.5 + 2**-53, 1.0 + 2**-52)):
        fill(store, cells[0], value)
        fill(store, cells[1], arrays=(array,))
    fill(there, cells[2])
    origin = {"code": {"commit": "def", "dirty": False}, "packages": {}, "wall_s": 9.0}
    changed = there.folder(cells[0])
    write_whole(changed.provenance_file, to_json(origin))
    write_digests(changed.path, changed.summary_file.read_bytes())
    before = results(here.root)
    merged = take(there, here)
    own = {"experiment": "gradient-norm"}
    expected: list[dict[str, Any]] = [
        own
        | {
            "id": cells[0].id,
            "metrics": {"gradient_norm": [0.5, 0.5 + 2**-53]},
            "arrays": [],
            "history": True,
            "origin": {"code.commit": ["abc", "def"], "packages.torch": ["2.6.0", None]},
        },
        own | {"id": cells[1].id, "metrics": {}, "arrays": ["a"], "history": False, "origin": {}},
    ]
    found = sorted(merged.conflicts, key=lambda conflict: not conflict["metrics"])
    assert (merged.added, merged.same, found) == (1, 0, expected)
    after = results(here.root)
    assert {name: after[name] for name in before} == before


def test_a_damaged_cell_here_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there, cells = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(2)
    for store in (here, there):
        for cell in cells:
            fill(store, cell)
    folder = here.folder(cells[0])
    folder.summary_file.write_bytes(b"{}")
    assert take(there, here) == Merged(added=1, same=1)
    assert "; the cell is taken from the other results" in capsys.readouterr().err
    assert results(here.root) == results(there.root)


def test_another_history_beside_the_same_numbers_is_a_conflict(tmp_path: Path) -> None:
    here, there, (cell,) = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(1)
    for store in (here, there):
        fill(store, cell)
    folder = there.folder(cell)
    folder.history_file.write_text(folder.history_file.read_text().replace("0.5", "0.25"))
    write_digests(folder.path, folder.summary_file.read_bytes())
    (conflict,) = take(there, here).conflicts
    assert (conflict["metrics"], conflict["arrays"], conflict["history"]) == ({}, [], True)


def test_other_weights_beside_the_same_numbers_are_a_conflict(tmp_path: Path) -> None:
    here, there, cell = Store(tmp_path / "here"), Store(tmp_path / "there"), small_cell()
    for store in (here, there):
        fill(store, cell)
        home = fill_trained(store, cell)
    write_weights(home.path / "encoder.pt", {"weight": torch.tensor([0.5, 0.5, 0.25])})
    write_digests(home.path, home.summary_file.read_bytes())
    before = results(here.root)
    (conflict,) = take(there, here, encoders=True).conflicts
    assert conflict == {
        "id": cell.training_id, "experiment": "trained", "metrics": {}, "arrays": ["encoder.pt"],
        "history": False, "origin": {},
    }  # fmt: skip
    assert results(here.root) == before


def test_evaluations_of_the_same_encoder_are_added(tmp_path: Path) -> None:
    here, there, cell = Store(tmp_path / "here"), Store(tmp_path / "there"), small_cell()
    for store in (here, there):
        fill(store, cell)
        home = fill_trained(store, cell)
    linear = cell.model_copy(update={"knn_k": 7})
    record = {"evaluation": "knn", "protocol": linear.evaluation("knn"), "metrics": {}}
    name = f"evaluations/{linear.evaluation_id('knn')}.json"
    write_whole(home.path / name, to_json(record))
    assert take(there, here, encoders=True) == Merged(same=1)
    assert results(here.root) == results(there.root)
    write_whole(home.path / name, to_json(record | {"metrics": {"knn_top1": 1.0}}))
    (conflict,) = take(there, here, encoders=True).conflicts
    assert (conflict["experiment"], conflict["metrics"]) == ("trained", {"knn_top1": [None, 1.0]})


def test_a_running_cell_is_left_to_its_process(tmp_path: Path) -> None:
    here, there, cells = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(2)
    for cell in cells:
        fill(there, cell)
    folder = here.folder(cells[0])
    attempt = folder.claim(cells[0], Owner.me(), "x")
    assert attempt is not None
    before = picture(folder.path)
    merged = take(there, here)
    assert merged == Merged(added=1, busy=[{"id": cells[0].id, "experiment": "gradient-norm"}])
    assert picture(folder.path) == before
    assert attempt.is_mine()


def killed_at(name: str, archive: Path, root: Path) -> None:
    """Bring an archive in, and die when the file of that name is copied."""

    def copy(source: Path, path: Path, *, sync: bool = True) -> None:
        if path.name == name:
            path.with_name(f".{path.name}.half").write_bytes(source.read_bytes()[:10])
            os._exit(9)
        copy_whole(source, path, sync=sync)

    setattr(module, "copy_whole", copy)  # noqa: B010 - a name of another module
    bring_in(archive, Store(root))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arrays.npz", "history.jsonl", "provenance.json", "summary.json"])
def test_an_import_killed_half_way_leaves_no_half_cell(tmp_path: Path, name: str) -> None:
    here, there, cells = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(2)
    for cell in cells:
        fill(there, cell)
    export_archive(cells, there, tmp_path / "x.tar", encoders=False)
    child = multiprocessing.get_context("fork").Process(
        target=killed_at, args=(name, tmp_path / "x.tar", here.root)
    )
    child.start()
    child.join()
    assert child.exitcode == 9
    assert states(here, cells) == ["missing", "missing"]
    assert [Results(here.root).find(cell) for cell in cells] == [None, None]
    assert bring_in(tmp_path / "x.tar", here) == Merged(added=2)
    assert results(here.root) == results(there.root)


def test_a_fault_half_way_gives_the_claim_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, (cell,) = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(1)
    fill(there, cell)

    def full(source: Path, path: Path, *, sync: bool = True) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(module, "copy_whole", full)
        with pytest.raises(OSError, match="no space left"):
            take(there, here)
    last = here.folder(cell).last_attempt()
    assert last is not None
    assert (last.state, states(here, [cell])) == ("interrupted", ["missing"])
    assert take(there, here) == Merged(added=1)


def bring_in_and_tell(archive: Path, root: Path, start: Any, told: Any) -> None:
    start.wait()
    merged = bring_in(archive, Store(root))
    told.put((merged.added, merged.same, merged.conflicts, merged.busy))


@pytest.mark.slow
def test_two_imports_at_once_add_each_cell_once(tmp_path: Path) -> None:
    here, there, cells = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(30)
    for cell in cells:
        fill(there, cell)
    export_archive(cells, there, tmp_path / "x.tar", encoders=False)
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(2), context.Queue()
    children = [
        context.Process(target=bring_in_and_tell, args=(tmp_path / "x.tar", here.root, start, told))
        for _ in range(2)
    ]
    for child in children:
        child.start()
    found = [told.get(timeout=60) for _ in children]
    for child in children:
        child.join()
    assert sum(added for added, *_ in found) == 30
    assert sum(same for _, same, *_ in found) == 30
    assert [rest for _, _, *rest in found] == [[[], []], [[], []]]
    assert results(here.root) == results(there.root)


def test_cells_of_other_code_are_left_out_and_damaged_ones_refused(tmp_path: Path) -> None:
    here, there, cells = Store(tmp_path / "here"), Store(tmp_path / "there"), make_cells(3)
    for cell in cells:
        fill(there, cell)
    (there.root / "launches").mkdir()
    unfinished: Cell = make_cells(4)[3]
    there.folder(unfinished).claim(unfinished, dead_owner(), "x")
    newer = to_json(cells[0].model_dump(mode="json") | {"version": 2})
    folder = there.folder(cells[0])
    write_whole(folder.cell_file, newer)
    write_digests(folder.path, folder.summary_file.read_bytes())
    merged = take(there, here)
    assert (merged.added, len(merged.left_out)) == (2, 1)
    assert merged.left_out[0]["why"] == (
        f"gradient-norm/{cells[0].id}/cell.json: the cell was computed by version 2 "
        "of gradient-norm, but this code has version 1"
    )
    summary = there.folder(cells[1]).summary_file
    summary.write_text("{")
    with pytest.raises(StoreError, match=r"summary\.json: the SHA-256 of this file differs from"):
        take(there, Store(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    with pytest.raises(StoreError, match="nowhere: this results folder does not exist"):
        merge([MergedFolder(tmp_path / "nowhere")], here, no_encoder)
