"""Each predicate on made data where the answer is known: holds, fails, too few seeds, missing."""

from functools import cache, partial
from typing import Any, get_args
from zlib import crc32

import numpy as np
import pytest
from pydantic import TypeAdapter

from bench.analysis import claims
from bench.analysis.claims import Judged, JudgedScale, claim_row, judge_claims, whole_verdict
from bench.analysis.measured import number_at
from bench.analysis.verdicts import ClaimVerdict, worst
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.errors import SuiteError
from bench.papers.printed_checks import PrintedCheck
from bench.papers.reader import load_paper
from bench.results.reader import Finished
from bench.suites.checks import At, Check
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.suite import Scale, StandIn, Suite
from tests.fakes.paths import SUITES

TABLE_9 = SUITES / "eqco-table-9.yaml"
ADAPTER: TypeAdapter[Check] = TypeAdapter(Check)
EQCO = {"loss": "eqco", "alpha": 512.0}
INFONCE = {"loss": "infonce", "alpha": None}
NOT_SEEN = "not seen at this scale"


@cache
def made_cells(seeds: int) -> tuple[list[Cell], Suite]:
    suite = load_suite(TABLE_9)
    where: Any = {"mi_true": [8, 10]}
    return expand(suite, "paper", TABLE_9, seeds=range(seeds), where=where), suite


def cells_and_suite(check: dict[str, Any], seeds: int) -> tuple[list[Cell], Suite]:
    cells, suite = made_cells(seeds)
    checks = {"toy-mi-steady": [ADAPTER.validate_python(check)]}
    return cells, suite.model_copy(update={"claims": checks, "name": "made"})


def judge(check: dict[str, Any], metric: Any, seeds: int = 3, keep: Any = None) -> Judged:
    cells, suite = cells_and_suite({"metric": "m"} | check, seeds)
    done = [
        (cell, Finished({"m": metric(cell), "b": 1.0}, {}))
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


def test_equal_to_other_cells() -> None:
    check = {
        "check": "equal", "within": 0.01, "where": EQCO | {"K": 512}, "than": INFONCE | {"K": 512}
    }  # fmt: skip
    assert str(judge(check, lambda c: c.mi_true + noise(c)).verdict) == "holds"
    unequal = lambda c: 0.1 * (c.loss == "eqco") + noise(c) * (c.seed + 1)  # noqa: E731
    assert str(judge(check, unequal).verdict) == "fails"


def test_equal_to_a_number() -> None:
    check = {"check": "equal", "within": 0.1, "value": 50, "where": EQCO}
    assert str(judge(check, lambda c: 50 + noise(c)).verdict) == "holds"
    assert str(judge(check, lambda c: 49.8 + noise(c)).verdict) == "fails"


def test_below_looks_at_every_cell() -> None:
    check = {"check": "below", "bound": "b"}
    assert str(judge(check, lambda c: 0.9 + noise(c)).verdict) == "holds"

    def one_above(c: Any) -> float:
        return (1.2 if (c.K, c.mi_true, c.loss) == (64, 8, "eqco") else 0.5) + noise(c)

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


def test_of_few_groups_the_others_are_told_too() -> None:
    """By what readers know them by; groups that values of an axis tell apart are not listed."""
    sides = {"where": EQCO | {"K": 512}, "than": INFONCE | {"K": 512}}
    lead = lambda c: (12 - c.mi_true) * (c.loss == "eqco") + noise(c)  # noqa: E731
    judged = judge({"check": "exceeds"} | sides, lead)
    assert judged.effect is not None
    assert judged.effect.mean == pytest.approx(2, abs=0.01)
    ((settings, other),) = judged.others
    assert settings == {"mi_true": 8}
    assert other.mean == pytest.approx(4, abs=0.01)
    assert judged.record()["others"][0]["settings"] == {"mi_true": 8}
    assert judged.record()["group"] == {"mi_true": 10}
    flat = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    assert judge(flat, lambda c: c.mi_true + noise(c)).others == ()


def test_the_deciding_group_is_named() -> None:
    """By settings and, where an axis has many effects, by the values between which it lies."""
    at = {"mi_true": 8}
    flat = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    far = lambda c: float(c.K == 256 and c.mi_true == 8) + 0.5 * (c.K == 128) + noise(c)  # noqa: E731
    assert judge(flat, far).group == at | {"K": [256, 512]}
    assert judge(flat | {"where": EQCO | at}, far).group == {"K": [256, 512]}
    assert judge(flat | {"over": "mi_true", "where": EQCO | {"K": 512}}, far).group == {}
    one = {"where": EQCO | at | {"K": 512}, "than": INFONCE | at | {"K": 512}}
    assert judge({"check": "exceeds"} | one, lambda c: (c.loss == "eqco") + noise(c)).group == {}


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
    cells = without_baselines(expand(suite, "cpu", path))
    assert len({cell.settings["lr"] for cell in cells}) > 1
    check = ADAPTER.validate_python(
        {"check": "ordered", "metric": "m", "over": "batch_size", "direction": "rising"}
    )
    done = [(c, Finished({"m": c.settings["batch_size"]}, {})) for c in cells]
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
        {"check": "moves-less", "metric": "m", "over": "batch_size", "where": {"loss": "dcl"},
         "than": {"loss": "infonce"}, "direction": "rising"}
    )  # fmt: skip

    def metric(cell: Any) -> float:
        wide = {"imagenet1k": 5.0}.get(cell.dataset, 9.0)
        return float(cell.batch_size / 480 * (1.0 if cell.loss == "dcl" else wide))

    done = [(c, Finished({"m": metric(c)}, {})) for c in cells]
    asked = suite.model_copy(update={"claims": {"batch-flat-small-scale": [check]}})
    (judged,) = judge_claims(asked, "paper", cells, done, load_paper("dcl"))
    assert judged.effect is not None
    assert judged.effect.mean == pytest.approx(4.0)  # of ImageNet-1K, the smallest difference
    assert judged.sides == pytest.approx((5.0, 1.0))


