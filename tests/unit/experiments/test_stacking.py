"""What every trained experiment owes the store: results that depend on the cell alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.experiments import EXPERIMENTS, Result
from bench.results.folder import CellFolder, Folders
from bench.train import stack as stack_module
from tests.fakes.toys import STACKS, make, record_often, stop_at_checkpoint


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    record_often(monkeypatch)


def compute(cells: Sequence[Cell], root: Path) -> list[dict[str, bytes]]:
    """Return the bytes of each cell's metrics, arrays and history."""
    folders = Folders((CellFolder(root / cell.id) for cell in cells), encoders=root, data=root)
    for folder in folders:
        folder.path.mkdir(parents=True, exist_ok=True)
    outcomes = EXPERIMENTS[cells[0].experiment](cells, folders, "cpu")
    found = []
    for folder, outcome in zip(folders, outcomes, strict=True):
        assert isinstance(outcome, Result)
        assert all(np.isfinite(value) for value in outcome.metrics.values())
        arrays = {name: array.tobytes() for name, array in outcome.arrays.items()}
        metrics = repr(sorted(outcome.metrics.items())).encode()
        found.append(arrays | {"metrics": metrics, "history": folder.history_file.read_bytes()})
    return found


@pytest.mark.parametrize("name", STACKS)
def test_all_cells_may_be_stacked(name: str) -> None:
    assert len({cell.stack_key for cell in make(name)}) == 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gaussian-mi", {"K": 65}),
        ("gaussian-mi", {"embedding_dim": 10}),
        ("vince", {"batch_size": 60}),
        ("vince", {"dataset_size": 200}),
        ("spirals-bank", {"hidden_units": 20}),
        ("spirals-batch", {"batch_size": 10}),
    ],
)
def test_cells_that_fill_no_whole_cache_lines_are_not_stacked(
    name: str, change: dict[str, Any]
) -> None:
    cells = [CELLS[s["experiment"]].model_validate(s | change) for s in STACKS[name]]
    assert len({cell.stack_key for cell in cells}) == len(cells)


@pytest.mark.slow
@pytest.mark.parametrize("name", STACKS)
def test_a_cell_alone_gives_the_bytes_it_gives_in_a_stack(name: str, tmp_path: Path) -> None:
    cells = make(name)
    together = compute(cells, tmp_path / "together")
    assert len({found["metrics"] for found in together}) == len(cells)  # they do differ
    for i in (0, len(cells) - 1):
        assert compute([cells[i]], tmp_path / f"alone{i}") == [together[i]]


@pytest.mark.slow
@pytest.mark.parametrize("name", STACKS)
def test_a_stopped_run_ends_as_an_uninterrupted_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped twice, the second time in another stack than the first."""
    cells = make(name)
    whole = compute(cells, tmp_path / "whole")
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    with monkeypatch.context() as patch:
        stop_at_checkpoint(1, patch)
        with pytest.raises(KeyboardInterrupt):
            compute(cells, tmp_path / "stopped")
    assert CellFolder(tmp_path / "stopped" / cells[0].id).checkpoint_step()
    half = len(cells) // 2
    assert compute(cells[half:], tmp_path / "stopped") == whole[half:]
    assert compute(cells[:half], tmp_path / "stopped") == whole[:half]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["empty", "torn", "another cell's", "no history"])
def test_a_checkpoint_that_is_worth_nothing_is_not_gone_on_from(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = make("spirals-batch")
    whole = compute(cells, tmp_path / "whole")
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    with monkeypatch.context() as patch:
        stop_at_checkpoint(1, patch)
        with pytest.raises(KeyboardInterrupt):
            compute(cells, tmp_path / "stopped")
    folder, other = (CellFolder(tmp_path / "stopped" / cell.id) for cell in cells[:2])
    content = folder.checkpoint_file.read_bytes()
    if damage == "no history":
        folder.history_file.unlink()
    else:
        damaged = {"empty": b"", "torn": content[:1000]}
        folder.checkpoint_file.write_bytes(damaged.get(damage, other.checkpoint_file.read_bytes()))
    assert stack_module._load(folder) is None
    assert stack_module._load(other) is not None
    assert compute(cells[:1], tmp_path / "stopped") == whole[:1]
