"""Printed effects beside measured ones: which cells, which numbers, what they say together."""

import json
from typing import Any

import pytest
from scipy.stats import nct, t, ttest_1samp, ttest_ind

from bench.analysis import measured as measured_module
from bench.analysis.claims import judge_check
from bench.analysis.compared_effects import (
    compare_effects,
    on_other_data,
    same_data,
    shown_effects,
)
from bench.analysis.measured import Measured
from bench.analysis.room import Rooms
from bench.analysis.statistics import Interval
from bench.analysis.verdicts import Verdict, judge_effect
from bench.cells.baseline import without_baselines
from bench.papers.reader import load_paper
from bench.results.reader import Finished
from bench.suites.baselines import baseline_cells
from bench.suites.checks import Exceeds
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.suite import ONLY_RUNS
from tests.fakes.effects import NOISE, accuracy, effects, of_artifact
from tests.fakes.paths import SUITES


def knn(cell: Any) -> dict[str, float]:
    return {"knn_top1": accuracy(cell)}


def table_1(scale: str = "cifar", metric: Any = knn) -> list[Any]:
    return of_artifact(effects("dcl-table-1", scale, metric), "table-1-cifar10", "knn_top1")


def test_the_measured_effect_is_the_difference_of_means_with_welchs_interval() -> None:
    rows = table_1()
    assert [row.at["batch_size"] for row in rows] == [32, 64, 128, 256, 512]
    assert [row.printed.number for row in rows if row.printed] == [4.8, 4.0, 3.3, 2.8, 2.2]
    for row in rows:
        gain = 128 / row.at["batch_size"]
        own, base = NOISE["dcl"][:5], NOISE["infonce"][:5]
        test = ttest_ind(own, base, equal_var=False)
        low, high = test.confidence_interval(0.95)
        assert row.measured is not None
        assert row.measured.mean == pytest.approx(gain + sum(own) / 5 - sum(base) / 5)
        assert row.measured.low == pytest.approx(gain + low)
        assert row.measured.high == pytest.approx(gain + high)
        assert row.measured.n == 5
        assert (row.of, row.over) == ({"loss": "dcl"}, {"loss": "infonce"})
        assert len(row.cells) == 10


def test_the_smallest_detectable_effect_is_seen_four_times_in_five() -> None:
    """By the noncentral t distribution, which the formula of the verdicts comes near to."""
    (row, *_) = table_1()
    own, base = NOISE["dcl"][:5], NOISE["infonce"][:5]
    test = ttest_ind(own, base, equal_var=False)
    error = (sum(own) - sum(base)) / 5 / test.statistic
    assert row.smallest_effect == pytest.approx(
        error * (t.ppf(0.975, test.df) + t.ppf(0.8, test.df))
    )
    power = nct.sf(t.ppf(0.975, test.df), test.df, row.smallest_effect / error)
    assert power == pytest.approx(0.8, abs=0.03)


def test_it_is_the_effect_that_a_claim_is_judged_on() -> None:
    path = SUITES / "dcl-table-1.yaml"
    suite = load_suite(path)
    cells = without_baselines(expand(suite, "cifar", path))
    done = [(cell, Finished(knn(cell), {})) for cell in cells]
    where: dict[str, Any] = {"dataset": "cifar10", "batch_size": 32}
    check = Exceeds(
        check="exceeds", metric="knn_top1", where=where | {"loss": "dcl"},
        than=where | {"loss": "infonce"},
    )  # fmt: skip
    claim = load_paper("dcl").claim("small-batch-cifar-stl10")
    effect = judge_check(check, claim, Measured(cells, done)).effect
    (row, *_) = table_1()
    assert effect is not None
    assert row.measured is not None
    assert (effect.mean, effect.n) == (row.measured.mean, row.measured.n)


