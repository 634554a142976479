"""Numbers of other projects beside published values and effects."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bench.suites.others
from bench.analysis.beside import (
    cells_beside,
    effects_words,
    numbers_words,
    pair_effects,
    pair_lines,
    values_beside,
)
from bench.cells.baseline import without_baselines
from bench.papers.others import read_source
from bench.papers.reader import load_paper
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.others import EffectBeside, effects_beside, row_facts
from bench.suites.printed_effects import PrintedEffect, printed_effects
from tests.fakes.others import written
from tests.fakes.paths import SUITES

TABLE = load_suite(SUITES / "dcl-table-1.yaml")
DCL = load_paper("dcl")


def gain(metric: str, batch_size: int) -> PrintedEffect:
    """Return what DCL gains over SimCLR on CIFAR-10 by the paper's Table 1."""
    wanted = {"dataset": "cifar10", "batch_size": batch_size, "loss": "dcl"}
    (found,) = (
        e
        for e in printed_effects(TABLE, DCL)
        if e.value.artifact == "table-1-cifar10"
        and (e.comparison.metric, e.settings) == (metric, wanted)
    )
    return found


def beside(metric: str, batch_size: int) -> list[EffectBeside]:
    return effects_beside(gain(metric, batch_size), TABLE, DCL)


def test_a_value_has_the_numbers_of_its_settings() -> None:
    rows = {v.row: v for v in DCL.artifact("table-1-cifar10").values}
    found = {
        (rows[row].settings["loss"], rows[row].settings["batch_size"], rows[row].metric): others
        for (artifact, row), others in values_beside(TABLE, DCL).items()
        if artifact == "table-1-cifar10"
    }
    assert [other.row.value for other in found["dcl", 32, "linear_top1"]] == [84.6]
    assert numbers_words(found["dcl", 32, "linear_top1"]) == (
        "84.6 (raminnakhli/Decoupled-Contrastive-Learning)"
    )
    assert numbers_words(found["dcl", 128, "knn_top1"]) == "84.1 to 84.4 (lightly-ai/lightly)"
    assert numbers_words(found["infonce", 256, "linear_top1"]) == "69.8 to 83.3 (3 projects)"


def test_an_effect_has_the_differences_of_its_batch_size_and_metric_alone() -> None:
    (found,) = beside("linear_top1", 32)
    assert (found.effect.value, found.effect.is_effect) == (6.3, True)
    assert "epochs = 100, published 200" in found.first.differences
    assert effects_words([found.effect]) == "+6.3 (raminnakhli/Decoupled-Contrastive-Learning)"
    assert beside("knn_top1", 32) == []


def test_effects_and_contrasts_are_told_apart() -> None:
    found = [one.effect for one in beside("knn_top1", 128)]
    assert sorted(effect.value for effect in found) == [-0.3, 1.9, 2.0]
    assert effects_words(found) == "contrasts -0.3 to +2.0 (lightly-ai/lightly)"
    both = [replace(found[0], more={}), found[1]]
    assert effects_words(both) == "+2.0 (lightly-ai/lightly); contrast +1.9 (lightly-ai/lightly)"


@pytest.mark.parametrize(
    ("over", "effects"),
    [
        ({"loss": "infonce"}, [1.5]),
        ({"loss": "infonce", "alpha": None}, [1.5]),  # a loss without alpha
        ({"loss": "infonce", "momentum": None}, []),  # not stated: unknown, never equal
        ({"loss": "eqco"}, []),
    ],
)
def test_what_a_source_does_not_state_is_on_no_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: Any, effects: list[float]
) -> None:
    settings = {"dataset": "cifar10", "batch_size": 32, "arch": "resnet18", "epochs": 5}
    rows = [
        *read_source(written(tmp_path, **settings)),
        *read_source(written(tmp_path, **settings, loss="infonce", value=60.0)),
    ]
    known = [(row, row_facts(row)) for row in rows]
    monkeypatch.setattr(bench.suites.others, "_known_rows", {"linear_top1": known}.get)
    found = effects_beside(replace(gain("linear_top1", 32), over=over), TABLE, DCL)
    assert [one.effect.value for one in found] == effects


@pytest.mark.parametrize(
    ("name", "scale", "data"),
    [
        ("dcl-table-1", "cifar", {"cifar10"}),
        ("dcl-table-1", "cpu", set()),
        ("dcl-table-18", "cifar", {"cifar10"}),
        ("dcl-table-18", "cpu", set()),  # its printed rows name no data set, and digits are other
    ],
)
def test_cells_have_the_numbers_of_their_own_data_alone(
    name: str, scale: str, data: set[str]
) -> None:
    path = SUITES / f"{name}.yaml"
    suite = load_suite(path)
    found = cells_beside(suite, without_baselines(expand(suite, scale, path)), DCL)
    assert {other.row.dataset for one in found for other in one.others} == data
    for one in found:
        assert one.cell.settings["batch_size"] == one.others[0].row.settings["batch_size"]


def test_two_losses_are_compared_in_all_sources() -> None:
    (line,) = pair_lines("dcl", "infonce", pair_effects("dcl", "infonce"))
    nakhli = "raminnakhli/Decoupled-Contrastive-Learning"
    assert f"cifar10, linear accuracy: +2.1 to +6.3 ({nakhli})" in line
    assert "imagenette, kNN accuracy: contrasts -4.2 to -2.5 (lightly-ai/lightly)" in line
    assert pair_effects("infonce", "dcl")[0].value == -pair_effects("dcl", "infonce")[0].value
    assert pair_effects("spirals", "simo") == []
