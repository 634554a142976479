"""What claims on accuracies stand on: sides that learned, and room between floor and ceiling."""

from functools import cache
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter
from scipy.special import stdtrit

from bench.analysis.claims import Judged, judge_check, judge_claims
from bench.analysis.compared_effects import measured_effects
from bench.analysis.grounds import LEFT
from bench.analysis.measured import Measured
from bench.analysis.room import Rooms
from bench.cells.baseline import baselines_among, without_baselines
from bench.cells.cell import Cell
from bench.papers.printed_checks import PRINTED
from bench.papers.reader import load_paper
from bench.results.reader import Done, Finished
from bench.suites.checks import Check
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.suite import Suite
from bench.text import value_text
from tests.fakes.paths import SUITES

PATH = SUITES / "dcl-table-1.yaml"
ADAPTER: TypeAdapter[Check] = TypeAdapter(Check)
BETTER = {"check": "exceeds", "where": {"loss": "dcl"}, "than": {"loss": "infonce"}}
NOT_SEEN = "not seen at this scale"
LEVELS = {"raw": 40.0, "untrained": 25.0, "labels": 70.0}
NOISE = [-0.3, -0.1, 0.0, 0.1, 0.3]  # of the seeds


@cache
def made_cells(scale: str) -> tuple[list[Cell], Suite]:
    suite = load_suite(PATH)
    return expand(suite, scale, PATH), suite


def baselines(scale: str = "cifar", metric: str = "knn_top1", **levels: float) -> Done:
    """Return the scale's baselines with these accuracies, all of them done."""
    known = LEVELS | levels
    cells = baselines_among(made_cells(scale)[0])
    return [(c, Finished({metric: known[c.baseline]}, {})) for c in cells]


def judge(
    check: dict[str, Any],
    metric: Any,
    done: Done | None,
    scale: str = "cifar",
    name: str = "knn_top1",
) -> Judged:
    """Return a check on what `metric` makes of a cell, with noise over the seeds."""
    cells, suite = made_cells(scale)
    asked = {"batch-flat-small-scale": [ADAPTER.validate_python({"metric": name} | check)]}
    changed = suite.model_copy(update={"claims": asked, "name": "made"})
    own = without_baselines(cells)
    measured = [(c, Finished({name: metric(c) + NOISE[c.seed]}, {})) for c in own]
    (judged,) = judge_claims(changed, scale, own, measured, load_paper("dcl"), done)
    return judged


def sides(dcl: float, infonce: float) -> Any:
    """Return the accuracy of a cell by its loss."""
    return lambda c: dcl if c.loss == "dcl" else infonce


AT_64 = {
    "check": "exceeds", "where": {"loss": "dcl", "batch_size": 64},
    "than": {"loss": "infonce", "batch_size": 64},
}  # fmt: skip


def test_sides_above_the_floor_are_judged() -> None:
    judged = judge(AT_64, sides(52, 50), baselines())
    assert (str(judged.verdict), judged.why, judged.unlearned) == ("holds", None, ())
    assert judged.room is not None
    words = "raw pixels 40.0, untrained network 25.0, with labels 70.0: headroom 30.0"
    assert judged.room.in_words == words
    assert judged.record()["room"] == {
        "metric": "knn_top1", "raw": 40.0, "untrained": 25.0, "labels": 70.0, "floor": 40.0,
        "ceiling": 70.0, "room": 30.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("check", "numbers", "who"),
    [
        (AT_64, (52, 39), "batch_size = 64, loss = infonce"),
        (AT_64, (39, 30), "batch_size = 64, loss = dcl"),
        (AT_64, (39, 52), "batch_size = 64, loss = dcl"),
        ({"check": "equal", "within": 9.0, "where": {"loss": "dcl", "batch_size": 64},
          "value": 41.0}, (39, 39), "batch_size = 64, loss = dcl"),  # whichever name comes first
        ({"check": "equal", "within": 9.0, "where": {"batch_size": 64, "loss": "dcl"},
          "value": 41.0}, (39, 39), "batch_size = 64, loss = dcl"),
        ({"check": "equal", "within": 9.0, "where": {"loss": "dcl"}, "value": 41.0}, (39, 39),
         "batch_size = 32, loss = dcl"),
    ],
)  # fmt: skip
def test_a_side_below_the_floor_decides_nothing(check: Any, numbers: Any, who: str) -> None:
    judged = judge(check, sides(*numbers), baselines())
    level = next(n for n in reversed(numbers) if n == 39)
    told = f"cells with {who} are not detectably above baseline: "
    told += f"kNN accuracy {level:.1f}, raw pixels 40.0"
    assert (str(judged.verdict), judged.unlearned[0]) == ("cannot tell", told)
    assert judged.effect is not None
    assert judged.why is not None
    assert judged.why.startswith(told)


