"""What comes of a cell that cannot be computed, and of those beside it."""

from pathlib import Path

import pytest

from bench.cells.pretrain import Pretrain
from bench.errors import DataFailure, DataMissing, Diverged
from bench.experiments.outcome import Result, attempted, one_by_one
from bench.results.folder import CellFolder
from bench.results.store import Store
from tests.fakes.cells import small_cell


def raising(error: Exception) -> None:
    raise error


def test_a_failure_of_the_data_or_the_cell_is_an_outcome() -> None:
    missing = attempted(lambda: raising(DataMissing("sets: not found")))
    assert (type(missing), str(missing)) == (DataFailure, "sets: not found")
    diverged = Diverged("step 3: loss is nan")
    assert attempted(lambda: raising(diverged)) is diverged
    assert attempted(lambda: 3) == 3


def test_an_error_of_the_code_is_none() -> None:
    with pytest.raises(ZeroDivisionError):
        attempted(lambda: raising(ZeroDivisionError()))


def test_a_cell_that_fails_harms_no_other(tmp_path: Path) -> None:
    cells = [small_cell(seed=seed) for seed in range(3)]

    def compute(cell: Pretrain, folder: CellFolder, data: Path, device: str) -> Result:
        assert (folder.path.name, data, device) == (cell.id, tmp_path / "sets", "cpu")
        if cell.seed == 1:
            raise Diverged("step 0: loss is inf")
        return Result({"loss": float(cell.seed)})

    folders = Store(tmp_path).folders(cells, tmp_path / "sets")
    first, second, third = one_by_one(compute, cells, folders, "cpu")
    assert (first, str(second), third) == (
        Result({"loss": 0.0}), "step 0: loss is inf", Result({"loss": 2.0}),
    )  # fmt: skip
