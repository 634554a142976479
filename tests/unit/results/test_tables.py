"""Tables give back what the folders held, arrays too."""

from pathlib import Path

import numpy as np
import pytest

from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.results.reader import Results
from bench.results.store import Store
from bench.results.tables import export_cells
from tests.fakes.cells import small_cell


def finish(store: Store, cell: Cell, value: float) -> None:
    folder = store.folder(cell)
    folder.path.mkdir(parents=True)
    folder.append_history({"step": 1, "loss": value})
    folder.finish(
        {"loss": value}, {"q_b_histogram": np.array([value, 1 - value])}, {"code": {"x": 1}}
    )


def test_arrays_survive_an_export(tmp_path: Path) -> None:
    store, cells = Store(tmp_path / "results"), [small_cell(seed=seed) for seed in (0, 1)]
    for cell in cells:
        finish(store, cell, 0.25 + cell.seed / 2)
    assert export_cells(cells[:1], store, tmp_path / "out") == 1
    assert export_cells(cells[1:], store, tmp_path / "out") == 1  # added to the first
    back = Results(tmp_path / "out")
    for cell in cells:
        found = back.find(cell)
        assert found is not None
        value = 0.25 + cell.seed / 2
        assert found.metrics == {"loss": value}
        assert found.arrays["q_b_histogram"].tolist() == [value, 1 - value]
    assert (tmp_path / "out" / "pretrain.arrays.npz").exists()


def test_a_torn_file_of_arrays_is_told(tmp_path: Path) -> None:
    store, cell = Store(tmp_path / "results"), small_cell()
    finish(store, cell, 0.5)
    export_cells([cell], store, tmp_path / "out")
    (tmp_path / "out" / "pretrain.arrays.npz").write_bytes(b"torn")
    found = Results(tmp_path / "out").find(cell)
    assert found is not None
    assert found.metrics == {"loss": 0.5}
    with pytest.raises(StoreError, match=r"pretrain\.arrays\.npz: cannot be read"):
        _ = found.arrays