def test_rates_of_both_sides_that_move_with_the_batch_split_no_group() -> None:
    """Each loss has a rate of its own at every batch size: all three sizes are compared."""
    path = TABLE_9.with_name("dcl-table-17.yaml")
    suite = load_suite(path)
    cells = without_baselines(expand(suite, "cifar", path))
    assert len({cell.settings["lr"] for cell in cells}) == 6
    check = ADAPTER.validate_python(
        {"check": "exceeds", "metric": "m", "where": {"loss": "cross-entropy"},
         "than": {"loss": "dcl"}}
    )  # fmt: skip
    lead = {32: 2.0, 128: 1.0, 256: 3.0}

    def metric(cell: Any) -> float:
        return float(lead[cell.batch_size] * (cell.loss == "cross-entropy"))

    done = [(c, Finished({"m": metric(c)}, {})) for c in cells]
    asked = suite.model_copy(update={"claims": {"supervised-slightly-lower": [check]}})
    (judged,) = judge_claims(asked, "cifar", cells, done, load_paper("dcl"))
    assert judged.effect is not None
    assert judged.effect.mean == 1
    others = [(settings, effect.mean) for settings, effect in judged.others]
    assert others == [({"batch_size": 32}, 2), ({"batch_size": 256}, 3)]


def test_a_metric_that_is_not_measured_is_told() -> None:
    check = {"check": "flat", "metric": "other", "over": "K", "within": 0.1, "where": EQCO}
    judged = judge(check, lambda _: 1.0)
    assert judged.missing == "the cells of this check do not measure other"


@pytest.mark.parametrize("unfit", [None, "two origins"])
def test_numbers_that_mean_nothing_leave_a_claim_open(unfit: str | None) -> None:
    """Cells of different origin are judged by nobody; both reasons name the numbers left out."""
    check = {"check": "flat", "metric": "mi_lower_bound", "over": "K", "within": 0.1, "where": EQCO}
    cells, suite = cells_and_suite(check, 3)
    done = [(cell, Finished({"mi_lower_bound": 99.0}, {}, unfit=unfit)) for cell in cells]
    judged = judge_claims(suite, "paper", cells, done, load_paper("eqco"))
    why = str(judged[0].missing if unfit else judged[0].why)
    assert str(judged[0].verdict) == ("not tested" if unfit else "cannot tell")
    assert why.startswith("24 of 24 cells were left out: ")
    assert why.partition(": ")[2].startswith(unfit or "mi_lower_bound exceeds")
    assert (claim_row("toy-mi-steady", JudgedScale(suite, "paper", judged)) is None) == bool(unfit)


