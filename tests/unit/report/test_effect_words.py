"""Effects in words: what less what, with unit, expectation and the paper's number."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from bench.papers.printed_checks import PrintedCheck
from bench.report.claim_words import effect_words
from bench.suites.checks import Check
from bench.suites.metric_words import metric_words

CHECK: TypeAdapter[Check] = TypeAdapter(Check)
DCL, INFONCE = {"loss": "dcl", "batch_size": 32}, {"loss": "infonce", "batch_size": 32}
EXCEEDS = {"check": "exceeds", "metric": "linear_top1", "where": DCL, "than": INFONCE}
ROW: dict[str, Any] = {
    "effect": 0.356, "low": -1.07, "high": 1.78, "n": 5, "groups": 1, "smallest_effect": 1.23,
    "stand_in_for": None, "level": 0.95, "sides": None, "others": [], "group": {}, "spread": None,
    "freedom": None,
}  # fmt: skip
OTHER = {"settings": {"method": "moco"}, "effect": 1.04, "low": 0.52, "high": 1.56}
PUBLISHED = {"effect": 4.8, "groups": 2}


def words(changes: dict[str, Any]) -> str:
    """Return a row in words; `check` and `published` are filled in as a record has them."""
    row = dict(changes)
    check = CHECK.validate_python(row.pop("check", EXCEEDS))
    printed, of = row.pop("published", PUBLISHED), row.get("stand_in_for")
    beside = (
        check.published(PrintedCheck(**printed), of) if printed and check.is_published else None
    )
    told: dict[str, Any] = {
        "subject": check.subject,
        "required": check.required,
        "unit": check.unit,
    }
    told |= {"threshold": check.threshold, "published_words": beside}
    return effect_words(ROW | told | row)


def test_the_whole_sentence() -> None:
    assert words({}) == (
        "linear accuracy, DCL - InfoNCE at batch size 32: +0.4 [-1.1, 1.8] points (95 % interval; "
        "holds if above 0), n = 5; paper at least +4.8; minimum detectable effect 1.2"
    )


def test_what_a_check_asks_for() -> None:
    check = CHECK.validate_python(EXCEEDS)
    told = "linear accuracy, DCL - InfoNCE at batch size 32", "above 0"
    assert (check.subject, check.required) == told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"effect": None}, ""),
        ({"low": None, "high": None, "smallest_effect": None}, "+0.356 points (holds if above 0)"),
        (
            {"spread": "paired", "freedom": 15.6},
            "n = 5 (seed variance paired, 16 degrees of freedom); ",
        ),
        ({"others": [OTHER]}, "n = 5; related effects: MoCo +1.04 [0.52, 1.56]; "),
        ({"others": [OTHER | {"low": 0.002}]}, "related effects: MoCo +1.040 [0.002, 1.560]; "),
        ({"effect": 9e-15, "low": 9e-15, "high": 9e-15}, ": +9e-15 [9e-15, 9e-15] points"),
        ({"effect": 2e-9, "low": 1e-9, "high": 3e-9}, ": +2e-09 [1e-09, 3e-09] points"),
        ({"sides": [1.06, 0.704]}, "at batch size 32: 1.06 - 0.704 = +0.4 [-1.1, 1.8] points"),
        ({"groups": 3}, "at batch size 32, the worst of 3 comparisons: +0.4 "),
        ({"groups": 3, "group": {"K": [64, 128]}}, "of 3 comparisons (K 64 to 128): +0.4 "),
        (
            {"groups": 3, "group": {"tau": 0.1, "K": [64, 128]}},
            "of 3 comparisons (tau 0.1, K 64 to 128): +0.4 ",
        ),
        ({"published": None}, "n = 5; minimum detectable effect 1.2"),
        ({"stand_in_for": "knn_top1"}, "; paper kNN accuracy at least +4.8; "),
        ({"published": PUBLISHED | {"groups": 1}}, "; paper +4.8; "),
        ({"low": 0.351, "high": 0.361}, ": +0.3560 [0.3510, 0.3610] points"),
        ({"low": 0.356, "high": 0.356}, ": +0.356 [0.356, 0.356] points"),
        (
            {"check": EXCEEDS | {"by": 1.0}},
            "(95 % interval; holds if above 1), n = 5; paper at least +4.8; minimum detectable "
            "distance ",
        ),
        (
            {
                "check": {"check": "flat", "metric": "knn_top1", "over": "K", "within": 1.0},
                "published": PUBLISHED | {"effect": -0.2},
            },
            "kNN accuracy, change over K: +0.4 [-1.1, 1.8] points (95 % interval; "
            "holds if within ±1), n = 5; paper within ±0.2; "
            "minimum detectable distance from the threshold 1.2",
        ),
        (
            {"check": {"check": "below", "metric": "mi_lower_bound", "bound": "mi_true"}},
            "MI bound - mi true: +0.4 [-1.1, 1.8] nats (95 % interval; holds if at most 0), n = 5",
        ),
    ],
)  # fmt: skip
def test_its_parts(changes: dict[str, Any], told: str) -> None:
    found = words(changes)
    assert told in found if told else found == ""


A, B = {"loss": "dcl"}, {"loss": "infonce", "alpha": None}
AXIS = {"metric": "q_b", "over": "batch_size"}


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ({"check": "exceeds", "value": 50.0, "where": {"tau": 0.1}}, "q_B - 50 at tau 0.1"),
        ({"check": "equal", "value": 0.0, "within": 1.0, "where": A}, "q_B at DCL"),
        ({"check": "equal", "within": 1.0, "where": A, "than": B}, "q_B, DCL - InfoNCE"),
        (
            {"check": "exceeds", "where": A, "than": B, "mean": True},
            "q_B, DCL - InfoNCE, mean over all other settings",
        ),
        (
            {"check": "ordered", "direction": "rising"},
            "q_B, step along batch size (a rise is positive)",
        ),
        (
            {"check": "change", "direction": "falling"},
            "q_B, change over batch size (a fall is positive)",
        ),
        ({"check": "peak", "near": [8, 64]}, "q_B, batch size 8 to 64 - other values"),
        (
            {"check": "peak", "near": [8, 64], "where": A, "than": B},
            "q_B, DCL - InfoNCE, batch size 8 to 64 - other values",
        ),
        (
            {"check": "gain-exceeds", "where": A, "than": B, "other": {"K": 4}, "other_than": {}},
            "q_B, (DCL - InfoNCE) - (K 4 - all)",
        ),
        (
            {"check": "gain-grows", "where": A, "than": B, "direction": "falling"},
            "q_B, growth of DCL - InfoNCE with falling batch size",
        ),
        (
            {"check": "moves-less", "where": A, "than": B, "direction": "rising"},
            "q_B, rise of InfoNCE over batch size - change of DCL",
        ),
        (
            {
                "check": "moves-less",
                "where": A,
                "than": B,
                "direction": "rising",
                "over_from": 16,
            },
            "q_B, rise of InfoNCE over batch size from 16 - change of DCL",
        ),
        (
            {"check": "change", "direction": "rising", "where": {"experiment": "x"}},
            "q_B, change over batch size (a rise is positive)",
        ),
    ],
)
def test_every_kind_of_check_names_what_it_looks_at(check: dict[str, Any], told: str) -> None:
    axis = (
        AXIS if "over" in CHECK.json_schema()["$defs"][KINDS[check["check"]]]["properties"] else {}
    )
    record = CHECK.validate_python({"metric": "q_b"} | axis | check)
    assert record.subject == told


KINDS = {
    "exceeds": "Exceeds", "equal": "Equal", "ordered": "Ordered", "change": "Change",
    "peak": "Peak", "gain-exceeds": "GainExceeds", "gain-grows": "GainGrows",
    "moves-less": "MovesLess",
}  # fmt: skip


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ({"since": 10}, "linear accuracy since epoch 10, DCL - InfoNCE at batch size 32"),
        ({"area": True}, "linear accuracy, mean over epochs, DCL - InfoNCE at batch size 32"),
    ],
)
def test_numbers_of_histories_say_when(at: dict[str, Any], told: str) -> None:
    check = CHECK.validate_python(EXCEEDS | {"at": at})
    assert (check.subject, check.unit) == (told, "points")


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("linear_top1", "linear accuracy"), ("knn_top1", "kNN accuracy"),
        ("warped_knn_top1", "kNN accuracy on warped images"),
        ("few_shot_linear_top1", "few-shot linear accuracy"),
        ("linear_top5", "linear top-5 accuracy"), ("linear_top1_drop", "drop in linear accuracy"),
        ("mi_lower_bound", "MI bound"), ("grad_norm_q", "grad norm q"),
    ],
)  # fmt: skip
def test_metrics_have_words(metric: str, words: str) -> None:
    assert metric_words(metric) == words
