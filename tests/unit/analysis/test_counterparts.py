"""What stands for a printed setting at a reduced scale."""

from typing import Any

import pytest

from bench.analysis.compared_effects import Counterparts


def counterpart(printed: list[Any], measured: list[Any], everywhere: list[Any] = []) -> list[Any]:  # noqa: B006
    """Return the counterparts of an artifact's values of one setting."""
    rows, cells = [{"x": value} for value in printed], [{"x": value} for value in measured]
    found = Counterparts(rows, [*rows, *({"x": value} for value in everywhere)], cells)
    return [found.of(row)["x"] for row in rows]


@pytest.mark.parametrize(
    ("printed", "measured", "stands"),
    [
        (["imagenet1k"], ["digits"], ["digits"]),
        ([100, 200], [20], [20, 20]),
        ([100, 200], [20, 10], [10, 20]),
        ([16, 256], [16, 126], [16, 126]),
        ([256, 16], [126, 16], [126, 16]),
        ([32, 64, 128], [16, 32, 64], [32, 64, 128]),  # 32 and 64 stand for themselves
        ([32, 64, 128], [32, 64], [32, 64, 128]),
        ([256, 1024], [256], [256, 1024]),
        ([256, 1024], [8, 64, 128], [256, 1024]),
        (["moco", "byol"], ["simclr", "unigrad"], ["moco", "byol"]),
        ([True, False], [3, 4], [True, False]),
        ([None, 65536], [None, 256], [None, 256]),
        ([0.1], [None], [0.1]),
    ],
)
def test_one_value_stands_for_all_and_equally_many_correspond_by_size(
    printed: list[Any], measured: list[Any], stands: list[Any]
) -> None:
    assert counterpart(printed, measured) == stands


def test_numbers_correspond_over_all_artifacts_of_a_suite() -> None:
    """A sentence at 100 epochs of a table with 100 and 200."""
    assert counterpart([100], [10, 20], everywhere=[200]) == [10]


def test_one_value_stands_for_an_artifacts_own_though_another_artifact_has_it() -> None:
    assert counterpart(["imagenet1k"], ["cifar10"], everywhere=["cifar10"]) == ["cifar10"]
    assert counterpart(["cifar10", "cifar100"], ["cifar10"]) == ["cifar10", "cifar100"]


def test_what_the_suite_has_itself_stands_for_nothing_else() -> None:
    """A scale with clean labels alone leaves out the rows with noise."""
    rows: list[Any] = [{"eta": 0.4}, {"eta": 0.8}]
    cells = [{"eta": 0.0}]
    assert Counterparts(rows, rows, cells).of({"eta": 0.4}) == {"eta": 0.0}
    own: dict[str, Any] = {"eta": {0.0, 0.4, 0.8}}
    assert Counterparts(rows, rows, cells, own).of({"eta": 0.4}) == {"eta": 0.4}


def test_without_cells_nothing_stands_for_anything() -> None:
    assert counterpart(["imagenet1k", 3], []) == ["imagenet1k", 3]