def test_moving_less_holds_in_neither_direction_of_ones_own() -> None:
    """A side that falls as far as the other rises does not move less, whatever its sign."""
    check = {
        "check": "moves-less", "over": "K", "where": EQCO, "than": INFONCE, "direction": "rising"
    }  # fmt: skip
    own = {"flat": 0.0, "falls": -1.5, "falls a little": -0.2, "rises a little": 0.2, "rises": 1.5}

    def verdict(slope: float) -> str:
        return str(judge(check, lambda c: slopes(c, slope) + noise(c)).verdict)

    def slopes(c: Any, slope: float) -> float:
        return float(c.K / 100 * (slope if c.loss == "eqco" else 1.0))

    assert {name: verdict(slope) for name, slope in own.items()} == {
        "flat": "holds", "falls": "fails", "falls a little": "holds", "rises a little": "holds",
        "rises": "fails",
    }  # fmt: skip


def test_a_range_that_the_sentence_names_leaves_smaller_values_out() -> None:
    """Over all K the other side moves by 2 more; from K = 128 on neither side moves."""
    check = {
        "check": "moves-less", "over": "K", "where": EQCO, "than": INFONCE, "direction": "rising"
    }  # fmt: skip

    def steep_below_128(cell: Any) -> float:
        return float(noise(cell) - 2.0 * (cell.loss == "infonce" and cell.K < 128))

    assert str(judge(check, steep_below_128).verdict) == "holds"
    limited = judge(check | {"over_from": 128}, steep_below_128)
    assert limited.effect is not None
    assert abs(limited.effect.mean) < 1
    assert str(limited.verdict) != "holds"


def test_a_gain_that_grows_has_a_sign_and_a_direction() -> None:
    """A side that is worse everywhere, most at small K, does not gain there."""
    check = {"check": "gain-grows", "over": "K", "where": EQCO, "than": INFONCE}

    def verdict(direction: str, gain: Any) -> str:
        metric = lambda c: gain(c.K) * (c.loss == "eqco") + noise(c)  # noqa: E731
        return str(judge(check | {"direction": direction}, metric).verdict)

    worse_at_small = lambda k: -500.0 / k  # noqa: E731
    better_at_small = lambda k: 500.0 / k  # noqa: E731
    assert verdict("falling", better_at_small) == verdict("rising", worse_at_small) == "holds"
    assert verdict("falling", worse_at_small) == verdict("rising", better_at_small) == "fails"


def test_a_number_instead_of_another_side() -> None:
    check = {"check": "exceeds", "value": 50.0, "where": EQCO}
    assert str(judge(check, lambda c: 50.1 + noise(c)).verdict) == "holds"
    assert str(judge(check, lambda c: 49.9 + noise(c)).verdict) == "fails"
    with pytest.raises(
        ValueError, match="exceeds: exactly one of the keys `than` and `value` is needed"
    ):
        ADAPTER.validate_python({"check": "exceeds", "metric": "m"})


def test_histories_give_one_number_per_run() -> None:
    history = [{"epoch": e, "m": v} for e, v in ((1, 1.0), (2, 5.0), (3, 6.0), (4, 8.0))]
    asked: list[dict[str, Any]] = [{"since": 2}, {"area": True}, {"since": 0.5}]
    told = [number_at(history, "m", At.model_validate(at)) for at in asked]
    assert told == [3.0, 5.0, None]
    assert number_at([{"step": 1.0}], "m", At(since=2)) is None
    with pytest.raises(ValueError, match="exactly one of the keys `since` and `area` is needed"):
        At(since=1, area=True)


def test_a_check_on_a_history_reads_the_runs_and_not_their_ends() -> None:
    cells, suite = cells_and_suite(
        {"check": "exceeds", "metric": "m", "at": {"area": True}, "where": EQCO, "than": INFONCE}, 3
    )
    done = []
    for cell in cells:
        ahead = float(cell.settings["loss"] == "eqco") + jitter(cell)
        early: Any = [{"epoch": 1.0, "m": 3 * ahead}, {"epoch": 2.0, "m": 7.0}]
        done.append((cell, Finished({"m": 7.0}, {}, partial(list, early))))
    (judged,) = judge_claims(suite, "paper", cells, done, load_paper("eqco"))
    assert str(judged.verdict) == "holds"
    bare = [(cell, Finished({"m": 7.0}, {})) for cell in cells]
    (judged,) = judge_claims(suite, "paper", cells, bare, load_paper("eqco"))
    assert (str(judged.verdict), judged.missing) == (
        "not tested",
        "the cells of this check do not measure m",
    )