def test_the_untrained_network_may_be_the_floor() -> None:
    judged = judge(AT_64, sides(52, 44), baselines(untrained=45.0))
    told = (
        "cells with batch_size = 64, loss = infonce are not detectably above baseline: "
        "kNN accuracy 44.0, untrained network 45.0"
    )
    assert judged.why == told


@pytest.mark.parametrize("points", [1, 5])
def test_the_interval_of_a_lead_over_the_floor_lies_above_zero(points: int) -> None:
    """By the spread of the side's own seeds."""
    error, freedom = 0.1 / points**0.5, 4 * points  # the standard error of NOISE is 0.1
    half = float(stdtrit(freedom, 0.975) * error)
    side = ({"batch_size": 64} if points == 1 else {}) | {"loss": "infonce"}
    flat = {"check": "equal", "within": 9.0, "where": side, "value": 40.0}
    change = {"check": "change", "over": "batch_size", "direction": "rising", "where": side}
    check = flat if points == 1 else change
    rises: Any = lambda c: (c.batch_size - 198.4) / 100 * (points > 1)  # noqa: E731
    low = judge(check, lambda c: 40 + 0.9 * half + rises(c), baselines())
    who = value_text(side)
    assert (str(low.verdict), low.why) == (
        "cannot tell",
        f"cells with {who} are not detectably above baseline: kNN accuracy "
        f"{40 + 0.9 * half:.1f}, raw pixels 40.0; 95 % interval of the lead "
        f"{-0.1 * half:.1f} to {1.9 * half:.1f} points",
    )
    high = judge(check, lambda c: 40 + 1.01 * half + rises(c), baselines())
    assert str(high.verdict) == "holds"


def test_whether_a_side_learned_does_not_depend_on_what_it_is_compared_with() -> None:
    """In a page's claims, and in its table of effects."""
    cells, suite = made_cells("cifar")
    wild = [-9.0, -3.0, 0.0, 3.0, 9.0]
    numbers: Any = {"dcl": lambda c: 55 + wild[c.seed], "infonce": lambda c: 41 + NOISE[c.seed]}
    own = without_baselines(cells)
    done = [(c, Finished({"knn_top1": numbers[c.known["loss"]](c)}, {})) for c in own]
    rooms = Rooms(suite.scales["cifar"].baselines, baselines(labels=99.0))
    measured = Measured(own, done, rooms)
    check: Any = ADAPTER.validate_python({"metric": "knn_top1"} | AT_64)
    judged = judge_check(check, load_paper("dcl").claim("batch-flat-small-scale"), measured)
    assert judged.smallest_effect is not None
    assert judged.smallest_effect > 1
    assert judged.unlearned == ()
    effects = measured_effects("knn_top1", check.where, check.than, measured)
    assert [effect.why for effect in effects] == [None]


def test_a_sentence_about_collapse_needs_no_learning_but_room() -> None:
    collapse = AT_64 | {"may_collapse": True}
    assert str(judge(collapse, sides(52, 12), baselines()).verdict) == "holds"
    assert str(judge(collapse, sides(52, 12), baselines(labels=45.0)).verdict) == "cannot tell"


