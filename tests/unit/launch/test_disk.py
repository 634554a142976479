"""A disk that takes nothing more stops a run in one line; nothing fails, and it can go on."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.errors import DiskFailure
from bench.launch.run import run_cells
from bench.results.attempts import all_attempts
from bench.results.store import Store
from tests.fakes.archives import results
from tests.fakes.results import states
from tests.fakes.toys import make_cells

KEPT = ("summary.json", "cell.json")


def run(root: Path, cells: list[Any]) -> list[str]:
    ends = run_cells(cells, Store(root), root, title="some cells", jobs=0)
    return [str(end.state) for end in ends]


def kept(root: Path) -> dict[str, bytes | None]:
    return {name: content for name, content in results(root).items() if name.endswith(KEPT)}


def failing_from(number: int, code: int) -> Callable[[Any], None]:
    """Return what stands in for fsync: it fails from the given call on."""
    calls = []
    real = os.fsync

    def fsync(file: Any) -> None:
        calls.append(1)
        if len(calls) > number:
            raise OSError(code, os.strerror(code))
        real(file)

    return fsync


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("number", [0, 1, 2, 4, 6, 7, 9])
def test_a_write_that_fails_stops_the_run_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    """0: the probe, 1: the announcement, 2: the claim, then files of the first two cells."""
    if code != errno.ENOSPC and number not in (2, 6):
        pytest.skip("one kind is tried at every write")
    cells: list[Cell] = [*make_cells(3)]
    run(tmp_path / "whole", cells)
    root = tmp_path / "full"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing_from(number, code))
        with pytest.raises(DiskFailure) as failure:
            run(root, cells)
    line = str(failure.value)
    assert line.startswith(str(root)), line
    assert f": the file cannot be written ({os.strerror(code)}); finished cells are kept; " in line
    assert ("free some space" in line) == (code != errno.EROFS)
    store = Store(root)
    assert set(states(store, cells)) <= {"done", "missing"}
    for cell in cells:
        attempts = all_attempts(store.folder(cell).attempts)
        assert {attempt.state for attempt in attempts} <= {"done", "interrupted"}
    assert run(root, cells) == ["done"] * 3
    assert kept(root) == kept(tmp_path / "whole")


def test_another_fault_of_the_system_is_a_failure_of_the_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing_from(7, errno.EACCES))
    with pytest.raises(PermissionError):
        run(tmp_path, [*make_cells(1)])
