"""Each predicate on made data where the answer is known: holds, fails, too few seeds, missing."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from bench.analysis.claims import Judged, judge_claims
from bench.config.checks import Check
from bench.config.grid import expand
from bench.config.load import load_suite
from bench.config.record import Cell
from bench.config.suite import Suite
from bench.published.reader import load_paper
from bench.store.export import Finished

TABLE_9 = Path(__file__).parents[2] / "suites" / "eqco-table-9.yaml"
ADAPTER: TypeAdapter[Check] = TypeAdapter(Check)
EQCO = {"loss": "eqco", "alpha": 512.0}
INFONCE = {"loss": "infonce", "alpha": None}


def cells_and_suite(check: dict[str, Any], seeds: int) -> tuple[list[Cell], Suite]:
    suite = load_suite(TABLE_9)
    checks = {"toy-mi-steady": [ADAPTER.validate_python(check)]}
    cells = expand(suite, "paper", TABLE_9, seeds=range(seeds), where={"mi_true": [8, 10]})
    return cells, suite.model_copy(update={"claims": checks})


def judge(check: dict[str, Any], metric: Any, seeds: int = 3, keep: Any = None) -> Judged:
    cells, suite = cells_and_suite({"metric": "m"} | check, seeds)
    done = [
        (cell, Finished({"m": metric(cell), "b": 1.0}, {}, [], {}))
        for cell in cells
        if keep is None or keep(cell)
    ]
    (judged,) = judge_claims(suite, "paper", cells, done, load_paper("eqco"))
    return judged


def noise(cell: Any) -> float:
    return float((cell.K * 7 + cell.seed * 13) % 5) / 1000


def test_flat_holds_and_fails() -> None:
    check = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    flat = judge(check, lambda c: c.mi_true + noise(c))
    steep = judge(check, lambda c: c.K / 100 + noise(c))
    assert (str(flat.verdict), str(steep.verdict)) == ("holds", "fails")
    assert steep.effect is not None
    assert steep.effect.mean == pytest.approx(4.48, abs=0.01)  # from K = 64 to K = 512


def test_flat_ignores_other_cells() -> None:
    check = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    metric = lambda c: noise(c) if c.loss == "eqco" else c.K  # noqa: E731
    assert str(judge(check, metric).verdict) == "holds"


def test_flatter_takes_the_smallest_difference() -> None:
    check = {"check": "flatter", "over": "K", "where": EQCO, "than": INFONCE}

    def steeper(cell: Any) -> float:
        return float(cell.K / (100 if cell.loss == "infonce" else 1000))

    holds = judge(check, steeper)
    assert holds.effect is not None
    assert holds.effect.mean == pytest.approx(4.48 - 0.448)
    turned = judge(check, lambda c: -steeper(c) if c.loss == "eqco" else 0.0)
    assert (str(holds.verdict), str(turned.verdict)) == ("holds", "fails")


def test_flatter_fails_if_one_setting_does() -> None:
    check = {"check": "flatter", "over": "K", "where": EQCO, "than": INFONCE}
    metric = lambda c: c.K / 100 if (c.loss == "infonce") == (c.mi_true == 8) else 0.0  # noqa: E731
    assert str(judge(check, metric).verdict) == "fails"


def test_equal_to_other_cells() -> None:
    check = {
        "check": "equal", "within": 0.01, "where": EQCO | {"K": 512}, "than": INFONCE | {"K": 512}
    }  # fmt: skip
    assert str(judge(check, lambda c: c.mi_true + noise(c)).verdict) == "holds"
    assert str(judge(check, lambda c: 0.1 * (c.loss == "eqco")).verdict) == "fails"


def test_equal_to_a_number() -> None:
    check = {"check": "equal", "within": 0.1, "value": 50, "where": EQCO}
    assert str(judge(check, lambda c: 50 + noise(c)).verdict) == "holds"
    assert str(judge(check, lambda c: 49.8 + noise(c)).verdict) == "fails"


def test_below_looks_at_every_cell() -> None:
    check = {"check": "below", "bound": "b"}
    assert str(judge(check, lambda c: 0.9 + noise(c)).verdict) == "holds"
    one_above = lambda c: 1.2 if (c.K, c.mi_true, c.loss) == (64, 8, "eqco") else 0.5  # noqa: E731
    assert str(judge(check, one_above).verdict) == "fails"


@pytest.mark.parametrize(("direction", "verdict"), [("rising", "holds"), ("falling", "fails")])
def test_ordered(direction: str, verdict: str) -> None:
    check = {"check": "ordered", "over": "K", "direction": direction}
    assert str(judge(check, lambda c: c.K**0.5 + noise(c)).verdict) == verdict


def test_ordered_fails_on_one_wrong_step() -> None:
    check = {"check": "ordered", "over": "K", "direction": "rising"}
    dip = lambda c: c.K - 500 * (c.K == 256)  # noqa: E731
    assert str(judge(check, dip).verdict) == "fails"


def test_exceeds_takes_the_smallest_difference() -> None:
    """EqCo over InfoNCE, cell by cell: 0.5 everywhere but 0.2 at one K."""
    check = {"check": "exceeds", "where": EQCO, "than": INFONCE}

    def gain(c: Any) -> float:
        return float(c.K + (c.loss == "eqco") * (0.2 if c.K == 128 else 0.5))

    judged = judge(check, lambda c: gain(c) + noise(c))
    assert str(judged.verdict) == "holds"
    assert judged.effect is not None
    assert judged.effect.mean == pytest.approx(0.2)
    assert str(judge(check | {"by": 0.3}, lambda c: gain(c) + noise(c)).verdict) == "fails"
    assert str(judge(check, lambda c: -gain(c) + noise(c)).verdict) == "fails"
    mean = judge(check | {"mean": True}, lambda c: gain(c) + noise(c))
    assert mean.effect is not None
    assert mean.effect.mean == pytest.approx(0.425)  # of 0.5, 0.2, 0.5 and 0.5


@pytest.mark.parametrize(("direction", "verdict"), [("rising", "holds"), ("falling", "fails")])
def test_change_looks_at_the_ends_alone(direction: str, verdict: str) -> None:
    check = {"check": "change", "over": "K", "direction": direction, "by": 2.0, "where": EQCO}
    dip = lambda c: c.K / 100 - 9 * (c.K == 256) + noise(c)  # noqa: E731
    judged = judge(check, dip)
    assert str(judged.verdict) == verdict
    assert judged.effect is not None
    assert abs(judged.effect.mean) == pytest.approx(4.48, abs=0.01)  # from K = 64 to K = 512


def test_settings_that_follow_from_the_axis_split_no_group() -> None:
    """The learning rate goes with the batch size: over the batch size it is not another setting."""
    path = TABLE_9.with_name("dcl-table-1.yaml")
    suite = load_suite(path)
    cells = expand(suite, "cpu", path)
    assert len({cell.settings["lr"] for cell in cells}) > 1
    check = ADAPTER.validate_python(
        {"check": "ordered", "metric": "m", "over": "batch_size", "direction": "rising"}
    )
    done = [(c, Finished({"m": c.settings["batch_size"]}, {}, [], {})) for c in cells]
    asked = suite.model_copy(update={"claims": {"batch-flat-small-scale": [check]}})
    (judged,) = judge_claims(asked, "cpu", cells, done, load_paper("dcl"))
    assert judged.effect is not None
    assert judged.effect.mean == 16  # from 16 to 32


def test_a_rate_that_follows_from_data_set_and_batch_size_splits_no_group() -> None:
    """At the paper's scale the rate differs between data sets at one batch size."""
    path = TABLE_9.with_name("dcl-table-1.yaml")
    suite = load_suite(path)
    cells = [c for c in expand(suite, "paper", path) if c.settings["batch_size"] <= 512]
    check = ADAPTER.validate_python(
        {"check": "flatter", "metric": "m", "over": "batch_size", "where": {"loss": "dcl"},
         "than": {"loss": "infonce"}}
    )  # fmt: skip

    def metric(cell: Any) -> float:
        wide = {"imagenet1k": 5.0}.get(cell.dataset, 9.0)
        return float(cell.batch_size / 480 * (1.0 if cell.loss == "dcl" else wide))

    done = [(c, Finished({"m": metric(c)}, {}, [], {})) for c in cells]
    asked = suite.model_copy(update={"claims": {"batch-flat-small-scale": [check]}})
    (judged,) = judge_claims(asked, "paper", cells, done, load_paper("dcl"))
    assert judged.effect is not None
    assert judged.effect.mean == pytest.approx(4.0)  # of ImageNet-1K, the smallest difference


