"""Printed rows and their partners: the effects that tables state without printing them."""

from typing import Any

import pytest
import yaml

from bench.papers.reader import PAPERS, load_paper
from bench.suites.load import load_suite, suite_paths
from bench.suites.printed_effects import PrintedEffect, printed_effects
from bench.suites.suite import Comparison
from bench.suites.validate import check_suite
from tests.fakes.paths import SUITES


def effects_of(name: str, **update: Any) -> list[PrintedEffect]:
    path = SUITES / f"{name}.yaml"
    suite = load_suite(path).model_copy(update=update)
    return printed_effects(suite, check_suite(suite, path))


def numbers(name: str, artifact: str, metric: str) -> list[float]:
    own = [e for e in effects_of(name) if e.comparison.artifact == artifact]
    return [e.number for e in own if e.comparison.metric == metric]


@pytest.mark.parametrize(
    ("table", "metric", "gain"),
    [
        ("table-1-cifar10", "knn_top1", 4.8),
        ("table-1-cifar10", "linear_top1", 5.3),
        ("table-1-cifar100", "knn_top1", 1.7),
        ("table-1-cifar100", "linear_top1", 4.1),  # Sec. 4.2 prints 4.4
        ("table-1-stl10", "knn_top1", 7.9),
        ("table-1-stl10", "linear_top1", 9.0),
    ],
)
def test_differences_of_rows_are_the_gains_that_the_paper_prints(
    table: str, metric: str, gain: float
) -> None:
    """DCL, Sec. 4.2, prints what its loss gains at batch 32."""
    assert numbers("dcl-table-1", table, metric)[0] == gain


def test_effects_are_the_gains_that_tables_print_in_brackets() -> None:
    """Of the rows of all papers that have one; Table 13 takes DCL's over 77.66, printed as 77.7."""
    stated = {
        (paper, artifact["id"], i): row["stated_gain"]
        for paper, path in PAPERS.items()
        for artifact in yaml.safe_load(path.read_text())["artifacts"]
        for i, row in enumerate(artifact["rows"])
        if "stated_gain" in row
    }
    derived = {
        (e.value.paper, e.value.artifact, e.value.row): e.number
        for name in suite_paths(SUITES)
        for e in effects_of(name)
    }
    found = {place: derived.get(place) for place in stated}
    assert len(found) == 26
    assert found == stated | {("dcl", "table-13", 1): 2.8}


def test_what_is_printed_as_a_gain_is_an_effect_by_itself() -> None:
    own = [e for e in effects_of("dcl-table-1") if e.comparison.artifact.startswith("text-4.2-g")]
    assert [(e.number, e.base) for e in own] == [
        (4.8, None), (1.7, None), (5.3, None), (4.4, None), (7.9, None), (9.0, None)
    ]  # fmt: skip
    assert {(e.of["loss"], e.over["loss"]) for e in own} == {("dcl", "infonce")}


def test_baselines_have_no_effect_themselves() -> None:
    effects = effects_of("dcl-table-18")
    assert {e.settings["loss"] for e in effects} == {"dcl"}
    assert [e.settings["tau"] for e in effects][:3] == [0.07, 0.1, 0.2]
    assert [e.number for e in effects][:3] == [4.7, 1.9, 1.3]


def test_a_row_may_leave_out_what_its_partner_does_not_use() -> None:
    """Table 9 prints alpha with EqCo alone."""
    effects = effects_of("eqco-table-9")
    assert len(effects) == 20
    assert (effects[0].number, effects[0].of) == (0.2, {"loss": "eqco", "alpha": 512})
    assert effects[0].settings == {"mi_true": 2.0, "loss": "eqco", "alpha": 512, "K": 64}


def test_a_row_without_a_partner_has_no_effect() -> None:
    """Table 2 has K = 16 with alpha = 256 alone."""
    own = [e for e in effects_of("eqco-table-2") if e.comparison.artifact == "table-2"]
    assert [(e.settings["K"], e.settings["epochs"], e.number) for e in own] == [
        (256, 200, 0.5),
        (256, 800, 0.3),
    ]


def test_rows_that_name_other_settings_are_partners_by_their_cells() -> None:
    """Its paper calls the losses ce and ce-dual-temperature, each compared by a case of its own."""
    effects = effects_of("dual-temperature-table-2")
    first = next(e for e in effects if e.settings["eta"] == 0.4)
    assert (first.number, first.decimals) == (6.36, 2)
    assert first.half_unit == pytest.approx(0.01)


def test_a_partner_may_stand_in_another_artifact() -> None:
    """NNCLR with DCL and without: two artifacts of one table."""
    (effect, _) = effects_of("dcl-table-8")
    assert effect.base is not None
    assert (effect.number, effect.base.artifact) == (0.5, "table-8-cifar10-baselines")


def test_the_partner_of_the_own_artifact_goes_first() -> None:
    """Table 4's text repeats its rows at batch 32; each is taken over its own artifact's."""
    suite = load_suite(SUITES / "dcl-table-4.yaml")
    for compare in (suite.compare, suite.compare[::-1]):
        found = effects_of("dcl-table-4", compare=compare)
        assert all(e.base is not None and e.base.artifact == e.value.artifact for e in found)


def test_a_printed_gain_is_nobodys_partner() -> None:
    where: dict[str, Any] = {"dataset": "stl10"}
    gain = Comparison(
        artifact="text-4.2-gains-batch32-stl10", metric="knn_top1",
        rows={"metric": "knn_top1_gain"}, where=where | {"loss": "infonce", "batch_size": 32},
        gain_over={"loss": "dcl"},
    )  # fmt: skip
    table = Comparison(
        artifact="table-1-stl10", metric="knn_top1", rows={"loss": "dcl"}, where=where,
        baseline={"loss": "infonce"},
    )  # fmt: skip
    suite = load_suite(SUITES / "dcl-table-1.yaml").model_copy(update={"compare": [gain, table]})
    assert [e.number for e in printed_effects(suite, load_paper("dcl"))] == [7.9]


def test_partners_are_of_one_metric() -> None:
    for effect in effects_of("mutual-information-table-5"):
        assert effect.base is not None
        assert effect.value.metric == effect.base.metric == effect.comparison.metric
