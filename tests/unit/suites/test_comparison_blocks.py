"""Blocks of `compare`: the comparisons that they stand for, and where a mistake in one is."""

from typing import Any

import pytest

from bench.suites.comparison_blocks import ComparisonBlock, comparisons
from bench.suites.load import load_suite
from bench.suites.suite import Comparison, Layout
from tests.fakes.paths import SUITES
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace


def of_block(**keys: Any) -> list[Comparison]:
    return comparisons([ComparisonBlock.model_validate(keys)])


def test_artifacts_come_before_metrics_and_metrics_before_cases() -> None:
    each = of_block(
        artifacts={"a": {"dataset": "x"}, "b": {"dataset": "y"}},
        metrics=["m", "n"],
        cases=[{"rows": {"loss": 1}}, {"rows": {"loss": 2}}],
    )
    expanded = [(c.artifact, c.where, c.metric, c.rows) for c in each]
    assert expanded == [
        (artifact, {"dataset": dataset}, metric, {"loss": loss})
        for artifact, dataset in (("a", "x"), ("b", "y"))
        for metric in ("m", "n")
        for loss in (1, 2)
    ]


def test_cases_and_artifacts_add_to_the_block_and_win() -> None:
    (comparison,) = of_block(
        artifacts={"a": {"dataset": "x", "K": 1}},
        rows={"loss": "dcl", "metric": "gain"},
        where={"K": 0, "tau": 0.1},
        gain_over={"K": 2},
        unmatched=["what"],
        layout={"rows": ["loss"]},
        cases=[
            {
                "metric": "m",
                "rows": {"loss": "infonce"},
                "where": {"K": 3},
                "gain_over": {"tau": 1.0},
                "unmatched": ["label"],
            }
        ],
    )
    assert comparison.model_dump(exclude={"block", "key_paths", "layout"}) == {
        "artifact": "a",
        "metric": "m",
        "reading": None,
        "rows": {"loss": "infonce", "metric": "gain"},
        "where": {"K": 3, "tau": 0.1, "dataset": "x"},
        "gain_over": {"K": 2, "tau": 1.0},
        "baseline": {},
        "unmatched": ["what", "label"],
        "argmax": None,
        "std_over": None,
    }
    assert comparison.layout == Layout(rows=["loss"])


def test_metrics_may_name_their_readings() -> None:
    each = of_block(artifact="a", metrics={"m": "first", "n": "second"})
    expanded = [(c.metric, c.reading) for c in each]
    assert expanded == [("m", "first"), ("n", "second")]


def test_table_1_of_dcl_is_ten_comparisons_of_one_block() -> None:
    suite = load_suite(SUITES / "dcl-table-1.yaml")
    expanded = [(c.artifact, c.metric, c.where) for c in suite.compare if c.block == "compare.0"]
    assert expanded == [
        (f"table-1-{dataset}", metric, {"dataset": dataset})
        for dataset in ("imagenet1k", "imagenet100", "cifar10", "cifar100", "stl10")
        for metric in ("knn_top1", "linear_top1")
    ]


