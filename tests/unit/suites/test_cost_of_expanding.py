"""What is done once for each point of a grid, and what is not done at all: counted, not timed."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.cells.pretrain import EncoderCell
from bench.cli.selection import check_scales, select
from bench.cli.workspace import Workspace
from bench.errors import SuiteError
from bench.results.store import State, Store
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.suite import Suite
from tests.fakes.paths import SUITES

SUITE = SUITES / "digits-learning-rate.yaml"
RATES = 5  # of the scale `cpu`


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count checks of whether the settings of a cell belong together."""
    counts = Counter[str]()
    monkeypatch.setattr("bench.cells.pretrain.check_agreement", lambda _: counts.update(["cells"]))
    return counts


def test_seeds_of_a_point_are_checked_once(checked: Counter[str]) -> None:
    seeds = list(range(100))
    cells = expand(load_suite(SUITE), "cpu", SUITE, seeds=seeds)
    pretrained = [cell for cell in cells if isinstance(cell, EncoderCell)]
    assert len({cell.id for cell in pretrained}) == RATES * len(seeds)
    assert [cell.seed for cell in pretrained] == seeds * RATES
    assert checked["cells"] == RATES


def test_a_seed_after_the_first_is_checked_too() -> None:
    path = SUITES / "eqco-table-9.yaml"  # without baselines, which are checked one by one
    with pytest.raises(SuiteError, match="seed: found 4294967296, expected a value less than or"):
        expand(load_suite(path), "quick", path, seeds=[0, 2**32])


def test_a_cell_with_another_seed_is_the_cell_of_that_seed() -> None:
    first, second, *_ = expand(load_suite(SUITE), "cpu", SUITE, seeds=[7, 8])
    assert first.id != second.id
    assert first.but_seed == second.but_seed
    assert first.with_seed(8) == second
    assert first.with_seed(8).id == second.id
    assert type(second).model_validate(second.model_dump()).id == second.id


def test_planning_expands_one_seed_of_the_other_scales(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    selection = select(Workspace(SUITES, tmp_path, tmp_path), SUITE.stem, scale="cpu")
    asked = dict[str, Any]()

    def noted(suite: Suite, scale: str, path: Path, **options: Any) -> list[Cell]:
        asked[scale] = options
        return expand(suite, scale, path, **options)

    monkeypatch.setattr("bench.cli.selection.expand", noted)
    check_scales(selection)
    assert asked == {"smoke": {"seeds": [100]}}


def test_no_former_id_is_asked_for_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = expand(load_suite(SUITE), "smoke", SUITE)
    monkeypatch.setattr(Store, "former_ids", lambda *_: pytest.fail("it was asked for"))
    assert {state.state for state in Store(tmp_path).states(cells)} == {State.MISSING}


def test_what_does_not_depend_on_the_seed_is_made_once_a_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, whole = Counter[str](), EncoderCell.__dict__["science"].fget
    noted = property(lambda cell: made.update(["science"]) or whole(cell))
    monkeypatch.setattr(EncoderCell, "science", noted)
    cells = expand(load_suite(SUITE), "cpu", SUITE, seeds=list(range(20)))
    trained = [cell for cell in cells if isinstance(cell, EncoderCell)]
    assert len({cell.training_id for cell in trained}) == len({c.id for c in trained}) == 20 * RATES
    assert made["science"] == 2 * RATES  # the ids of cells, and of their trainings
    alone = type(trained[7]).model_validate(trained[7].model_dump())
    assert alone.training_id == trained[7].training_id
    assert alone.kind == trained[7].kind
    renamed = trained[7].model_copy(update={"epochs": 3})
    assert renamed.training_id != trained[7].training_id
