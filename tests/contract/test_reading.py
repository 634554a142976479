"""What is read of results, and when: few verbs need more than metrics, and damage is told."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.results.folder import CellFolder
from bench.results.reader import Results
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
        "figures.0.artifact": REMOVED,
        "figures.0.log_x": REMOVED,
    },
)
UNTIL = "until `bench run` computes it again"


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


def test_a_damaged_history_is_told_by_those_who_read_it(done: Workspace) -> None:
    first = damage(done)
    (done.root / first / "arrays.npz").unlink()
    why = "the SHA-256 of this file differs from digests.json"
    line = f"bench: warning: {first}/history.jsonl: {why}; "
    for words, end in (
        (("report", "small"), f"the history of this cell is left out {UNTIL}"),
        (("export", "small", "--to", "tables"), f"the cell is left out {UNTIL}"),
    ):
        answer = done.call(*words)
        assert (answer.status, line + end in answer.err.splitlines()) == (0, True), words
    assert len(Results(done.root / "tables").names("gaussian-mi")) == len(folders(done)) - 1
    assert done.call("doctor").status == 1


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"torn"], ids=["empty", "torn"])
@pytest.mark.parametrize("has_digests", [True, False])
def test_damaged_arrays_are_told_by_those_who_read_them(
    done: Workspace, content: bytes, has_digests: bool
) -> None:
    first = folders(done)[0].relative_to(done.root)
    (done.root / first / "arrays.npz").write_bytes(content)
    if not has_digests:
        (done.root / first / "digests.json").unlink()
    why = (
        "this file is not listed in digests.json"
        if has_digests
        else "the file cannot be read (File is not a zip file)"
    )
    line = f"bench: warning: {first}/arrays.npz: {why}; "
    answer = done.call("compare", "results", "results")
    assert (answer.status, answer.err) == (
        0,
        line + f"the arrays of this cell are left out {UNTIL}\n",
    )
    answer = done.call("export", "small", "--to", "tables")
    assert (answer.status, answer.err) == (0, line + f"the cell is left out {UNTIL}\n")
    assert done.call("report", "small").status == 0  # no figure needs them
    assert done.call("doctor").status == 1


def put_socket(path: Path) -> None:
    """Bind a socket to a path, which may be too long for one."""
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


ODD: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "socket": put_socket,
}


@pytest.fixture(params=sorted(ODD))
def odd(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Puts something that is not a regular file in the place of a file."""

    def put(path: Path) -> None:
        path.unlink(missing_ok=True)
        ODD[request.param](path)

    return put


def test_an_odd_file_in_the_place_of_a_summary_is_one_line_and_the_cell_missing(
    done: Workspace, odd: Callable[[Path], None]
) -> None:
    """The verbs go on with the other cells; `run` computes it again."""
    path = folders(done)[0].relative_to(done.root) / "summary.json"
    odd(done.root / path)
    why = f"bench: warning: {path}: this is not a regular file"
    for words in (("status", "small"), ("plan", "small"), ("compare", "small")):
        answer = done.call(*words, "--json", "--seeds", "0")
        assert answer.err == f"{why}; the cell counts as missing {UNTIL}\n", words
        if words[0] == "status":
            assert (answer.json["done"], answer.json["missing"]) == (len(folders(done)) - 1, 1)
    answer = done.call("run", "small", "--executor", "inline", "--seeds", "0", "--json")
    assert (answer.status, answer.json["missing"]) == (0, 0)
    assert answer.err.startswith(f"{why}; the cell is computed again\n")
    assert done.call("doctor").status == 0


@pytest.mark.parametrize("name", ["history", "summary"])
def test_an_odd_file_in_a_cell_harms_no_report_of_all(
    done: Workspace, odd: Callable[[Path], None], name: str
) -> None:
    done.suite(changed(HISTORY, {"name": "other", "fixed.steps": 7}))
    first = folders(done)[0]
    path = first / {"history": "history.jsonl"}.get(name, "summary.json")
    odd(path)
    answer = done.call("report", "--to", "site", "--formats", "")
    (line,) = answer.err.splitlines()
    left = {"history": "the history of this cell is left out"}
    assert line.startswith(
        f"bench: warning: {path.relative_to(done.root)}: this is not a regular file; "
    )
    assert line.endswith(f"{left.get(name, 'the cell counts as missing')} {UNTIL}")
    assert answer.status == 0


@pytest.mark.slow
def test_a_damaged_history_harms_no_other_suite_in_a_report_of_all(done: Workspace) -> None:
    done.suite(SUITE, "other")
    first = damage(done)
    answer = done.call("report", "--to", "site")
    assert answer.status == 0
    assert (
        f"bench: warning: {first}/history.jsonl: the SHA-256 of this file differs from"
        in answer.err
    )
    assert (done.root / "site" / "small" / "tiny" / "index.html").exists()
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