def test_a_metric_without_room_decides_nothing() -> None:
    """Ten points beyond the smallest effect."""
    seen = judge(AT_64, sides(46, 44), baselines()).smallest_effect
    assert seen is not None
    enough = judge(AT_64, sides(46, 44), baselines(labels=50.01 + seen))
    assert str(enough.verdict) == "holds"
    judged = judge(AT_64, sides(46, 44), baselines(labels=49.99 + seen))
    assert (str(judged.verdict), judged.unlearned, judged.why) == (
        "cannot tell", (),
        f"the headroom is too small: {9.99 + seen:.1f} points, but "
            f"{10 + seen:.1f} are needed (the minimum detectable effect "
            f"of {seen:.2g} plus 10)",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["raw", "untrained", "labels"])
def test_without_its_baselines_nothing_is_judged_on_an_accuracy(kind: str) -> None:
    some = [(c, f) for c, f in baselines() if c.settings["baseline"] != kind]
    for done in (some, [], None):
        judged = judge(AT_64, sides(52, 50), done)
        assert (str(judged.verdict), judged.missing, judged.room) == (
            "not tested", "the trivial baseline and supervised accuracy are not computed yet", None,
        )  # fmt: skip
        assert judged.effect is not None


def test_what_is_no_accuracy_needs_no_baselines() -> None:
    assert str(judge(AT_64, sides(52, 50), None, name="q_b").verdict) == "holds"


def test_a_scale_without_baselines_is_judged_by_its_numbers_alone() -> None:
    assert baselines_among(made_cells("gpu")[0]) == []
    judged = judge(AT_64, sides(9, 3), None, "gpu")
    assert (str(judged.verdict), judged.room) == ("holds", None)


def test_a_side_is_judged_by_its_mean_along_the_axis() -> None:
    """A batch of 32 that learns nothing is what a sentence about batch sizes may speak of."""
    check = {"check": "change", "over": "batch_size", "direction": "rising",
             "where": {"loss": "infonce"}}  # fmt: skip
    falls = lambda c: 38 if c.batch_size == 32 else 50  # noqa: E731
    assert str(judge(check, falls, baselines()).verdict) == "holds"
    low = lambda c: 50 if c.batch_size == 512 else 36  # noqa: E731
    judged = judge(check, low, baselines())
    assert (
        judged.why == "cells with loss = infonce are not detectably above baseline: "
        "kNN accuracy 38.8, raw pixels 40.0"
    )


def test_one_group_that_fails_is_enough_though_another_did_not_learn() -> None:
    """At batch 512 neither side learns; at 64 the sentence is wrong."""

    def better(loss: str) -> Any:
        return lambda c: 39 if c.batch_size == 512 else 45 + 5 * (c.loss == loss)

    judged = judge(BETTER, better("infonce"), baselines())
    assert (str(judged.verdict), judged.groups, judged.why) == (NOT_SEEN, 5, None)
    assert judged.unlearned == (
        "cells with batch_size = 512, loss = dcl are not detectably above baseline: "
        "kNN accuracy 39.0, raw pixels 40.0",
        "cells with batch_size = 512, loss = infonce are not detectably above baseline: "
        "kNN accuracy 39.0, raw pixels 40.0",
    )
    assert str(judge(BETTER, better("dcl"), baselines()).verdict) == "cannot tell"


def test_the_mean_of_groups_is_judged_by_the_mean_of_its_sides() -> None:
    metric = lambda c: 39 if c.batch_size == 512 else 45 + 5 * (c.loss == "dcl")  # noqa: E731
    assert str(judge(BETTER | {"mean": True}, metric, baselines()).verdict) == "holds"


