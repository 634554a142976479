"""Memory is known of the same network alone: at a batch that has run, or on a line."""

from bench.estimate.memory import MemoryTable, largest
from tests.fakes.cells import small_cell
from tests.fakes.toys import toy


def table(*peaks: tuple[int, float | None]) -> MemoryTable:
    found = MemoryTable()
    for batch, peak in peaks:
        found.add(small_cell(batch_size=batch), peak)
    return found


def test_the_largest_of_the_same_batch_counts() -> None:
    found = table((16, 0.5), (16, 0.7), (16, None), (32, 0.4))
    assert found.peak_gb(small_cell(batch_size=16, loss="dcl")) == 0.7


def test_other_batches_are_on_a_line_and_never_below_it() -> None:
    assert table((16, 0.5), (32, 0.6)).peak_gb(small_cell(batch_size=64)) == 0.8
    assert table((16, 0.7), (32, 0.5)).peak_gb(small_cell(batch_size=64)) == 0.6
    assert table((16, 0.5)).peak_gb(small_cell(batch_size=64)) is None


def test_another_network_is_not_known() -> None:
    found = table((16, 0.5), (32, 0.6))
    assert found.peak_gb(small_cell(batch_size=16, width=8)) is None
    assert found.peak_gb(small_cell(batch_size=16, image_size=16)) is None


def test_toys_have_no_batch() -> None:
    found = MemoryTable()
    found.add(toy(), 0.3)
    assert found.peak_gb(toy(seed=5)) == 0.3
    assert found.peak_gb(toy(K=16)) is None


def test_of_several_the_largest_is_known_if_all_are() -> None:
    assert largest([0.5, 0.7]) == 0.7
    assert largest([0.5, None]) is None
    assert largest([]) is None
