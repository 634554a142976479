"""What is read of results, and when: few verbs need more than metrics, and damage is told."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.files.atomic import to_npz
from bench.results.folder import CellFolder
from bench.results.store import Store
from tests.fakes.results import cells_of
from tests.fakes.suites import REMOVED, SUITE, changed
from tests.fakes.workspace import Workspace

HISTORY = changed(
    SUITE,
    {
        "figures.0.draw": "history",
        "figures.0.x": "step",
        "figures.0.reference": REMOVED,
        "figures.0.log_x": REMOVED,
    },
)
REMEDY = "to have it computed again"


@pytest.fixture
def done(workspace: Workspace) -> Workspace:
    workspace.suite(HISTORY)
    words = ("run", "small", "--executor", "inline", "--seeds", "0")
    assert workspace.call(*words).status == 0
    return workspace


def folders(workspace: Workspace) -> list[Path]:
    return sorted((workspace.root / "results" / "gaussian-mi").iterdir())


def damage(workspace: Workspace) -> Path:
    """Damage a history and the arrays beside it; return the first damaged folder."""
    first = folders(workspace)[0]
    history = first / "history.jsonl"
    history.write_text(history.read_text() + '{"step": 20')
    (first / "arrays.npz").write_bytes(b"torn")
    return first.relative_to(workspace.root)


@pytest.mark.parametrize("verb", ["compare", "claims"])
def test_judging_reads_no_history_and_no_arrays(
    done: Workspace, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    before = done.call(verb, "small", "--json")
    damage(done)

    def read(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was read")

    monkeypatch.setattr(CellFolder, "history", read)
    monkeypatch.setattr(CellFolder, "arrays", read)
    after = done.call(verb, "small", "--json")
    assert (after.status, after.json) == (before.status, before.json)


def test_a_torn_history_is_told_by_those_who_read_it(done: Workspace) -> None:
    first = damage(done)
    (done.root / first / "arrays.npz").unlink()
    lines = (done.root / first / "history.jsonl").read_text().count("\n")
    why = f"cannot be read (line {lines + 1} is no record of metrics); remove {first} {REMEDY}"
    for words in (
        ("report", "small"),
        ("compare", "results", "results"),
        ("export", "small", "--to", "tables"),
    ):
        answer = done.call(*words)
        told = answer.err.splitlines()[-1]
        assert (answer.status, told) == (2, f"bench: {first}/history.jsonl: {why}"), words
    assert done.call("doctor").status == 1


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"torn", b"\x80\x04N."], ids=["empty", "torn", "pickle"])
def test_torn_arrays_are_told_by_those_who_read_them(done: Workspace, content: bytes) -> None:
    first = folders(done)[0].relative_to(done.root)
    (done.root / first / "arrays.npz").write_bytes(content)
    why = f"cannot be read (it is no npz file); remove {first} {REMEDY}"
    told = f"bench: {first}/arrays.npz: {why}\n"
    for words in (("compare", "results", "results"), ("export", "small", "--to", "tables")):
        answer = done.call(*words)
        assert (answer.status, answer.err) == (2, told)
    assert done.call("report", "small").status == 0  # no figure needs them
    assert done.call("doctor").status == 1


def test_an_array_whose_bytes_were_altered_is_told(done: Workspace) -> None:
    folder = CellFolder(folders(done)[0].relative_to(done.root))
    content = bytearray(to_npz({"a": np.arange(1000.0)}))
    content[len(content) // 2] ^= 1
    folder.arrays_file.write_bytes(content)
    told = f"{folder.arrays_file}: cannot be read ("
    assert done.call("compare", "results", "results").err.startswith(f"bench: {told}")


def test_provenance_that_is_no_object_is_told(done: Workspace) -> None:
    first = folders(done)[0].relative_to(done.root)
    (done.root / first / "provenance.json").write_text('"x"')
    told = f"{first}/provenance.json: cannot be read (it is no JSON object); remove {first}"
    answer = done.call("compare", "small")
    assert (answer.status, answer.err) == (2, f"bench: {told} {REMEDY}\n")


@pytest.mark.slow
def test_one_unreadable_suite_is_left_out_of_a_report_of_all(done: Workspace) -> None:
    done.suite(SUITE, "other")
    first = damage(done)
    answer = done.call("report", "--to", "site")
    assert answer.status == 0
    assert f"bench: left out: {first}/history.jsonl: cannot be read (" in answer.err
    assert not (done.root / "site" / "small" / "tiny" / "index.html").exists()
    assert (done.root / "site" / "other" / "tiny" / "index.html").exists()


def test_a_run_asks_the_store_as_often_as_it_must(
    done: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once where nothing is left; else at begin and at each look: the last answer is the result."""
    asked: list[int] = []
    states = Store.states

    def noted(self: Store, cells: Any) -> Any:
        asked.append(len(cells))
        return states(self, cells)

    monkeypatch.setattr(Store, "states", noted)
    words = ("run", "small", "--executor", "inline", "--json")
    told = done.call(*words, "--seeds", "0")
    assert (told.json["done"], asked) == (8, [8])
    asked.clear()
    told = done.call(*words, "--seeds", "0,1")
    assert (told.json["done"], told.json["missing"], asked) == (16, 0, [16, 8, 8])
    asked.clear()
    (folders(done)[0] / "summary.json").unlink()
    limited = done.call(*words, "--seeds", "0,1", "--limit-gpu-hours", "1e-12")
    assert (limited.json["done"], limited.json["missing"], asked) == (15, 1, [16, 15])


def test_cells_of_a_suite_have_the_folders_of_their_store(workspace: Workspace) -> None:
    cells = cells_of(workspace.root / "suites" / "small.yaml", "tiny")[:2]
    found = Store(Path("results")).folders(cells, Path("sets"))
    assert [folder.path for folder in found] == [
        Path("results/gaussian-mi") / cell.id for cell in cells
    ]
    assert (found.encoders, found.data) == (Path("results/trained"), Path("sets"))