def test_each_network_has_its_own_floor() -> None:
    """The widest untrained network has 50 %, more than raw pixels."""
    path = SUITES / "eqco-table-7.yaml"
    suite = load_suite(path)
    cells = expand(suite, "cpu", path, seeds=[0, 1, 2])
    check = {"check": "equal", "metric": "knn_top1", "within": 9.0, "where": {"width": 32},
             "than": {"width": 8}}  # fmt: skip
    plain = suite.scales["cpu"].model_copy(update={"stand_in": None})
    claim = next(iter(suite.claims))
    changes = {"claims": {claim: [ADAPTER.validate_python(check)]}, "scales": {"cpu": plain}}

    def untrained(c: Any) -> float:
        return 50.0 if c.baseline == "untrained" and c.width == 32 else LEVELS[c.baseline]

    done: Done = [(c, Finished({"knn_top1": untrained(c)}, {})) for c in baselines_among(cells)]
    own = without_baselines(cells)
    measured = [(c, Finished({"knn_top1": 48.0 + NOISE[c.seed]}, {})) for c in own]
    changed = suite.model_copy(update=changes)
    (judged,) = judge_claims(changed, "cpu", own, measured, load_paper("eqco"), done)
    assert judged.unlearned[0].endswith("kNN accuracy 47.9, untrained network 50.0")
    assert {told.partition(" are not")[0] for told in judged.unlearned} == {
        "cells with alpha = 126, width = 32",
        "cells with alpha = 4096, width = 32",
    }
    assert judged.room is not None
    assert judged.room.room == 20.0  # of the two the narrower


def test_a_check_on_a_history_rests_on_what_was_learned_in_the_end() -> None:
    cells, suite = made_cells("cifar")
    check = AT_64 | {"metric": "knn_top1", "at": {"area": True}}
    asked = {"batch-flat-small-scale": [ADAPTER.validate_python(check)]}
    changed = suite.model_copy(update={"claims": asked, "name": "made"})
    own = without_baselines(cells)

    def verdict(end: float) -> str:
        def done(c: Any) -> Finished:
            early = [{"epoch": 1.0, "knn_top1": 20 + 5 * (c.loss == "dcl") + NOISE[c.seed]}]
            return Finished({"knn_top1": end}, {}, lambda: early)

        measured = [(c, done(c)) for c in own]
        args = (changed, "cifar", own, measured, load_paper("dcl"), baselines())
        return str(judge_claims(*args)[0].verdict)

    assert (verdict(50.0), verdict(39.0)) == ("holds", "cannot tell")


def test_most_printed_effects_fit_into_half_of_the_room_that_is_left() -> None:
    """The reason of `LEFT`."""
    smallest = []
    for name, claims in yaml.safe_load(PRINTED.read_text()).items():
        suite = load_suite(SUITES / f"{name}.yaml")
        for claim, printed in claims.items():
            pairs = zip(suite.claims[claim], printed, strict=True)
            counted = [(check, given) for check, given in pairs if given and not check.shown]
            margins = [check.region.margin(given["effect"]) for check, given in counted]
            smallest += [min(margins)] if margins and min(margins) > 0 else []
    assert len(smallest) > 60
    assert sum(margin < LEFT / 2 for margin in smallest) >= 0.95 * len(smallest)


def test_a_stand_in_has_its_own_floor() -> None:
    """At `cpu` warped digits stand in: raw pixels have 40 % there, and 60 % on plain ones."""
    cells, suite = made_cells("cpu")
    asked = {"batch-flat-small-scale": [ADAPTER.validate_python({"metric": "knn_top1"} | AT_64)]}
    changed = suite.model_copy(update={"claims": asked, "name": "made"})
    own, done = without_baselines(cells), baselines("cpu", "warped_knn_top1")
    for _, finished in done:
        finished.metrics["knn_top1"] = finished.metrics["warped_knn_top1"] + 20
    metric = sides(52, 50)
    measured = [
        (c, Finished({"warped_knn_top1": metric(c) + NOISE[c.seed], "knn_top1": 50.0}, {}))
        for c in own
    ]
    (judged,) = judge_claims(changed, "cpu", own, measured, load_paper("dcl"), done)
    assert (str(judged.verdict), judged.stand_in_for) == ("holds", "knn_top1")
    assert judged.room is not None
    assert (judged.room.metric, judged.room.floor) == ("warped_knn_top1", 40.0)
