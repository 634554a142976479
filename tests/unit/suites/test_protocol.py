"""Departures from the published protocol: what keeps a value from being compared."""

from dataclasses import replace
from typing import Any

import pytest

from bench.analysis.compare import Compared, compare
from bench.cells.cell import Cell
from bench.errors import SuiteError
from bench.papers.reader import Paper, Statement, load_paper
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.protocol import check_scale, departures
from bench.suites.suite import Suite
from tests.fakes.cells import small_cell
from tests.fakes.departures import departures_of_scale
from tests.fakes.paths import SUITES


def shipped(name: str) -> tuple[Suite, list[Cell]]:
    path = SUITES / f"{name}.yaml"
    suite = load_suite(path)
    return suite, expand(suite, "paper", path)


def dcl_stating(**stated: Any) -> Paper:
    """Return DCL as if its ImageNet protocol stated these too, `__` standing for a dot."""
    paper = load_paper("dcl")
    own = paper.protocol("simclr-imagenet")
    planted = {key.replace("__", "."): value for key, value in stated.items()}
    changed = replace(own, cases=[*own.cases, Statement(planted)])
    return replace(paper, protocols=paper.protocols | {own.id: changed})


def rows_of_table_1(paper: Paper) -> dict[str, list[Compared]]:
    """Return the rows of DCL's Table 1, ImageNet, with each metric."""
    suite, cells = shipped("dcl-table-1")
    rows = [r for r in compare(suite, cells, [], paper) if r.artifact == "table-1-imagenet1k"]
    return {metric: [r for r in rows if r.metric == metric] for metric in {r.metric for r in rows}}


def texts(rows: list[Compared]) -> set[str]:
    return {text for row in rows for text in row.differences}


def test_what_is_as_stated_is_comparable() -> None:
    rows = rows_of_table_1(load_paper("dcl"))
    assert {metric: len(own) for metric, own in rows.items()} == {"linear_top1": 20, "knn_top1": 20}
    assert {row.reading_settings["base_lr"] for row in rows["knn_top1"]} == {0.3, 0.03}
    assert all(row.comparable and row.has_cells for own in rows.values() for row in own)


def test_a_difference_of_the_linear_protocol_concerns_linear_values() -> None:
    rows = rows_of_table_1(dcl_stating(linear__base_lr=10.0))
    assert texts(rows["linear_top1"]) == {"linear.base_lr = 30, published 10"}
    assert not any(row.comparable for row in rows["linear_top1"])
    assert all(row.comparable for row in rows["knn_top1"])


def test_a_difference_of_the_views_concerns_all_values() -> None:
    rows = rows_of_table_1(dcl_stating(views__jitter=[0.4, 0.4, 0.4, 0.1]))
    told = "views.jitter = 0.8, 0.8, 0.8, 0.2, published 0.4, 0.4, 0.4, 0.1"
    assert [texts(own) for own in rows.values()] == [{told}, {told}]
    assert not any(row.comparable for own in rows.values() for row in own)


def test_a_setting_that_no_cell_has_concerns_all_values() -> None:
    rows = rows_of_table_1(dcl_stating(weight_noise=0.05))
    told = "the paper states weight_noise = 0.05, but no cell has this setting"
    assert [texts(own) for own in rows.values()] == [{told}, {told}]
    assert not any(row.comparable for own in rows.values() for row in own)


def test_a_remark_and_what_the_paper_does_not_say_cannot_differ() -> None:
    rows = rows_of_table_1(dcl_stating(hardware="one abacus", feature_dim=None, tau=None))
    assert all(row.comparable for own in rows.values() for row in own)


def test_a_case_is_stated_of_its_cells_alone() -> None:
    stated = [Statement({"K": 16}), Statement({"K": 32}, {"negatives": "queue", "tau": [0.1]})]
    queue, batch = small_cell("moco-v2", tau=0.1, K=64), small_cell("simclr", tau=0.1, K=8)
    warm = small_cell("moco-v2", tau=0.2, K=64)
    told = [[d.text for d in departures(cell, stated)] for cell in (queue, batch, warm)]
    assert told == [["K = 64, published 32"], ["K = 8, published 16"], ["K = 64, published 16"]]


def test_an_included_protocol_is_stated_too() -> None:
    """UniGrad's Table 6 has a protocol that says no more than: as pretrain-100ep."""
    paper = load_paper("unigrad")
    (cell, *_) = shipped("unigrad-table-2")[1]
    less = cell.model_copy(update={"weight_decay": 0.0})
    told = [d.text for d in departures(less, paper.statements("simplification-check"))]
    assert told == ["weight_decay = 0, published 0.0001"]


@pytest.mark.parametrize(
    ("stated", "impossible"),
    [
        ({"weight_noise": 0.05}, True),
        ({"arch": "resnet101"}, True),
        ({"arch": ["resnet101", "resnet50"]}, False),
        ({"linear": "nobody"}, True),
        ({"linear.epochs": 91}, True),
        ({"linear.epochs": 90}, False),
        ({"views.jitter": [0.3, 0.3, 0.3, 0.3]}, True),
        ({"views.jitter": [0.4, 0.4, 0.4, 0.4]}, False),
        ({"knn_against": "memory-bank"}, True),
        ({"epochs": 7}, False),
        ({"warmup_epochs": {"above": 0}}, False),
    ],
)
def test_what_no_cell_can_have_is_told_apart(stated: dict[str, Any], impossible: bool) -> None:
    cell = small_cell(linear="openselfsup")
    assert [d.impossible for d in departures(cell, [Statement(stated)])] == [impossible]


def stated_of_table_3(**stated: Any) -> Paper:
    """Return EqCo as if its Table 3 stated these too."""
    paper = load_paper("eqco")
    table = paper.artifact("table-3")
    changed = replace(table, setting=table.setting | stated)
    return replace(paper, artifacts=paper.artifacts | {"table-3": changed})


def test_a_published_scale_is_refused_for_what_its_cells_could_have() -> None:
    suite, cells = shipped("eqco-table-3")
    check_scale(suite, "paper", cells, stated_of_table_3(weight_noise=0.05, arch="resnet101"))
    with pytest.raises(SuiteError) as error:
        check_scale(suite, "paper", cells, stated_of_table_3(weight_noise=0.05, epochs=101))
    assert str(error.value) == (
        "eqco-table-3: scales.paper.protocol: declared 'published', but epochs = 100, published 101"
    )


def test_departures_of_a_scale_are_those_of_its_printed_values() -> None:
    suite, cells = shipped("eqco-table-3")
    assert departures_of_scale(suite, cells, load_paper("eqco")) == []
    assert departures_of_scale(suite, cells, stated_of_table_3(weight_noise=0.05)) == [
        "the paper states weight_noise = 0.05, but no cell has this setting"
    ]


def test_departures_of_a_figure_are_those_of_all_cells_with_the_fewest() -> None:
    """Figure 4 has runs of 20, 50 and 200 epochs; 200 are stated."""
    suite, cells = shipped("dcl-figure-4")
    paper = load_paper("dcl")
    assert departures_of_scale(suite, cells, paper) == []
    short = [cell for cell in cells if cell.settings["epochs"] < 200]
    assert departures_of_scale(suite, short, paper) == ["epochs = 20, 50, published 200"]
