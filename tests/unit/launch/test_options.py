"""How many workers share a GPU."""

from pathlib import Path
from typing import Any

import pytest

from bench.errors import LaunchError
from bench.launch.options import automatic_pack
from bench.results.store import Store
from tests.fakes.timings import finish
from tests.fakes.toys import toy

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
        "--pack auto: no finished cell of gaussian-mi shows how much of a GPU a "
        "cell needs; run some cells with --pack 1 first, or give a number"
    )
    finish(store, toy(), **GPU, device_peak_gb=10.0, device_busy=0.1)
    finish(store, toy(K=64), **GPU, device_peak_gb=20.0, device_busy=0.1)
    assert automatic_pack([toy(seed=1)], store) == 3