def scales_with(suite: Suite, scale: str, stand_in: dict[str, str] | None) -> dict[str, Scale]:
    """Return the scales of a suite, one without baselines, with these stand-ins or without any."""
    given = None if stand_in is None else StandIn(what="others", metrics=stand_in)
    changes = {"stand_in": given, "baselines": None}
    return suite.scales | {scale: suite.scales[scale].model_copy(update=changes)}


def of_claim(
    *checks: dict[str, Any], metric: Any, at: str = "paper", stand_in: dict[str, str] | None = None
) -> list[Judged]:
    """Judge a claim of several checks; the scale `at` has stand-ins."""
    cells, suite = made_cells(3)
    asked = [ADAPTER.validate_python({"metric": "m"} | check) for check in checks]
    scales = scales_with(suite, at, stand_in)
    changes = {"claims": {"toy-mi-steady": asked}, "name": "made", "scales": scales}
    done = [(cell, Finished({"m": metric(cell), "other": 5 * metric(cell)}, {})) for cell in cells]
    changed = suite.model_copy(update=changes)
    return judge_claims(changed, "paper", cells, done, load_paper("eqco"))


BETTER = {"check": "exceeds", "where": EQCO, "than": INFONCE}


def better(cell: Any) -> float:
    return float(cell.loss == "eqco") + jitter(cell)


def test_checks_without_cells_at_a_scale_are_another_scales() -> None:
    elsewhere = {"check": "exceeds", "where": {"K": 65536}, "than": {"K": 4}}
    rows = of_claim(BETTER, elsewhere, metric=better)
    assert [str(j.verdict) for j in rows] == ["holds", "not tested"]
    assert str(whole_verdict(rows)) == "holds"
    assert str(whole_verdict(rows[1:])) == "not tested"


def test_a_part_of_a_sentence_does_not_decide_the_whole() -> None:
    some = of_claim(BETTER | {"part": "on toys"}, metric=better)
    assert str(whole_verdict(some)) == "partly holds"
    both = of_claim(BETTER | {"part": "on toys"}, BETTER, metric=better)
    assert str(whole_verdict(both)) == "holds"
    worse = of_claim(BETTER | {"part": "on toys"}, metric=lambda c: -better(c))
    assert str(whole_verdict(worse)) == "fails"


def test_what_is_shown_does_not_decide() -> None:
    turned = {"check": "exceeds", "where": INFONCE, "than": EQCO, "shown": True}
    rows = of_claim(BETTER, turned, metric=better)
    assert [str(j.verdict) for j in rows] == ["holds", "fails"]
    assert str(whole_verdict(rows)) == "holds"


def test_a_scale_names_the_metric_in_place_of_the_papers() -> None:
    (judged,) = of_claim(BETTER, metric=better, stand_in={"m": "other"})
    assert (judged.check.metric, judged.stand_in_for) == ("other", "m")
    assert judged.effect is not None
    assert judged.effect.mean == pytest.approx(5, abs=0.1)
    sized = of_claim(BETTER | {"by": 50.0}, metric=better, stand_in={"m": "other"})
    assert (sized[0].check.part, str(whole_verdict(sized))) == (
        "the direction, not the size", "partly holds",
    )  # fmt: skip
    toy = BETTER | {"by": 50.0, "part": "on toys"}
    (of_part,) = of_claim(toy, metric=better, stand_in={"m": "other"})
    assert of_part.check.part == "the direction, not the size; on toys"
    (own,) = of_claim(BETTER, metric=better, at="smoke", stand_in={"m": "other"})
    assert (own.check.metric, own.stand_in_for) == ("m", None)


