"""Whether others have seen a claim: the rule, on planted effects."""

import pytest

from bench.analysis.others import (
    Seen,
    judge,
    noise_of,
    overall,
    seen_by_others,
    why_uncounted,
)
from bench.papers.printed_checks import PrintedCheck
from bench.suites.checks import Check, Equal, Exceeds
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

ABOVE = Exceeds(
    check="exceeds", metric="linear_top1", where={"loss": "dcl"}, than={"loss": "infonce"}
)
SAME = Equal(
    check="equal", metric="linear_top1", where={"loss": "dcl"}, than={"loss": "dclw"}, within=0.6
)
PRINTED = PrintedCheck(effect=4.0, groups=1)


@pytest.mark.parametrize(
    ("check", "printed", "value", "seen"),
    [
        (ABOVE, PRINTED, 2.1, Seen.YES),  # more than half of 4.0
        (ABOVE, PRINTED, 1.9, None),  # less by no more than the noise
        (ABOVE, PRINTED, 0.9, Seen.NO),
        (ABOVE, PRINTED, -3.0, Seen.NO),
        (ABOVE, PrintedCheck(effect=0.4, groups=1), 0.5, None),  # within the noise of 0
        (ABOVE, None, 1.0, Seen.YES),  # nothing printed: the direction alone
        (ABOVE, None, 0.5, None),
        (ABOVE, None, -1.0, Seen.NO),
        (SAME, None, -0.5, Seen.YES),
        (SAME, None, 1.0, None),
        (SAME, None, 1.5, Seen.NO),
    ],
)
def test_an_effect_is_seen_by_the_rule(
    check: Check, printed: PrintedCheck | None, value: float, seen: Seen | None
) -> None:
    assert noise_of("cifar10") == pytest.approx(1.96 * 2**0.5 * 0.3)
    assert judge(value, "cifar10", check, printed) == seen


def test_a_claim_is_mixed_if_effects_disagree() -> None:
    assert overall([Seen.YES, None, Seen.YES]) == Seen.YES
    assert overall([Seen.NO, None]) == Seen.NO
    assert overall([Seen.YES, Seen.NO]) == Seen.MIXED
    assert overall([None]) == overall([]) == Seen.NOBODY


def test_other_networks_do_not_count() -> None:
    suite = load_suite(SUITES / "dcl-table-4.yaml")  # on ResNet-50
    found = seen_by_others(suite, "resnet50-cifar")
    same_data = [e for e, _ in found.effects if e.is_effect and e.dataset == "cifar10"]
    assert same_data
    assert {row.settings["arch"] for e in same_data for row in e.rows} == {"resnet18"}
    assert {why_uncounted(e, suite) for e in same_data} == {"other network"}
    assert found.seen == Seen.NOBODY


def test_a_claim_is_seen_whole_only_if_each_check_is() -> None:
    suite = load_suite(SUITES / "dcl-table-6.yaml")
    gain, *_ = suite.claims["few-epochs"]
    assert seen_by_others(suite, "few-epochs").seen == Seen.IN_PART
    alone = suite.model_copy(update={"claims": {"few-epochs": [gain]}})
    assert seen_by_others(alone, "few-epochs").seen == Seen.YES


def test_contrasts_and_other_data_do_not_count() -> None:
    found = seen_by_others(load_suite(SUITES / "dcl-table-18.yaml"), "tau-robust")
    assert {effect.dataset for effect, _ in found.effects} > {"cifar10"}
    for effect, answer in found.effects:
        assert answer is None or (effect.is_effect and effect.dataset == "cifar10")
    assert found.seen == Seen.IN_PART  # no project has DCL and InfoNCE at several temperatures
    left_out = [effect for effect, answer in found.effects if answer is None]
    assert any("tau 0.1 against 0.5" in effect.more_words for effect in left_out)
    assert " count neither for nor against the paper's claim" in found.summary
