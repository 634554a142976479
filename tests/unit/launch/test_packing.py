"""Which cells share a job, how jobs are cut into arrays, how many workers share a GPU."""

from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.errors import LaunchError
from bench.launch.slurm.packing import Task, automatic_pack, cut_arrays, pack_stacks
from bench.results.store import Store
from tests.fakes.timings import finish
from tests.fakes.toys import toy

CELLS: list[Cell] = [toy(seed=seed) for seed in range(10)]
UNITS = [[cell] for cell in CELLS]


def packed(units: list[list[int]], workers: int, fill_s: float = 0) -> list[list[list[int]]]:
    """Return the tasks of units of cells, each given by the seconds that it takes."""
    cells = iter(CELLS)
    work = [[(next(cells), s) for s in unit] for unit in units]
    seconds = {cell.id: float(s) for unit in work for cell, s in unit}
    tasks = pack_stacks([[c for c, _ in u] for u in work], workers, fill_s=fill_s, seconds=seconds)
    return [[[int(seconds[c.id]) for c in unit] for unit in task] for task in tasks]


def test_each_worker_of_a_task_has_one_unit() -> None:
    tasks = pack_stacks(UNITS[:5], 2, seconds={})
    assert tasks == [UNITS[0:2], UNITS[2:4], UNITS[4:5]]
    assert pack_stacks(UNITS[:2], 1, seconds={}) == [[UNITS[0]], [UNITS[1]]]
    assert pack_stacks([], 3, seconds={}) == []


def test_short_units_fill_a_task_to_the_second() -> None:
    assert packed([[4], [3], [3], [1]], 1, fill_s=10) == [[[4], [3], [3]], [[1]]]
    assert packed([[4], [3], [3], [1]], 1, fill_s=11) == [[[4], [3], [3], [1]]]
    assert packed([[2, 2], [3, 3], [1]], 1, fill_s=10) == [[[2, 2], [3, 3]], [[1]]]


def test_the_time_is_that_of_all_workers() -> None:
    assert packed([[5]] * 5, 2, fill_s=10) == [[[5]] * 4, [[5]]]


def test_a_unit_longer_than_the_time_is_a_task_and_no_worker_is_idle() -> None:
    assert packed([[50], [40], [1]], 1, fill_s=10) == [[[50]], [[40]], [[1]]]
    assert packed([[50], [40], [1]], 2, fill_s=10) == [[[50], [40]], [[1]]]


@pytest.mark.parametrize(
    ("tasks", "limit", "sizes"),
    [(7, 3, [3, 3, 1]), (8, 6, [4, 4]), (6, 3, [3, 3]), (3, 3, [3]), (2, 1, [1, 1]), (0, 3, [])],
)
def test_arrays_are_as_few_and_as_even_as_can_be(tasks: int, limit: int, sizes: list[int]) -> None:
    given: list[Task] = [[unit] for unit in UNITS[:tasks]]
    arrays = cut_arrays(given, limit)
    assert [len(array) for array in arrays] == sizes
    assert [task for array in arrays for task in array] == given


GPU: dict[str, Any] = {"device": "cuda", "device_total_gb": 80.0}


@pytest.mark.parametrize(
    ("peak_gb", "busy", "workers", "pack"),
    [
        (10.0, 0.1, 1, 7),  # 0.9 * 80 / 10, where 10 would keep it busy
        (10.0, 0.4, 1, 2),  # 1 / 0.4
        (10.0, 0.8, 4, 5),  # four were measured together: each 0.2
        (79.0, 0.1, 1, 1),  # one at least
        (1.0, 0.0, 1, 72),  # never seen busy
        (10.0, None, 1, 1),  # how busy it was is not known
    ],
)
def test_workers_share_a_gpu_by_its_memory_and_time(
    tmp_path: Path, peak_gb: float, busy: float | None, workers: int, pack: int
) -> None:
    told: dict[str, Any] = {} if busy is None else {"device_busy": busy}
    finish(Store(tmp_path), toy(), **GPU, device_peak_gb=peak_gb, packed=workers, **told)
    assert automatic_pack([toy(seed=1)], Store(tmp_path)) == pack


def test_the_largest_cell_counts_and_a_cell_of_a_cpu_says_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, toy(seed=3))
    with pytest.raises(LaunchError) as unknown:
        automatic_pack([toy(seed=1)], store)
    assert str(unknown.value) == (
        "--pack auto: no finished cell of gaussian-mi says how much of a GPU it needs; run some "
        "with --pack 1 first, or give a number"
    )
    finish(store, toy(), **GPU, device_peak_gb=10.0, device_busy=0.1)
    finish(store, toy(K=64), **GPU, device_peak_gb=20.0, device_busy=0.1)
    assert automatic_pack([toy(seed=1)], store) == 3