def test_how_seeds_spread_is_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paired where the table says so: then what a seed moves alike cancels."""
    monkeypatch.setattr(measured_module, "is_paired", lambda *_: True)
    (row, *_) = table_1(metric=lambda cell: {"knn_top1": 10.0 * cell.seed + accuracy(cell)})
    differences = [4 + d - i for d, i in zip(NOISE["dcl"], NOISE["infonce"], strict=True)][:5]
    interval = ttest_1samp(differences, 0).confidence_interval(0.95)
    assert row.measured is not None
    assert (row.measured.low, row.measured.high) == pytest.approx(tuple(interval))


def test_other_cells_need_not_be_finished() -> None:
    def partly(cell: Any) -> dict[str, float] | None:
        done = {32: 5, 64: 2, 128: 1, 256: 0, 512: 5}[cell.batch_size]
        lacks = cell.batch_size == 512 and cell.loss == "infonce"
        return None if cell.seed >= done or lacks else knn(cell)

    rows = table_1(metric=partly)
    assert [row.measured.n if row.measured else 0 for row in rows] == [5, 2, 1, 0, 0]
    assert [row.verdict for row in rows[2:]] == [
        Verdict.ONE_SEED, Verdict.NOT_MEASURED, Verdict.NOT_MEASURED
    ]  # fmt: skip
    assert rows[2].smallest_effect is None


def test_a_reduced_scale_says_what_stands_for_what() -> None:
    rows = of_artifact(effects("dcl-table-1", "cifar", knn), "table-1-imagenet1k", "knn_top1")
    assert [row.replaced for row in rows] == [("dataset cifar10 instead of imagenet1k",)] * 5
    assert [row.replaced for row in table_1()] == [()] * 5
    rows = effects("dcl-table-6", "cpu", lambda c: {"warped_linear_top1": 1.0 * c.seed})
    own = of_artifact(rows, "table-6")
    assert [row.replaced for row in own if row.at["method"] == "moco-v2"] == [
        ("K 256 instead of 65536", "epochs 10 instead of 100"),
        ("K 256 instead of 65536", "epochs 20 instead of 200"),
    ]
    rows = effects("eqco-table-2", "cpu", lambda c: {"warped_linear_top1": 1.0 * c.seed})
    (long, *_) = of_artifact(rows, "text-4")
    assert long.replaced == (
        "K 126 instead of 256", "alpha 4096 instead of 65536", "epochs 20 instead of 200",
        "alpha 126 instead of 256",
    )  # fmt: skip
    assert long.measured is not None


def test_a_scale_stands_for_no_rows_that_it_leaves_out() -> None:
    """At cifar labels are clean; the paper prints what dual temperature gains with noise."""
    rows = effects("dual-temperature-table-2", "cifar", lambda c: {"test_top1": 1.0 * c.seed})
    own = of_artifact(rows, "table-2", "test_top1")
    assert [row.measured is None for row in own if row.printed] == [True] * 6
    assert [row.measured is None for row in own if not row.printed] == [False]


def test_only_rows_with_effects_say_which_numbers_correspond() -> None:
    """The quoted rows of Table 7 have other epochs and batches, which no cell has."""
    rows = effects("dcl-table-7", "cpu", lambda _: {"warped_linear_top1": 60.0})
    assert [row.replaced for row in of_artifact(rows, "table-7")] == [
        ("batch_size 32 instead of 256", "epochs 50 instead of 1000"),
        ("batch_size 64 instead of 512", "epochs 50 instead of 1000"),
    ]


def test_at_a_published_scale_nothing_stands_for_anything() -> None:
    rows = effects("dcl-table-1", "gpu", knn)
    measured = {row.artifact for row in rows if row.measured}
    assert measured == {"table-1-cifar10", "text-4.2-gains-batch32-cifar"}
    assert not any(row.replaced for row in rows)


def test_the_scales_metric_stands_in_for_the_papers() -> None:
    warped = table_1("cpu", lambda cell: {"warped_knn_top1": accuracy(cell), "knn_top1": 99.0})
    (row,) = (row for row in warped if row.at["batch_size"] == 32)
    assert row.measured is not None
    assert (row.metric, row.stand_in) == ("knn_top1", "warped_knn_top1")
    assert row.measured.mean == pytest.approx(3.96, abs=0.1)
    assert all(row.measured is None for row in table_1("cpu"))
    assert {row.stand_in for row in table_1()} == {None}


def test_values_that_only_one_side_has_stand_alone() -> None:
    rows = table_1("cpu", lambda cell: {"warped_knn_top1": accuracy(cell)})
    found = {row.at["batch_size"]: (row.printed is None, row.measured is None) for row in rows}
    assert found == {
        16: (True, False), 32: (False, False), 64: (False, False), 128: (False, False),
        256: (False, False), 512: (False, True),
    }  # fmt: skip
    assert [row.at["batch_size"] for row in shown_effects(rows)] == [16, 32, 64, 128, 256, 512]


def test_a_printed_gain_has_no_effects_at_other_values_beside_it() -> None:
    rows = of_artifact(effects("dcl-table-1", "cifar", knn), "text-4.2-gains-batch32-cifar")
    assert [row.at for row in rows if row.metric == "knn_top1"] == [
        {"batch_size": 32, "dataset": "cifar10"},
        {"batch_size": 32, "dataset": "cifar100"},
    ]
    assert [row.measured is None for row in rows if row.metric == "knn_top1"] == [False, True]
    rows = effects("dcl-table-1", "cifar", lambda _: {"linear_top1": 60.0})
    drops = of_artifact(rows, "text-4.2-imagenet100-drop")
    assert [row.at["loss"] for row in drops] == ["dcl", "infonce"]


def test_readings_of_a_row_are_effects_by_themselves() -> None:
    """The momentum target gains about 2 points, whatever the method: three of them."""
    made = {"linear_top1": 60.0, "warped_linear_top1": 60.0}
    for scale in ("paper", "cpu"):
        rows = of_artifact(effects("unigrad-table-3", scale, lambda _: made), "text-4.2")
        assert {row.at["method"] for row in rows} == {"simclr-momentum", "unigrad", "vicreg-l2"}
        assert [row.printed.number for row in rows if row.printed] == [2.0, 2.0, 2.0]


def test_cells_of_several_rows_that_nothing_tells_apart_belong_to_none() -> None:
    """At cpu one network stands for both wide ones, in three widths."""
    rows = of_artifact(
        effects("eqco-table-7", "cpu", lambda c: {"warped_linear_top1": c.seed}), "table-7"
    )
    assert [(row.printed is None, row.measured is None) for row in rows] == [
        *[(False, True)] * 2, *[(True, False)] * 3
    ]  # fmt: skip
    assert [row.at["width"] for row in rows[2:]] == [8, 16, 32]


def test_what_differs_beside_the_baseline_goes_with_its_row() -> None:
    """Table 9 sets tuned runs of DCL beside untuned ones without, at either of two rates."""
    rows = effects("dcl-table-9", "paper", lambda c: {"linear_top1": 60.0 + (c.loss == "dcl")})
    assert [row.measured.mean for row in of_artifact(rows, "table-9") if row.measured] == [1] * 6


def test_effects_of_combinations_of_settings_are_over_the_same_baseline() -> None:
    made = {("moco-v2", False): 1.0, ("moco-v2", True): 3.0, ("multi-crop", False): 7.0,
            ("multi-crop", True): 15.0}  # fmt: skip
    rows = effects("unigrad-table-4", "paper", lambda c: {"linear_top1": made[c.views, c.cutmix]})
    found = [(row.printed.number, row.measured.mean) for row in of_artifact(rows, "table-4")
             if row.printed and row.measured]  # fmt: skip
    assert found == [(0.9, 2.0), (1.4, 6.0), (2.0, 14.0)]


@pytest.mark.parametrize(
    ("printed", "low", "high", "verdict"),
    [
        (4.8, 0.2, 1.0, Verdict.SMALLER),
        (-4.8, -1.0, -0.2, Verdict.SMALLER),
        (0.8, 0.2, 1.0, Verdict.SAME),
        (1.09, 0.2, 1.0, Verdict.SAME),  # 1.0, rounded
        (0.2, 0.4, 1.0, Verdict.LARGER),
        (-0.2, -1.0, -0.4, Verdict.LARGER),
        (4.8, -1.0, -0.2, Verdict.OPPOSITE),
        (-4.8, 0.2, 1.0, Verdict.OPPOSITE),
        (0.0, 0.2, 1.0, Verdict.DIFFERS),
        (0.0, -0.5, 1.0, Verdict.CANNOT_TELL),
        (0.0, 0.02, 0.1, Verdict.SAME),  # no further from 0 than rounding hides
        (-0.1, 0.2, 1.0, Verdict.OPPOSITE),
        (4.8, -0.5, 1.2, Verdict.SMALLER),
        (-0.6, -0.5, 1.2, Verdict.CANNOT_TELL),  # printed from two numbers with one decimal
        (-0.7, -0.5, 1.2, Verdict.SMALLER),
        (1.0, -0.5, 1.2, Verdict.CANNOT_TELL),
        (4.8, None, None, Verdict.ONE_SEED),
    ],
)
def test_verdicts(printed: float, low: float | None, high: float | None, verdict: Verdict) -> None:
    told, why = judge_effect(printed, 0.1, Interval(3, 0.0, None, low, high))
    assert (told, why is not None) == (verdict, verdict == Verdict.CANNOT_TELL)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dcl-table-18", {"loss DCL over InfoNCE"}),
        ("eqco-table-9", {"loss EqCo, alpha 512 over loss InfoNCE"}),
        ("eqco-table-3", {"momentum 0.999 over 0"}),
        ("unigrad-table-3", {
            "target momentum over stop-gradient",
            "target momentum, negative_branch online over target stop-gradient, "
            "negative_branch target",
        }),
    ],
)  # fmt: skip
def test_contrasts_in_words(name: str, told: set[str]) -> None:
    assert {row.contrast for row in effects(name, "paper", lambda _: None)} == told


def test_records_hold_what_json_can_and_the_same_keys() -> None:
    rows = table_1("cpu", lambda cell: {"warped_knn_top1": accuracy(cell)})
    records = [json.loads(json.dumps(row.record(), allow_nan=False)) for row in rows]
    assert {tuple(record) for record in records} == {tuple(records[0])}
    (first,) = (r for r in records if r["at"].get("batch_size") == 32)
    assert (first["artifact"], first["scale"]) == ("dcl/table-1-cifar10", "cpu")
    assert first["row"] is None
    assert (first["metric"], first["stand_in_for"]) == ("warped_knn_top1", "knn_top1")
    assert (first["published"], first["n"], first["level"]) == (None, 5, 0.95)
    assert first["low"] < first["measured"] < first["high"]
    assert (first["data"], first["on_other_data"], first["verdict"]) == ("digits", True, None)
    assert len(first["cells"]) == 10
    (missing,) = (r for r in records if r["measured"] is None)
    assert (missing["n"], missing["verdict"]) == (0, "not measured")
    own = table_1()[0].record()
    assert tuple(own) == tuple(records[0])
    assert (own["data"], own["on_other_data"], own["verdict"]) == ("cifar10", False, "smaller")
    assert (own["row"], own["published"]) == ({"batch_size": 32, "loss": "dcl"}, 4.8)


def test_an_effect_on_other_data_has_no_verdict_and_is_listed_once() -> None:
    """CIFAR-10's gain of DCL at batch 32 stands beside Table 1's CIFAR-10, and nowhere else."""
    every = effects("dcl-table-1", "cifar", knn)
    rows = same_data(every)
    measured = {row.artifact for row in rows if row.measured}
    assert measured == {"table-1-cifar10", "text-4.2-gains-batch32-cifar"}
    imagenet = of_artifact(rows, "table-1-imagenet1k", "knn_top1")
    assert [row.verdict for row in imagenet] == [Verdict.NOT_MEASURED] * len(imagenet)
    assert [row.printed for row in imagenet] == [
        row.printed for row in of_artifact(every, "table-1-imagenet1k", "knn_top1") if row.printed
    ]
    other = on_other_data(every)
    assert len({one.effect.cells for one in other}) == len(other)
    (batch_32,) = (one for one in other if one.effect.at.get("batch_size") == 32)
    record = batch_32.record()
    assert (record["verdict"], record["published"], record["artifact"]) == (None, None, None)
    assert record["artifacts"] == [
        f"dcl/{name}" for name in (
            "table-1-imagenet1k", "table-1-imagenet100", "table-1-cifar100", "table-1-stl10",
            "text-4.2-gains-batch32-stl10",
        )
    ]  # fmt: skip


def rooms_of(suite: Any, cells: Any, levels: dict[str, float]) -> Rooms:
    """Return the rooms of scale cifar where each kind of baseline has an accuracy."""
    settings = suite.scales["cifar"].baselines
    baselines = baseline_cells(cells, settings)
    done: Any = [(b, Finished({"knn_top1": levels[b.baseline]}, {})) for b in baselines]
    return Rooms(settings, done)


@pytest.mark.parametrize(
    ("levels", "why"),
    [
        ({"raw": 40.0, "untrained": 30.0, "labels": 80.0}, None),
        (
            {"raw": 40.0, "untrained": 60.5, "labels": 80.0},
            "cells with batch_size = 32, dataset = cifar10, loss = infonce are not detectably "
            "above baseline: kNN accuracy 60.0, untrained network 60.5",
        ),
        (
            {"raw": 55.0, "untrained": 30.0, "labels": 65.0},
            "the headroom is too small: 10.0 points, but 10.6 are needed (the minimum "
            "detectable effect of 0.64 plus 10)",
        ),
    ],
)
def test_an_effect_without_learning_or_room_says_nothing(
    levels: dict[str, float], why: str | None
) -> None:
    path = SUITES / "dcl-table-1.yaml"
    suite = load_suite(path)
    cells = without_baselines(expand(suite, "cifar", path))
    done = [(cell, Finished(knn(cell), {})) for cell in cells]
    rooms = rooms_of(suite, cells, levels)
    paper = load_paper("dcl")
    rows = compare_effects(suite, "cifar", cells, done, paper, rooms)
    (row, *_) = of_artifact(rows, "table-1-cifar10", "knn_top1")
    assert row.verdict == (Verdict.CANNOT_TELL if why else Verdict.SMALLER)
    assert row.why == why
    assert row.measured is not None
    missing = compare_effects(
        suite, "cifar", cells, done, paper, Rooms(suite.scales["cifar"].baselines)
    )
    (row, *_) = of_artifact(missing, "table-1-cifar10", "knn_top1")
    assert row.why == "the trivial baseline and supervised accuracy are not computed yet"
    assert row.record()["verdict"] == "cannot tell"


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"unjudged": "the loss runs away"}, "the loss runs away"), ({"judged": False}, ONLY_RUNS)],
)
def test_where_no_claim_is_judged_no_effect_is(changes: dict[str, Any], why: str) -> None:
    path = SUITES / "dcl-table-1.yaml"
    suite = load_suite(path)
    scale = suite.scales["cifar"].model_copy(update=changes)
    suite = suite.model_copy(update={"scales": {"cifar": scale}})
    cells = without_baselines(expand(suite, "cifar", path))
    done = [(cell, Finished(knn(cell), {})) for cell in cells]
    rooms = rooms_of(suite, cells, {"raw": 40.0, "untrained": 30.0, "labels": 80.0})
    rows = compare_effects(suite, "cifar", cells, done, load_paper("dcl"), rooms)
    (row, *_) = of_artifact(rows, "table-1-cifar10", "knn_top1")
    assert (row.verdict, row.why) == (Verdict.CANNOT_TELL, why)
    assert row.measured is not None
