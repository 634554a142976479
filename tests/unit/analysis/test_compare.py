"""Printed rows joined with cells by their settings, readings apart, comparability computed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ttest_ind

from bench.analysis.compare import Compared, compare, gain_bases, needed_by_printed
from bench.analysis.statistics import t_interval
from bench.errors import SuiteError
from bench.papers.reader import load_paper
from bench.results.reader import Finished
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from bench.suites.protocol import check_scale, departures, stated_settings
from bench.suites.validate import check_suite
from tests.fakes.cells import small_cell
from tests.fakes.comparisons import compared, printed_value
from tests.fakes.paths import SUITES


def test_every_printed_value_meets_its_own_cells() -> None:
    rows = compared("eqco-table-9", "paper", lambda c: {"mi_lower_bound": printed_value(c)})
    assert len(rows) == 40
    for row in rows:
        assert row.measured is not None
        assert row.measured.mean == pytest.approx(row.published.value)
        assert row.measured.n == 3
        assert (str(row.verdict), row.comparable) == ("same", True)


def test_a_value_off_by_more_than_tolerance_and_rounding_differs() -> None:
    rows = compared("eqco-table-9", "paper", lambda c: {"mi_lower_bound": printed_value(c) - 0.151})
    assert {str(row.verdict) for row in rows} == {"smaller"}


def printed_accuracy(cell: Any) -> float:
    """Return what DCL's Table 18 prints for a cell, in percent."""
    for value in load_paper("dcl").artifact("table-18").values:
        if value.row_settings == {"loss": cell.loss, "tau": cell.tau}:
            assert value.value is not None
            return value.value
    raise AssertionError(cell)


def test_a_deviation_over_an_axis_is_that_of_its_cells() -> None:
    """Of what Table 18 prints, DCL's 0.98 follows from its own cells, SimCLR's 1.44 does not."""
    rows = compared("dcl-table-18", "paper", lambda c: {"knn_top1": printed_accuracy(c)})
    assert {str(row.verdict) for row in rows if row.artifact == "table-18"} == {"same"}
    own = {row.row["loss"]: row for row in rows if row.artifact == "table-18-std"}
    found = {loss: row.measured.mean for loss, row in own.items() if row.measured}
    assert found == {
        "infonce": pytest.approx(1.87, abs=0.005),
        "dcl": pytest.approx(0.98, abs=0.005),
    }
    assert [str(own[loss].verdict) for loss in ("infonce", "dcl")] == ["larger", "same"]


def test_fractions_for_percentages_differ() -> None:
    rows = compared("dcl-table-18", "paper", lambda c: {"knn_top1": printed_accuracy(c) / 100})
    assert {str(row.verdict) for row in rows} == {"smaller"}


def test_a_printed_value_off_by_one_digit_differs() -> None:
    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    cells = expand(suite, "paper", path)
    done = [(cell, Finished({"mi_lower_bound": printed_value(cell)}, {})) for cell in cells]
    paper = load_paper("eqco")
    table = paper.artifact("table-9")
    wrong = [replace(v, value=(v.value or 0) + (v.row == 7)) for v in table.values]
    artifacts = paper.artifacts | {"table-9": replace(table, values=wrong)}
    rows = compare(suite, cells, done, replace(paper, artifacts=artifacts))
    assert [row.published.row for row in rows if str(row.verdict) == "smaller"] == [7]


def test_a_seed_counts_once() -> None:
    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    cells = expand(suite, "quick", path)
    done = [(cell, Finished({"mi_lower_bound": 1.0}, {})) for cell in cells]
    with pytest.raises(ValueError, match=r"^table-9: a mean over seeds has the same seed twice:"):
        compare(suite, cells + cells, done, load_paper("eqco"))


def test_rows_outside_the_scale_are_missing() -> None:
    rows = compared("eqco-table-9", "quick", lambda c: {"mi_lower_bound": printed_value(c)}, 2)
    assert {row.row["K"] for row in rows if str(row.verdict) == "same"} == {64, 128}
    missing = {
        (row.row["K"], row.row["mi_true"]) for row in rows if str(row.verdict) == "not measured"
    }
    assert missing == {(k, mi) for k in (256, 512) for mi in (2, 4, 6, 8, 10)} | {(64, 4), (128, 4)}


def test_another_protocol_is_not_comparable_and_says_why() -> None:
    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    paper = load_paper("eqco")
    (cell, *_) = expand(suite, "smoke", path)
    stated = stated_settings(suite, paper, paper.artifact("table-9"))
    assert [d.text for d in departures(cell, stated)] == [
        "hidden_units = 32, published 256",
        "steps = 50, published 5000",
        "eval_repeats = 5, published 1000",
    ]
    (published, *_) = expand(suite, "paper", path)
    assert departures(published, stated) == []