TABLE_9 = {"artifact": "table-9", "metric": "mi_lower_bound"}
NO_METRIC = (
    "found 'mi_lower_bond'. Did you mean 'mi_lower_bound'? Allowed here: mi_lower_bound, "
    "mi_lower_bound_std."
)
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no artifact": (
        {"metric": "mi_lower_bound"},
        ": artifact, artifacts: exactly one of these keys is needed.",
    ),
    "artifacts twice": (
        TABLE_9 | {"artifacts": {"table-9": {}}},
        ": artifact, artifacts: exactly one of these keys is needed.",
    ),
    "no metric": (
        {"artifact": "table-9"},
        ": metric, metrics, cases.N.metric: exactly one of these keys is needed.",
    ),
    "metrics twice": (
        TABLE_9 | {"metrics": ["mi_lower_bound"]},
        ": metric, metrics, cases.N.metric: exactly one of these keys is needed.",
    ),
    "a metric of a case too": (
        TABLE_9 | {"cases": [{"metric": "mi_lower_bound"}]},
        ": metric, metrics, cases.N.metric: exactly one of these keys is needed.",
    ),
    "a case without a metric": (
        {"artifact": "table-9", "cases": [{"metric": "mi_lower_bound"}, {"rows": {"K": 8}}]},
        ": cases.1.metric is missing.",
    ),
    "readings twice": (
        {"artifact": "table-9", "metrics": {"mi_lower_bound": "x"}, "reading": "y"},
        ": reading: the key is given under metrics too; remove one of the two.",
    ),
    "two reductions": (
        TABLE_9 | {"argmax": "K", "cases": [{"gain_over": {"K": 8}}]},
        ": argmax, std_over, gain_over: at most one of these keys may be given.",
    ),
    "an unknown key of a case": (
        TABLE_9 | {"cases": [{"rowss": {"K": 8}}]},
        ".cases.0.rowss: unknown key. Did you mean 'rows'? Allowed here: rows, where, gain_over, "
        "baseline, unmatched, metric.",
    ),
    "metrics of another kind": (
        {"artifact": "table-9", "metrics": 3},
        ".metrics: found 3, expected a list.",
    ),
    "an unknown artifact": (
        {"artifacts": {"table-9": {}, "table-99": {}}, "metric": "mi_lower_bound"},
        ".artifacts.table-99: paper 'eqco' has no artifact 'table-99'. Did you mean 'table-9'? ",
    ),
    "an unknown setting of an artifact": (
        {"artifacts": {"table-9": {"looss": "eqco"}}, "metric": "mi_lower_bound"},
        ".artifacts.table-9.looss: found 'looss'. Did you mean 'loss'? ",
    ),
    "an unknown metric": (
        {"artifact": "table-9", "metrics": ["mi_lower_bound", "mi_lower_bond"]},
        f".metrics.1: {NO_METRIC}",
    ),
    "an unknown metric with a reading": (
        {"artifact": "table-9", "metrics": {"mi_lower_bond": "x"}},
        f".metrics.mi_lower_bond: {NO_METRIC}",
    ),
    "an unknown metric of a case": (
        {"artifact": "table-9", "cases": [{"metric": "mi_lower_bond"}]},
        f".cases.0.metric: {NO_METRIC}",
    ),
    "an unknown setting of a case": (
        TABLE_9 | {"cases": [{"rows": {"K": 64}}, {"where": {"looss": "eqco"}}]},
        ".cases.1.where.looss: found 'looss'. Did you mean 'loss'? ",
    ),
    "an unknown setting that a case gains over": (
        TABLE_9 | {"cases": [{"gain_over": {"looss": "eqco"}}]},
        ".cases.0.gain_over.looss: found 'looss'. Did you mean 'loss'? ",
    ),
    "an unknown setting of a case's baseline": (
        TABLE_9 | {"cases": [{"baseline": {"looss": "infonce"}}]},
        ".cases.0.baseline.looss: found 'looss'. Did you mean 'loss'? ",
    ),
    "a baseline that no printed row has": (
        TABLE_9 | {"baseline": {"loss": "infonc", "alpha": None}},
        ".baseline.loss: rows with loss = infonc, alpha = null cannot be the baseline, because no "
        "published row of table-9 differs from such a row only in loss, alpha",
    ),
    "a baseline of what is a gain already": (
        TABLE_9 | {"gain_over": {"K": 8}, "cases": [{"baseline": {"loss": "infonce"}}]},
        ": gain_over, baseline: only one of these keys may be given, because a "
        "published gain already has a baseline.",
    ),
    "a baseline of a reduction": (
        TABLE_9 | {"argmax": "K", "baseline": {"loss": "infonce"}},
        ": baseline: this key cannot be combined with argmax or std_over.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_at_its_place_in_the_block(workspace: Workspace, name: str) -> None:
    block, expected = MISTAKES[name]
    workspace.suite(changed(SUITE, {"compare": [*SUITE["compare"], block]}))
    answer = workspace.call("plan", "small")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    begin = f"bench: suites/small.yaml: compare.1{expected}"
    assert answer.err.startswith(begin)
    assert answer.err == f"{begin}\n" or not expected.endswith(".")
