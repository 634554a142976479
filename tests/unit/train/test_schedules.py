"""Schedules at their end points, against their equations, in their domains."""

import math
import re
from typing import Any

import pytest

from bench.cells.learning_rate import scaled_lr
from bench.train.optimisers import by_cosine, learning_rate, momentum_at


def rate(step: int, **change: Any) -> float:
    settings: dict[str, Any] = {"lr": 0.4, "steps": 110, "warmup_steps": 10, "schedule": "cosine"}
    return learning_rate(step, **(settings | change))


@pytest.mark.parametrize("schedule", ["constant", "cosine", "step", "triangular"])
def test_warm_up_is_linear_from_zero(schedule: str) -> None:
    assert [rate(k, schedule=schedule) for k in range(11)] == pytest.approx(
        [0.04 * k for k in range(11)]
    )


@pytest.mark.parametrize("schedule", ["constant", "cosine", "step", "triangular"])
def test_without_warm_up_it_begins_at_full_rate(schedule: str) -> None:
    assert rate(0, schedule=schedule, warmup_steps=0) == 0.4


def test_cosine_at_hand_values() -> None:
    assert rate(10 + 25) == pytest.approx(0.2 * (1 + math.sqrt(0.5)))
    assert rate(10 + 50) == pytest.approx(0.2)
    assert rate(10 + 100) == pytest.approx(0.0, abs=1e-16)
    assert rate(109) > 0


def test_cosine_falls_and_its_mean_is_half() -> None:
    rates = [rate(step) for step in range(10, 111)]
    assert rates == sorted(rates, reverse=True)
    assert sum(rates) / len(rates) == pytest.approx(0.2)


def test_triangular_is_two_straight_lines() -> None:
    rates = [rate(step, schedule="triangular") for step in range(111)]
    up, down = [0.04 * k for k in range(11)], [0.4 * (110 - k) / 100 for k in range(11, 111)]
    assert rates == pytest.approx(up + down, abs=1e-15)


def test_constant_stays() -> None:
    assert {rate(step, schedule="constant") for step in range(10, 111)} == {0.4}


def test_each_drop_counts_from_its_own_step() -> None:
    rates = [rate(k, schedule="step", drops=(60, 80.5), factor=0.1) for k in (59, 60, 80, 81, 110)]
    assert rates == pytest.approx([0.4, 0.04, 0.04, 0.004, 0.004], rel=1e-12)


def test_drops_belong_to_the_step_schedule() -> None:
    assert rate(100, schedule="constant", drops=(60,)) == 0.4


def test_warm_up_for_all_of_the_training() -> None:
    assert rate(10, steps=10) == 0.4


@pytest.mark.parametrize(
    ("step", "change", "text"),
    [
        (-1, {}, "step -1 and warmup_steps 10 must be in 0..110"),
        (111, {}, "step 111 and warmup_steps 10 must be in 0..110"),
        (0, {"warmup_steps": 111}, "step 0 and warmup_steps 111 must be in 0..110"),
    ],
)
def test_rate_out_of_its_domain(step: int, change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        rate(step, **change)


def test_momentum_rises_to_one() -> None:
    """BYOL, Sec. 3.3, at its quarter points."""
    values = [momentum_at(k, momentum=0.996, steps=100, schedule="cosine") for k in (0, 50, 100)]
    assert values == pytest.approx([0.996, 0.998, 1.0], rel=1e-12)
    quarter = momentum_at(25, momentum=0.9, steps=100, schedule="cosine")
    assert quarter == pytest.approx(1 - 0.1 * (math.sqrt(0.5) + 1) / 2, rel=1e-12)
    assert momentum_at(70, momentum=0.996, steps=100, schedule="fixed") == 0.996


def test_momentum_out_of_its_domain() -> None:
    with pytest.raises(ValueError, match=r"^step must be in 0\.\.100, found 101$"):
        momentum_at(101, momentum=0.9, steps=100, schedule="fixed")


def test_scaled_lr() -> None:
    assert scaled_lr(0.03, 512, "none") == 0.03
    assert scaled_lr(0.3, 4096, "linear") == pytest.approx(4.8)  # SimCLR's default
    assert scaled_lr(1.2, 4096, "sqrt") == pytest.approx(0.075 * 64)  # its other rule, there
    assert scaled_lr(0.1, 1024, "sqrt") == pytest.approx(0.2)


def test_by_cosine_at_hand_values() -> None:
    values = [by_cosine(step, 0.04, 0.4, steps=100) for step in (0, 25, 50, 100)]
    assert values == pytest.approx([0.04, 0.4 - 0.18 * (1 + math.sqrt(0.5)), 0.22, 0.4])