def test_axes_that_a_row_leaves_open_are_readings() -> None:
    rows = compared(
        "mutual-information-figure-6",
        "paper",
        lambda c: {"linear_top1": 100 - abs(c.eta - (0.4 if c.source == "bank" else 2))},
    )
    found = {row.reading_text: row for row in rows}
    assert set(found) == {
        "source bank, K 4096, bank_rate 0.5",
        "source batch",
    }
    bank = found["source bank, K 4096, bank_rate 0.5"]
    batch = found["source batch"]
    assert bank.measured is not None
    assert batch.measured is not None
    assert bank.measured.mean == pytest.approx(0.4)
    assert batch.measured.mean == 2
    assert (str(bank.verdict), str(batch.verdict)) == ("same", "not comparable")
    assert batch.differences == [
        "source = batch, published bank",
        "K = not used, published 4096",
        "bank_rate = not used, published 0.5",
    ]


def test_the_place_of_the_maximum_needs_the_whole_axis() -> None:
    rows = compared(
        "mutual-information-figure-6",
        "paper",
        lambda c: {} if c.eta == 5 and c.seed == 0 else {"linear_top1": float(-c.eta)},
    )
    assert {row.measured.n for row in rows if row.measured} == {2}


def gains(name: str, artifact: str, metric: Any, **update: Any) -> list[Compared]:
    return [row for row in compared(name, "paper", metric, **update) if row.artifact == artifact]


def test_a_gain_is_the_difference_of_means_with_welchs_interval() -> None:
    def metric(cell: Any) -> dict[str, float]:
        if (cell.seed, cell.loss, cell.dataset) == (1, "infonce", "cifar100"):
            return {}
        gain = {"cifar10": 9.1, "cifar100": 4.4}.get(cell.dataset, 0) if cell.loss == "dcl" else 0
        return {"linear_top1": 50 + 7 * cell.seed + gain + 100 * (cell.batch_size != 32)}

    rows = gains("dcl-table-1", "text-4.2-gains-batch32-cifar", metric)
    found = {row.row["dataset"]: row for row in rows if row.metric == "linear_top1"}
    assert found["cifar10"].what == "gain over loss infonce of linear_top1"
    for dataset, gain, n in (("cifar10", 9.1, 3), ("cifar100", 4.4, 2)):
        measured = found[dataset].measured
        assert measured is not None
        assert measured.mean == pytest.approx(gain)
        assert measured.n == n
        own, base = [50.0, 57.0, 64.0], [50.0, 57.0, 64.0] if n == 3 else [50.0, 64.0]
        test = ttest_ind(own, base, equal_var=False).confidence_interval(0.95)
        assert measured.high == pytest.approx(gain + test.high)
    assert [str(row.verdict) for row in rows if row.metric == "linear_top1"] == ["cannot tell"] * 2
    assert {str(row.verdict) for row in rows if row.metric == "knn_top1"} == {"not measured"}
    (record,) = (r.record() for r in rows if r is found["cifar10"])
    assert len(record["cells"]) == 6


def test_a_drop_is_a_gain_over_the_other_end() -> None:
    def metric(cell: Any) -> dict[str, float]:
        return {"linear_top1": 60 - (5.9 if cell.loss == "infonce" and cell.K == 256 else 0)}

    rows = gains("dcl-figure-3b", "figure-3b", metric, seeds=2)
    drops = {row.row["loss"]: row for row in rows if row.published.metric == "linear_top1_drop"}
    measured = {loss: row.measured for loss, row in drops.items()}
    assert {loss: m and m.mean for loss, m in measured.items()} == {
        "dcl": 0,
        "infonce": pytest.approx(5.9),
    }
    assert drops["infonce"].what == "gain over K 256 of linear_top1"


def test_each_reading_has_a_base_of_its_own() -> None:
    level = {"simclr-momentum": 1.0, "unigrad": 2.0, "vicreg-l2": 3.0}
    rows = gains(
        "unigrad-table-3",
        "text-4.2",
        lambda c: {"linear_top1": level[c.method] * (10 if c.target == "momentum" else 1)},
    )
    found = {row.reading_settings["method"]: row.measured for row in rows}
    assert {k: m and m.mean for k, m in found.items()} == {k: 9 * v for k, v in level.items()}


