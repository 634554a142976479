"""The rule that chooses the recipes of the scale `cifar`, on planted searches."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.cells.baseline import without_baselines
from bench.suites.expand import expand
from bench.suites.load import load_suite
from benchmarks.recipes import SLOWEST, Trial, chosen, rows
from tests.fakes.paths import SUITES

SGD, ADAMW, MUON = (
    Trial("sgd", 0.1, (50.0, 40.0), 100.0),
    Trial("adamw", 0.001, (52.0, 41.0), 110.0),
    Trial("muon", 0.1, (54.0, 42.0), 120.0),
)


def test_the_highest_mean_over_both_settings_wins() -> None:
    lopsided = replace(ADAMW, accuracies=(60.0, 30.0))
    assert chosen([SGD, lopsided, MUON]) == MUON


def test_sgd_wins_a_tie_and_the_cheapest_wins_without_it() -> None:
    near = replace(SGD, accuracies=(53.5, 41.0))
    assert chosen([near, ADAMW, MUON]) == near
    close = replace(ADAMW, accuracies=(53.5, 41.0))
    assert chosen([SGD, close, MUON]) == close


def test_a_tie_is_between_the_best_trials_of_optimisers() -> None:
    worse, better = replace(SGD, accuracies=(53.0, 41.5)), replace(SGD, accuracies=(54.0, 41.9))
    twice = [replace(trial, base_lr=1.0, accuracies=(9.0, 9.0)) for trial in (ADAMW, MUON)]
    assert chosen([worse, better, ADAMW, MUON, *twice]) == better


def test_what_costs_much_more_than_the_cheapest_optimiser_is_left_out() -> None:
    cheapest = [SGD, replace(SGD, base_lr=1.0, core_s=140.0, accuracies=(9.0, 9.0))]  # mean 120
    adamw = [ADAMW, replace(ADAMW, base_lr=1.0, core_s=150.0, accuracies=(9.0, 9.0))]
    at_limit = [replace(MUON, base_lr=lr, core_s=SLOWEST * 120.0) for lr in (0.1, 1.0)]
    assert chosen([*cheapest, *adamw, *at_limit]) == at_limit[0]
    beyond = [replace(trial, core_s=trial.core_s + 1.0) for trial in at_limit]
    assert chosen([*cheapest, *adamw, *beyond]) == ADAMW
    told = [(row[0], row[-1]) for row in rows([*beyond, *adamw, *cheapest], ADAMW)]
    over = ("muon", "over the time limit")
    assert told == [("sgd", ""), ("sgd", ""), ("adamw", "taken"), ("adamw", ""), over, over]


def test_optimisers_have_equally_many_trials_and_trials_equally_many_settings() -> None:
    with pytest.raises(ValueError, match="unequal numbers of trials: sgd 1, muon 2"):
        chosen([SGD, MUON, replace(MUON, base_lr=0.2)])
    with pytest.raises(ValueError, match="some trials lack a setting"):
        chosen([SGD, replace(MUON, accuracies=(54.0,))])


@pytest.mark.parametrize("path", sorted(SUITES.glob("recipe-*.yaml")), ids=lambda path: path.stem)
def test_a_search_trains_one_loss_on_held_out_images_with_a_seed_of_its_own(path: Path) -> None:
    cells = without_baselines(expand(load_suite(path), "cifar", path))
    assert {cell.known["held_out"] for cell in cells} == {0.1}
    assert min(cell.seed for cell in cells) >= 100
    assert len({cell.known.get("loss") for cell in cells}) == 1
