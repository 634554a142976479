"""The first loss that is not finite, read at once or later."""

import math

import pytest
import torch

from bench.errors import Diverged
from bench.train.trainable import FiniteLosses

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.gpu),
]


def test_at_once() -> None:
    losses = FiniteLosses("cpu", at_once=True)
    losses.add(0, torch.tensor(3.0))
    with pytest.raises(Diverged, match=r"^step 2: loss is inf$"):
        losses.add(1, torch.tensor(math.inf))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_later_the_first_one_is_told(device: str, value: float) -> None:
    losses = FiniteLosses(device, at_once=False)
    for step, loss in enumerate((1e30, 2.0, value, math.inf, 1.0)):
        if step < 3:
            losses.check()
        losses.add(step, torch.tensor(loss, device=device))
    for _ in range(2):
        with pytest.raises(Diverged, match=f"^step 3: loss is {value}$"):
            losses.check()