def test_a_switch_is_no_number_where_gains_look_for_their_baseline() -> None:
    points = [{"layers": 1, "symmetric": at, "epochs": 5} for at in (True, False)]
    assert gain_bases(points, True) == [None, 0]
    points = [{"symmetric": True, "layers": at} for at in (1, 2)]
    assert gain_bases(points, 1) == [None, 0]


def test_a_gain_needs_both_cells() -> None:
    path = SUITES / "eqco-table-2.yaml"
    suite = load_suite(path)
    cells = expand(suite, "paper", path, seeds=[0, 1])
    needed = [
        (seed, ids)
        for name, seed, ids in needed_by_printed(suite, cells, load_paper("eqco"))
        if name.startswith("text-4 ")
    ]
    wanted = [
        (
            seed,
            frozenset(
                c.id
                for c in cells
                if (c.settings["K"], c.settings["epochs"], c.seed) == (256, 200, seed)
            ),
        )
        for seed in (0, 1)
    ]
    assert needed == wanted
    assert {len(ids) for _, ids in needed} == {2}


def test_printed_spreads_widen_the_tolerance() -> None:
    rows = compared("mutual-information-table-3", "paper", lambda _: {"vince_bound_train": 0.0}, 5)
    own = {row.row.get("valid_percent"): row for row in rows if row.metric == "vince_bound_train"}
    assert own[None].tolerance == pytest.approx(0.002)
    assert own[5].tolerance == pytest.approx(8e-6)
    assert [str(own[p].verdict) for p in (90, 5)] == ["smaller", "cannot tell"]


@pytest.mark.slow
@pytest.mark.parametrize("path", suite_paths(SUITES).values(), ids=str)
def test_shipped_suites_agree_with_their_papers(path: Path) -> None:
    suite = load_suite(path)
    paper = check_suite(suite, path)
    assert paper.id == (suite.paper or "")
    for scale in suite.scales:
        check_scale(suite, scale, expand(suite, scale, path), paper)  # raises where it is not so


@pytest.mark.parametrize(
    ("scale", "declared", "message"),
    [
        ("smoke", "published", "eqco-table-9: scales.smoke.protocol: declared 'published', but "
         "hidden_units = 32, published 256"),
        ("paper", "reduced", "eqco-table-9: scales.paper.protocol: declared 'reduced', but every "
         "setting has the value that the paper states"),
    ],
)  # fmt: skip
def test_a_protocol_that_is_not_what_it_says(scale: str, declared: str, message: str) -> None:
    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    changed = suite.scales[scale].model_copy(update={"protocol": declared})
    suite = suite.model_copy(update={"scales": suite.scales | {scale: changed}})
    with pytest.raises(SuiteError) as error:
        check_scale(suite, scale, expand(suite, scale, path), load_paper("eqco"))
    assert str(error.value) == message


def test_a_row_key_that_names_no_setting_is_told() -> None:
    path = SUITES / "mutual-information-figure-6.yaml"
    suite = load_suite(path)
    (comparison,) = suite.compare
    suite = suite.model_copy(update={"compare": [comparison.model_copy(update={"unmatched": []})]})
    with pytest.raises(SuiteError) as error:
        check_suite(suite, path)
    assert str(error.value).startswith(
        f"{path}: compare.0: the rows of text-g have the key 'quantity', which names no setting; "
        "rename it under `renamed` or list it under `unmatched`. "
    )


def test_precision_tells_cells_of_pretrain_apart() -> None:
    """A float32 and a bf16 cell are two readings, not two seeds; toys have one precision alone."""
    assert small_cell(precision="bf16").settings["precision"] == "bf16"
    path = SUITES / "eqco-table-9.yaml"
    toy = expand(load_suite(path), "smoke", path)[0]
    assert "precision" not in toy.settings


def test_the_error_of_few_test_images_is_judged_and_not_shown() -> None:
    """10,000 images: at 90 % the standard error is 0.3 points."""
    noise = [-0.1, 0.0, 0.1]
    rows = compared("dcl-table-1", "cifar", lambda c: {"knn_top1": 90 + noise[c.seed]})
    row = next(r for r in rows if r.measured and not r.reduced)
    assert row.measured == t_interval([89.9, 90.0, 90.1])
    assert row.test_error is not None
    assert row.test_error == pytest.approx(0.3)
    wide = row.measured.widened(row.test_error)
    assert wide.high is not None
    assert row.measured.high is not None
    own = row.measured.high - 90
    assert wide.high - 90 == pytest.approx((own**2 + (1.96 * row.test_error) ** 2) ** 0.5)
    rows = compared("dcl-table-1", "cifar", lambda c: {"knn_top1": 90 + 100 * noise[c.seed]})
    assert {r.test_error for r in rows} == {None}