def test_a_metric_that_is_not_measured_is_told() -> None:
    check = {"check": "flat", "metric": "other", "over": "K", "within": 0.1, "where": EQCO}
    judged = judge(check, lambda _: 1.0)
    assert judged.lacking == "its cells do not measure other"


def test_peak() -> None:
    check = {"check": "peak", "over": "K", "near": [100, 300], "where": EQCO | {"mi_true": 8}}
    assert str(judge(check, lambda c: -abs(c.K - 128) + noise(c)).verdict) == "holds"
    assert str(judge(check, lambda c: c.K + noise(c)).verdict) == "fails"


def test_noise_larger_than_the_effect_is_inconclusive() -> None:
    check = {"check": "ordered", "over": "K", "direction": "rising"}
    metric = lambda c: c.K * (1 if c.seed == 0 else -0.5 if c.seed == 1 else 0.5)  # noqa: E731
    assert str(judge(check, metric).verdict) == "inconclusive"


def test_one_seed_is_inconclusive() -> None:
    check = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    judged = judge(check, lambda _: 1.0, seeds=1)
    assert str(judged.verdict) == "inconclusive"
    assert judged.record()["n"] == 1


def test_a_seed_with_a_missing_cell_does_not_count() -> None:
    check = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    judged = judge(check, lambda _: 1.0, keep=lambda c: c.seed != 0 or c.K != 64)
    assert judged.effect is not None
    assert judged.effect.n == 2


def test_what_is_missing_is_told() -> None:
    check = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    nothing = judge(check, lambda _: 1.0, keep=lambda c: c.K != 64)
    assert (str(nothing.verdict), nothing.lacking) == (
        "not tested", "no seed has all of its cells done",
    )  # fmt: skip
    nowhere = judge(check | {"where": {"loss": "dcl"}}, lambda _: 1.0)
    assert nowhere.lacking == "no cell of this scale has the settings that the check names"
