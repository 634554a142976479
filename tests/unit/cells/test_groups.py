"""Cells by some of their settings: the same as a look at every cell."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cells.cell import Cell
from bench.cells.groups import CellIndex, shards
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

PATH = SUITES / "eqco-table-9.yaml"
CELLS = expand(load_suite(PATH), "paper", PATH)
INDEX = CellIndex(CELLS)
VALUES: dict[str, list[Any]] = {
    "experiment": ["gaussian-mi", "pretrain"],
    "K": [64, 128.0, 1000],
    "loss": ["eqco", "infonce", ["eqco"]],
    "alpha": [None, 512],
    "mi_true": [2, 10.0],
    "seed": [0, 1, 7],
    "tau": [1.0, True],
    "no_setting": [None, 1],
}


def one_by_one(wanted: dict[str, Any]) -> list[Cell]:
    """Look at every cell."""
    known = [(cell, {"experiment": cell.experiment} | cell.model_dump()) for cell in CELLS]
    return [c for c, own in known if all(k in own and own[k] == v for k, v in wanted.items())]


@given(st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in VALUES.items()}))
def test_finds_what_a_look_at_every_cell_finds(wanted: dict[str, Any]) -> None:
    assert INDEX.where(wanted) == one_by_one(wanted)


def test_what_was_found_may_be_altered() -> None:
    INDEX.where({"K": 64}).clear()
    assert len(INDEX.where({"K": 64})) == len(CELLS) / 4


@pytest.mark.parametrize("name", ["id", "settings", "known"])
def test_a_copy_with_other_settings_has_its_own(name: str) -> None:
    cell = CELLS[0]
    before = getattr(cell, name)
    changed = cell.model_copy(update={"K": 4096})
    assert getattr(changed, name) != before
    assert getattr(changed, name) == getattr(type(cell)(**changed.model_dump()), name)


FIVE = SUITES / "dcl-table-5.yaml"
SHARING = expand(load_suite(FIVE), "paper", FIVE)  # several evaluations share a training


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_parts_hold_every_cell_once_whatever_the_order(random: Random, parts: int) -> None:
    cells = CELLS[:20] + SHARING
    found = shards(cells, parts)
    assert sorted(c.id for part in found for c in part) == sorted(c.id for c in cells)
    random.shuffle(cells)
    assert [{c.id for c in part} for part in shards(cells, parts)] == [
        {c.id for c in part} for part in found
    ]


def test_parts_keep_a_training_together_and_are_about_equal() -> None:
    found = shards(SHARING, 4)
    trainings = [{cell.training_id for cell in part} for part in found]
    assert sum(map(len, trainings)) == len({cell.training_id for cell in SHARING})
    counts = [len(part) for part in shards(CELLS, 7)]
    assert max(counts) - min(counts) <= 1