def test_holm_withdraws_a_failure_that_many_checks_make_likely() -> None:
    """One difference at about 2 % among many at 50 %: alone it fails, among twelve it does not."""
    small = {"check": "exceeds", "where": EQCO | {"K": 64, "mi_true": 8},
             "than": INFONCE | {"K": 64, "mi_true": 8}}  # fmt: skip
    even = [
        {"check": "exceeds", "where": EQCO | {"K": k, "mi_true": m},
         "than": INFONCE | {"K": k, "mi_true": m}}
        for k in (128, 256, 512) for m in (8, 10)
    ]  # fmt: skip

    def metric(c: Any) -> float:
        lower = 2.7 * ((c.K, c.mi_true, c.loss) == (64, 8, "eqco"))
        return float(c.seed) - lower + 1e-6 * jitter(c)

    (alone,) = of_claim(small, metric=metric)
    assert str(alone.verdict) == "fails"
    among = of_claim(small, *even, metric=metric)
    assert [str(j.verdict) for j in among] == ["cannot tell"] * 7


def test_an_effect_too_small_to_be_seen_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = {"made": 0.5}
    monkeypatch.setattr(
        claims, "printed_check", lambda suite, *_: PrintedCheck(effect=printed[suite], groups=1)
    )
    unsure = lambda c: float(c.seed * (2 if c.loss == "eqco" else -1)) + jitter(c)  # noqa: E731
    (judged,) = of_claim(BETTER, metric=unsure)
    assert str(judged.verdict) == "cannot tell"
    assert judged.smallest_effect is not None
    assert judged.why == (
        "the interval includes 0; the published effect, 0.5, is only 0.5 from the threshold, and "
        f"these cells can detect only distances of {judged.smallest_effect:.2g} or more"
    )
    printed["made"] = 50.0
    assert [str(j.verdict) for j in of_claim(BETTER, metric=unsure)] == ["cannot tell"]
    assert [str(j.verdict) for j in of_claim(BETTER, metric=better)] == ["holds"]


def test_peak() -> None:
    check = {"check": "peak", "over": "K", "near": [100, 300], "where": EQCO | {"mi_true": 8}}
    assert str(judge(check, lambda c: -abs(c.K - 128) + noise(c)).verdict) == "holds"
    assert str(judge(check, lambda c: c.K + noise(c)).verdict) == "fails"


def test_noise_larger_than_the_effect_decides_nothing() -> None:
    check = {"check": "ordered", "over": "K", "direction": "rising"}
    metric = lambda c: c.K * (1 if c.seed == 0 else -0.5 if c.seed == 1 else 0.5)  # noqa: E731
    assert str(judge(check, metric).verdict) == "cannot tell"


def test_one_group_that_is_not_sure_leaves_all_open() -> None:
    check = {"check": "exceeds", "where": EQCO, "than": INFONCE}

    def gain(c: Any) -> float:
        return float((c.seed - 0.5 if c.K == 128 else 1.0) * (c.loss == "eqco")) + jitter(c)

    judged = judge(check, gain)
    assert (str(judged.verdict), judged.groups) == ("cannot tell", 8)
    assert judged.effect is not None
    assert judged.effect.mean == pytest.approx(0.5, abs=0.01)  # of the group that is not sure


def test_one_seed_decides_nothing() -> None:
    check = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    judged = judge(check, lambda _: 1.0, seeds=1)
    assert str(judged.verdict) == "cannot tell"
    assert judged.record()["n"] == 1


def test_a_seed_with_a_missing_cell_does_not_count() -> None:
    check = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    judged = judge(check, lambda _: 1.0, keep=lambda c: c.seed != 0 or c.K != 64)
    assert judged.effect is not None
    assert judged.effect.n == 2


def test_what_is_missing_is_told() -> None:
    check = {"check": "flat", "over": "K", "within": 0.1, "where": EQCO}
    nothing = judge(check, lambda _: 1.0, keep=lambda c: c.K != 64)
    assert (str(nothing.verdict), nothing.missing) == (
        "not tested", "no seed has finished all cells that one side of this check needs",
    )  # fmt: skip
    nowhere = judge(check | {"where": {"loss": "dcl"}}, lambda _: 1.0)
    assert nowhere.missing == "no cell of this scale has the settings that this check needs"


