"""No cell of the reference results has a row that other tables make needless."""

from pathlib import Path

import numpy as np
import pytest

from bench.cells import CELLS
from bench.results.export_tables import export_cells
from bench.results.reader import Results
from bench.results.store import Store
from bench.results.tables import Exported
from benchmarks.shared_rows import held_twice, remove
from tests.fakes.cells import small_cell
from tests.fakes.paths import REFERENCE


@pytest.mark.parametrize("experiment", CELLS)
def test_no_row_of_the_reference_results_is_held_twice(experiment: str) -> None:
    """`python -m benchmarks.shared_rows --write` removes such rows."""
    found = held_twice(Exported(REFERENCE, experiment))
    assert [(tables.cells_file.name, names) for tables, names in found] == []


def test_a_cell_stays_where_no_other_table_has_all_of_it(tmp_path: Path) -> None:
    """Of three tables, two have the cell's array; the third has a second cell."""
    store, folder = Store(tmp_path / "results"), tmp_path / "out"
    both, alone = small_cell(seed=0), small_cell(seed=1)
    for cell in (both, alone):
        store.folder(cell).finish({"loss": 1.0}, {"points": np.arange(4.0)}, {})
    export_cells([both], store, folder, suite="drawn", read={"points"})
    export_cells([both, alone], store, folder, suite="whole", read=set())
    export_cells([both], store, folder, suite="small", read={"points"})
    found = list(held_twice(Exported(folder, "pretrain")))
    assert [(tables.cells_file.name, names) for tables, names in found] == [
        ("pretrain.drawn.csv.gz", [both.id]), ("pretrain.whole.csv.gz", [both.id]),
    ]  # fmt: skip
    for tables, names in found:
        remove(tables, names)
    assert list(held_twice(Exported(folder, "pretrain"))) == []
    assert sorted(path.name for path in folder.glob("*.csv.gz")) == [
        "pretrain.small.csv.gz", "pretrain.whole.csv.gz",
    ]  # fmt: skip
    kept = Results(folder).find(both)
    assert kept is not None
    assert kept.arrays["points"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert Results(folder).find(alone) is not None