# Of every predicate: a check, and made data under which it holds and fails.
KNOWN: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "flat": ({"over": "K", "within": 0.1, "where": EQCO}, lambda _: 1.0, lambda c: c.K),
    "moves-less": (
        {"over": "K", "where": EQCO, "than": INFONCE, "direction": "rising"},
        lambda c: c.K * (c.loss == "infonce"), lambda c: c.K * (c.loss == "eqco"),
    ),
    "gain-grows": (
        {"over": "K", "where": EQCO, "than": INFONCE, "direction": "rising"},
        lambda c: c.K * (c.loss == "eqco") - 900, lambda c: -c.K * (c.loss == "eqco") + 900,
    ),
    "gain-exceeds": (
        {"where": EQCO | {"K": 64}, "than": INFONCE | {"K": 64},
         "other": EQCO | {"K": 512}, "other_than": INFONCE | {"K": 512}},
        lambda c: -c.K * (c.loss == "eqco"), lambda c: c.K * (c.loss == "eqco"),
    ),
    "equal": (
        {"within": 0.1, "where": EQCO, "than": INFONCE},
        lambda c: c.K, lambda c: c.loss == "eqco",
    ),
    "below": ({"bound": "b", "where": EQCO}, lambda _: 0.5, lambda c: 1.0 + (c.K == 64)),
    "ordered": ({"over": "K", "direction": "rising"}, lambda c: c.K, lambda c: c.K != 128),
    "peak": (
        {"over": "K", "near": [100, 300], "where": EQCO},
        lambda c: c.K == 128, lambda c: c.K == 512,
    ),
    "exceeds": (
        {"where": EQCO, "than": INFONCE},
        lambda c: c.loss == "eqco", lambda c: (c.loss == "eqco") - 2 * (c.K == 64) * (c.alpha or 0),
    ),
    "change": ({"over": "K", "direction": "falling"}, lambda c: -c.K, lambda c: c.K == 512),
}  # fmt: skip


def jitter(cell: Any) -> float:
    """Return noise that differs between all cells and seeds, up to 0.005."""
    return crc32(f"{cell.K} {cell.mi_true} {cell.loss} {cell.seed}".encode()) / 2**32 / 200


def test_every_predicate_is_tried() -> None:
    union = get_args(Check)[0]
    assert set(KNOWN) == {get_args(r.model_fields["check"].annotation)[0] for r in get_args(union)}


@pytest.mark.parametrize("name", KNOWN)
def test_holds_fails_too_few_seeds_and_missing_cells(name: str) -> None:
    fields, good, bad = KNOWN[name]
    check = {"check": name} | fields
    holding, failing = (lambda c: good(c) + jitter(c)), (lambda c: bad(c) + jitter(c))
    assert str(judge(check, holding, seeds=4).verdict) == "holds"
    assert str(judge(check, failing, seeds=4).verdict) == "fails"
    alone = judge(check, holding, seeds=1)
    assert (str(alone.verdict), alone.record()["n"]) == ("cannot tell", 1)
    torn = judge(check, holding, seeds=3, keep=lambda c: (c.seed, c.K, c.loss) != (0, 64, "eqco"))
    assert torn.record()["n"] == 2
    gone = judge(check, holding, seeds=3, keep=lambda c: (c.K, c.loss) != (64, "eqco"))
    assert (str(gone.verdict), gone.missing) == (
        "not tested",
        "no seed has finished all cells that one side of this check needs",
    )


def test_many_noisy_groups_that_are_fine_do_not_fail() -> None:
    """Of twenty groups without a difference one lies apart at 95 %: that is no failure."""
    check = {"check": "equal", "within": 0.0, "where": EQCO, "than": INFONCE}
    failed = 0
    for draw in range(60):
        noise = np.random.default_rng(draw)
        failed += str(judge(check, lambda _, g=noise: g.normal()).verdict) == "fails"
    assert failed <= 6  # 5 % of 60 are 3; a family of 8 groups at 95 % each would fail 20 times


def test_sides_of_different_seeds_are_compared_by_welch() -> None:
    check = {"check": "exceeds", "where": EQCO, "than": INFONCE}
    metric = lambda c: (c.loss == "eqco") + jitter(c)  # noqa: E731
    judged = judge(check, metric, seeds=4, keep=lambda c: (c.seed < 2) == (c.loss == "eqco"))
    assert (str(judged.verdict), judged.record()["n"]) == ("holds", 2)


def test_seeds_that_agree_to_the_bit_are_not_sure_beyond_one_step() -> None:
    """kNN top-1 on the 450 test images of digits moves by 0.22 points."""
    path = TABLE_9.with_name("dcl-table-1.yaml")
    suite = load_suite(path)
    cells = without_baselines(expand(suite, "cpu", path))
    check = {"check": "exceeds", "metric": "knn_top1", "where": {"loss": "dcl"},
             "than": {"loss": "infonce"}}  # fmt: skip
    asked = {"batch-flat-small-scale": [ADAPTER.validate_python(check)]}

    def verdict(lead: float) -> str:
        done = [
            (c, Finished({"knn_top1": 95 + lead * (c.settings["loss"] == "dcl")}, {}))
            for c in cells
        ]
        scales = scales_with(suite, "cpu", None)
        changed = suite.model_copy(update={"claims": asked, "scales": scales})
        (judged,) = judge_claims(changed, "cpu", cells, done, load_paper("dcl"))
        return str(judged.verdict)

    assert [verdict(lead) for lead in (-0.3, -0.2, 0.0, 0.2, 0.3)] == [
        NOT_SEEN, "cannot tell", "cannot tell", "cannot tell", "holds",
    ]  # fmt: skip


def test_a_claim_about_speech_does_not_fail_at_a_reduced_scale() -> None:
    path = TABLE_9.with_name("dcl-table-16.yaml")
    suite = load_suite(path)
    cells = without_baselines(expand(suite, "speech", path))
    lower = [(c, Finished(dict.fromkeys(c.metrics, 50.0 - 9 * (c.known["loss"] == "dcl")), {}))
             for c in cells]  # fmt: skip
    changed = suite.model_copy(update={"scales": scales_with(suite, "speech", None)})
    judged = judge_claims(changed, "speech", cells, lower, load_paper("dcl"))
    assert {str(j.verdict) for j in judged if j.counts} == {NOT_SEEN}


def test_numbers_of_a_formula_are_exact() -> None:
    path = TABLE_9.with_name("eqco-theorems.yaml")
    suite = load_suite(path)
    cells = expand(suite, "smoke", path)
    done = [(c, Finished(dict.fromkeys(c.metrics, 1.0), {})) for c in cells]
    judged = judge_claims(suite, "smoke", cells, done, load_paper("eqco"))
    assert {j.check.check: str(j.verdict) for j in judged if j.effect} == {
        "flat": "holds", "moves-less": NOT_SEEN, "below": "holds", "change": NOT_SEEN,
        "equal": "fails",
    }  # fmt: skip


def test_the_verdict_of_a_claim_is_the_worst_of_its_checks() -> None:
    every = list(ClaimVerdict)
    assert [str(worst(every[i:])) for i in range(7)] == [
        "fails", NOT_SEEN, "cannot tell", "not tested", "partly holds", "holds", "not tested",
    ]  # fmt: skip


def test_a_seed_counts_once() -> None:
    cells, suite = cells_and_suite(
        {"check": "exceeds", "metric": "m"} | {"where": EQCO, "than": INFONCE}, 2
    )
    done = [(cell, Finished({"m": 1.0}, {})) for cell in cells]
    with pytest.raises(SuiteError, match=r"one side has several cells with seed 0 at one point; "):
        judge_claims(suite, "paper", cells + cells, done, load_paper("eqco"))


def test_the_sides_of_a_paired_effect_are_means_over_the_seeds_of_the_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first side lacks seed 3, which would move the mean of the second."""
    monkeypatch.setattr("bench.analysis.measured.is_paired", lambda *_: True)
    sides = {"where": EQCO | {"mi_true": 8}, "than": INFONCE | {"mi_true": 8}}
    judged = judge(
        {"check": "moves-less", "over": "K", "direction": "rising", "by": 0.0} | sides,
        lambda c: c.K / 64 * (1 + (c.loss == "infonce") + c.seed + 97 * (c.seed == 3)),
        seeds=4,
        keep=lambda c: (c.loss, c.seed) != ("eqco", 3),
    )
    assert judged.effect is not None
    assert judged.sides is not None
    assert judged.effect.n == 3
    assert judged.effect.mean == pytest.approx(judged.sides[0] - judged.sides[1])
